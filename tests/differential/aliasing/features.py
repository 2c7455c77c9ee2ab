"""What random programs with aliases contain, by name, so that one thing can be left out."""

from __future__ import annotations

ALL = frozenset({
    "one array twice",  # as two parameters, or as a slice and a whole
    "stored arrays",  # kernels store arrays to fields
    "stored references",  # kernels store references to elements
    "exchanges",  # atomic_exch and atomic_cas of references in elements
    "branches around loops",
    "values in inline arrays",
    "covariance",  # an array of a subclass as one of the base, where nothing is stored to it
    "repeated views",  # a[[0, 2, 0, 3]].x += 1
    "dumps",
    "rebinding numbers",
    "rebinding definitions",  # to another function, class or scalar type
})  # fmt: skip

#: Known to be wrong, and left out until they are mended.
WRONG: frozenset[str] = frozenset()

MENDED = ALL - WRONG
