"""A program on backends, modes and layouts that differ, which must all see the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sharedoa as oa
from tests.codegen.interpreted import InterpretedGpu

Results = dict[str, np.ndarray[Any, Any]]
#: What the others are compared with comes first: CPython.
WORLDS: dict[str, dict[str, Any]] = {
    "python": {"backend": "python"},
    "cpu": {"backend": "cpu"},
    "tiles": {"backend": "cpu", "layout": "tile", "mode": "range+switch"},
    "headers": {"backend": "cpu", "mode": "coal", "layout": "aos"},
    "one by one": {"backend": "cpu", "mode": "cuda"},
    "debug": {"backend": "cpu", "debug": True},
    "warps": {"mode": "auto"},
    "warps with tags": {"mode": "tag+switch", "layout": "aos"},
    "warps in debug mode": {"debug": True},
}


@contextmanager
def world(name: str) -> Iterator[oa.Heap]:
    settings = dict(WORLDS[name])
    if "backend" not in settings:
        settings["backend"] = InterpretedGpu()
    with oa.Heap(capacity="64MiB", initial_region=16, **settings) as heap:
        yield heap


def check_narrow_references(run: Callable[[], Results], layout: str) -> None:
    """A warp with references of 32 bits finds what the CPU finds, as CPython does."""
    expected = check_everywhere(run, "cpu")
    with oa.Heap(backend=InterpretedGpu(), references="32", layout=layout, capacity="64MiB"):
        found = run()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def check_everywhere(run: Callable[[], Results], *names: str, but: Collection[str] = ()) -> Results:
    """Run a program in each world, or in CPython and those of these names, and compare what it
    gives, bit by bit; what CPython gives."""
    expected: Results | None = None
    for name in ["python", *names] if names else WORLDS:
        if name in but:
            continue
        with world(name):
            found = run()
        if expected is None:
            expected = found
        assert found.keys() == expected.keys()
        for key, values in expected.items():
            assert found[key].dtype == values.dtype, f"{key} in {name}"
            assert found[key].shape == values.shape, f"{key} in {name}"
            assert found[key].tobytes() == values.tobytes(), f"{key} in {name}"
    assert expected is not None
    return expected
