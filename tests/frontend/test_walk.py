"""Walking a typed tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from apps.raytracer.natural import kernels as rays
from dispatch.dataclass import fields, is_dataclass
from sharedoa.frontend import tree
from sharedoa.frontend.walk import found_below
from sharedoa.runtime.kernel import Kernel
from tests.apps import vehicle_kernels as roads
from tests.apps.game_of_life import method_kernels as cells

_KERNELS = [
    value for module in (cells, rays, roads) for value in vars(module).values()
    if isinstance(value, Kernel)
]  # fmt: skip


def _every_part(value: Any) -> Iterator[Any]:
    """All nodes, by looking at every field of everything."""
    if isinstance(value, list):
        for item in value:
            yield from _every_part(item)
    elif is_dataclass(value) and type(value).__module__ == tree.__name__:
        if not isinstance(value, tree.Variable):
            yield value
            for field in fields(value):
                yield from _every_part(getattr(value, field.name))


@pytest.mark.parametrize("kernel", _KERNELS, ids=lambda kernel: kernel.name)
def test_no_field_that_is_left_out_holds_a_node(kernel: Kernel) -> None:
    program = kernel.program.translation().program
    expected = [node for f in program.functions.values() for node in _every_part(f.body)]
    found: list[Any] = []
    for function in program.functions.values():
        found_below(function.body, found.append)
    assert Counter(map(id, found)) == Counter(map(id, expected))


@pytest.mark.parametrize("kernel", _KERNELS, ids=lambda kernel: kernel.name)
def test_each_node_has_what_is_found_below(kernel: Kernel) -> None:
    for function in kernel.program.translation().program.functions.values():
        found = found_below(function.body, lambda node: getattr(node, "variable", None))
        for node in (*_every_part(function.body), function.body):
            below = (getattr(each, "variable", None) for each in _every_part(node))
            assert {*found[id(node)]} == {each for each in below if each is not None}
            assert len({*found[id(node)]}) == len(found[id(node)])
