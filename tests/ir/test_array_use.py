"""What programs do with arrays of references."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir import operations
from sharedoa.ir.array_use import element_stores, indexed_parameters, stores_references
from sharedoa.ir.core import LvalueType, Program
from sharedoa.ir.operations import Effects
from sharedoa.ir.rewrite import make
from sharedoa.ir.text import NOWHERE
from sharedoa.model.types import ReferenceType

from .programs import program_from

_PARAMETERS = "nodes: oa.Array[Node], links: oa.Array[Link], values: oa.Array[i32], n: i32"


class Node(oa.Object):
    value: i32
    next: Node
    three: oa.inline[Node, 3]


@oa.value
class Link:
    node: Node
    length: i32


@oa.func
def last(nodes: oa.Array[Node], n: i32) -> i32:
    return nodes[0].value if n <= 0 else last(nodes, n - 1)


@oa.func
def first(nodes: oa.Array[Node]) -> i32:
    return nodes[0].value


@oa.func
def put(nodes: oa.Array[Node]) -> i32:
    nodes[0] = nodes[1]
    return 0


def _program(folder: Path, body: str) -> Program:
    names = {"Node": Node, "Link": Link, "oa": oa, "i32": i32}
    functions = {each.__name__: each for each in (last, first, put)}
    return program_from(folder, _PARAMETERS, body, **names, **functions)


@pytest.mark.parametrize(
    ("body", "indexed", "stores"),
    [
        ("values[0] = nodes[0].value + len(nodes)", (0,), False),
        ("values[0] = first(nodes)", (0,), False),
        ("values[0] = last(nodes, n)", (), False),
        ("nodes[0].next = nodes[1]", (0,), False),
        ("nodes[0].three[1] = nodes[1]", (0,), False),
        ("nodes[0] = nodes[1]", (), True),
        ("values[0] = put(nodes)", (), True),
        ("links[0] = Link(nodes[0], 1)", (), True),
        ("oa.atomic_exch(nodes, 0, nodes[1])", (), True),
    ],
)
def test_what_is_only_indexed(
    tmp_path: Path, body: str, indexed: tuple[int, ...], stores: bool
) -> None:
    program = _program(tmp_path, body)
    assert indexed_parameters(program) == indexed
    assert stores_references(program) == stores


@pytest.mark.parametrize("effects", [Effects.WRITES, Effects.ATOMIC, None])
@pytest.mark.parametrize("names_a_place", [False, True])
def test_operations_that_may_store_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effects: Effects | None, names_a_place: bool
) -> None:
    """They name no place, or one of which nobody knows where it is."""
    monkeypatch.setitem(operations._KINDS, "place", operations.Kind("place", Effects.NOTHING))
    if effects is not None:
        monkeypatch.setitem(operations._KINDS, "later", operations.Kind("later", effects))
    program = _program(tmp_path, "values[0] = nodes[0].value")
    assert element_stores(program) == ((), frozenset())
    place = make("place", [], NOWHERE, [LvalueType(ReferenceType(Node.__sharedoa__))])
    later = make("later", [place.result] if names_a_place else [], NOWHERE)
    program.kernel.body.operations[:0] = [place, later]
    assert stores_references(program) and not indexed_parameters(program)
    if not names_a_place or effects is None:
        # Nothing but reads of its elements makes the array that is only indexed harmless.
        assert element_stores(program) == ((), frozenset())
        program.kernel.body.operations.insert(
            2, make("frobnicate", [program.kernel.parameters[0]], NOWHERE)
        )
        assert element_stores(program).parameters == (0,)
