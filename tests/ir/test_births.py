"""How many objects a thread makes at most, and that what nobody knows counts as any number."""

from __future__ import annotations

import pytest

from sharedoa.ir.births import births_of

from .filetest_types import NAMES, Heavy, Node
from .parse import parse_program

_PROGRAM = """
program @main
kernel @main "main" (%node: Node, %n: int, %test: bool) -> void {
  %zero: int = constant <value = 0>
  %one: int = constant <value = 1>
  %three: int = constant <value = 3>
  %lowest: int = constant <value = -9223372036854775808>
  %highest: int = constant <value = 9223372036854775807>
  %OPERATIONS
  return
}
method @Node.weight "Node.weight" (%self: Node, %by: f32) -> f32 {
  %made: Heavy = new <cls = class Heavy>
  return %by
}
method @Heavy.weight "Heavy.weight" (%self: Heavy, %by: f32) -> f32 {
  %made: Node = new <cls = class Node>
  %second: Node = new <cls = class Node>
  return %by
}
func @again "again" (%n: int) -> void {
  %done: void = call %n <symbol = "again">
  %made: Node = new <cls = class Node>
  return
}
func @round "round" (%n: int) -> void {
  %done: void = call %n <symbol = "round">
  return
}
"""
_NODE, _HEAVY = "%a: Node = new <cls = class Node>", "%b: Heavy = new <cls = class Heavy>"
_VIRTUAL = (
    "%by: f32 = constant <value = 1.0> %w: f32 = call_virtual %node, %by <cls = class Node, "
    'method = "weight", slot = 0, candidates = (Node -> @Node.weight, Heavy -> @Heavy.weight)>'
)

_CASES: dict[str, tuple[str, dict[type, int | None]]] = {
    "one after the other": (f"{_NODE} {_HEAVY} %c: Node = new <cls = class Node>",
                            {Node: 2, Heavy: 1}),
    "one of two ways": (f"if %test {{ {_NODE} yield }} {{ {_HEAVY} yield }}", {Node: 1, Heavy: 1}),
    "the same on both ways": (
        f"if %test {{ {_NODE} yield }} {{ %c: Node = new <cls = class Node> yield }}", {Node: 1}
    ),
    "rounds": (f"for %zero, %three, %one (%i: int) {{ {_NODE} continue }} {{ yield }}", {Node: 3}),
    "after the rounds": (
        f"for %zero, %three, %one (%i: int) {{ continue }} {{ {_NODE} yield }}", {Node: 1}
    ),
    "no rounds": (f"for %three, %zero, %one (%i: int) {{ {_NODE} continue }} {{ yield }}",
                  {Node: 0}),
    "rounds that nobody knows": (
        f"for %zero, %n, %one (%i: int) {{ {_NODE} continue }} {{ yield }}", {Node: None}
    ),
    "more rounds than fit": (
        f"for %lowest, %highest, %one (%i: int) {{ {_NODE} continue }} {{ yield }}", {Node: None}
    ),
    "rounds that nobody knows, without": (
        f"for %zero, %n, %one (%i: int) {{ continue }} {{ yield }} {_NODE}", {Node: 1}
    ),
    "while": (f"while {{ condition %test }} {{ {_NODE} continue }} {{ yield }}", {Node: None}),
    "the test of a while": (
        f"while {{ {_NODE} condition %test }} {{ continue }} {{ yield }}", {Node: None}
    ),
    "the most of the candidates": (_VIRTUAL, {Node: 2, Heavy: 1}),
    "who calls itself": ('%d: void = call %n <symbol = "again">', {Node: None, Heavy: None}),
    "who calls itself and makes none": (
        f'%d: void = call %n <symbol = "round"> {_NODE}', {Node: 1}
    ),
    "what nobody knows": (f"unheard_of <of = 1> {_NODE}", {Node: None}),
    "in what nobody knows": (f"unheard_of {{ {_NODE} yield }}", {Node: None}),
}  # fmt: skip


@pytest.mark.parametrize("name", _CASES)
def test_bounds(name: str) -> None:
    operations, expected = _CASES[name]
    program = parse_program(_PROGRAM.replace("%OPERATIONS", operations), NAMES)
    made = births_of(program).made
    for cls, count in expected.items():
        assert made[cls.__sharedoa__] == count  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "count"),
    [("one after the other", 3), ("one of two ways", 1), ("rounds", 3), ("while", None),
     ("the most of the candidates", 2), ("who calls itself", None)],
)  # fmt: skip
def test_of_all_classes_together(name: str, count: int | None) -> None:
    program = parse_program(_PROGRAM.replace("%OPERATIONS", _CASES[name][0]), NAMES)
    assert births_of(program).together == count


def test_what_is_ended() -> None:
    text = "%d: bool = delete %node %e: bool = is_alive %node"
    births = births_of(parse_program(_PROGRAM.replace("%OPERATIONS", text), NAMES))
    assert births.ended == {Node.__sharedoa__} and births.asks and births.changes
