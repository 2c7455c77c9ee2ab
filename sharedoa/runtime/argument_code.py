"""The quick way to pack arguments: one function written for one kernel's parameters.

A launch spends more time on calling one function a parameter than on everything else that it does
before the driver. So the checks that usual arguments pass, and nothing else, become the source of
one function; whatever fails them takes the careful way, which converts or complains.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ..model.layout import ARRAY_DTYPE
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type

#: (slots, arguments) to the heap that they lie in, or None.
Packer = Callable[[Any, tuple[Any, ...]], Any]
#: What usual checks or ``struct`` raise for an argument that is not as usual.
_UNUSUAL = (AttributeError, ValueError, OverflowError, struct.error)


def quick_packer(
    types: Sequence[Type], formats: Sequence[str], careful: Packer
) -> tuple[Packer, dict[str, Any]]:
    """A function that packs arguments of ``types``, each by one of ``formats`` (``struct``), if
    they are of the usual classes, and calls ``careful`` otherwise; and the names that it uses, of
    which ``careful`` sets ``element<n>`` to the element type of an array that it took as argument
    n.

    It is ``careful`` itself where a parameter is a value struct.
    """
    names: dict[str, Any] = {"careful": careful, "unusual": _UNUSUAL}
    checks: list[str] = []
    leaves: list[str] = []
    heaps: list[str] = []
    for number, type in enumerate(types):
        given = f"a{number}"
        if isinstance(type, ArrayType):
            names[f"element{number}"] = type.element
            checks.append(f"{given}.__sharedoa_element__ is element{number}")
            leaves.append(f"{given}._packed")
            heaps.append(f"{given}._heap")
        elif isinstance(type, ReferenceType):
            names[f"class{number}"] = type.cls.python_class
            checks.append(f"isinstance({given}, class{number})")
            leaves.append(f"{given}._reference")
            heaps.append(f"{given}._heap")
        elif isinstance(type, ScalarType):
            names[f"classes{number}"] = _usual_classes(type)
            checks.append(f"{given}.__class__ in classes{number}")
            leaves.append(given)
        else:
            return careful, names
    first_heap, *others = heaps or ["None"]
    checks += [f"{other} is heap" for other in others]
    places = "".join(f"a{number}, " for number in range(len(types)))
    source = f"""
def pack(slots, arguments):
    try:
        {f"{places}= arguments" if places else "() = arguments"}
        heap = {first_heap}
        if {" and ".join(checks) or "True"}:
            write({", ".join(["slots", "0", *leaves])})
            return heap
    except unusual:
        pass
    return careful(slots, arguments)
"""
    arrays = (isinstance(type, ArrayType) for type in types)
    whole = "".join(
        f"{ARRAY_DTYPE.itemsize}s" if is_array else format
        for is_array, format in zip(arrays, formats, strict=True)
    )
    names["write"] = struct.Struct(f"<{whole}").pack_into
    exec(source, names)
    packer: Packer = names["pack"]
    return packer, names


def _usual_classes(type: ScalarType) -> tuple[Any, ...]:
    """Classes whose values ``struct`` packs as converting them first would, or refuses."""
    if type.kind == "bool":
        return (bool,)
    return (int if type.is_integer else float, type.dtype.type)
