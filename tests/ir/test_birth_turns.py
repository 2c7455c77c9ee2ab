"""Who makes objects, as the numbers of threads say, and that nothing is said where they do not."""

from __future__ import annotations

import pytest

from dispatch.births import Turns
from sharedoa.ir.birth_turns import turns_of
from sharedoa.ir.births import births_of

from .filetest_types import NAMES, Heavy, Node
from .parse import parse_program

_PROGRAM = """
program @main
kernel @main "main" (%node: Node, %n: i32, %x: f32) -> void {
  %zero: int = constant <value = 0>
  %one: int = constant <value = 1>
  %i: int = thread_index <axis = 0>
  %y: int = thread_index <axis = 1>
  %nx: int = grid_size <axis = 0>
  %narrow: i32 = convert %i
  %two: int = constant <value = 2>
  %three: int = constant <value = 3>
  %odd: int = binary %i, %two <operator = "mod">
  %is_odd: bool = truth %odd
  %parts: i32 = binary %narrow, %n <operator = "mod">
  %OPERATIONS
  return
}
func @made "made" (%k: int) -> int {
  %two: int = constant <value = 2>
  %odd: int = binary %k, %two <operator = "mod">
  %is_odd: bool = truth %odd
  if %is_odd { %a: Node = new <cls = class Node> yield } { yield }
  return %odd
}
func @left "left" (%early: bool) -> int {
  %one: int = constant <value = 1>
  %zero: int = constant <value = 0>
  if %early { return %one } { yield }
  %no: bool = truth %zero
  if %no { %a: Heavy = new <cls = class Heavy> yield } { yield }
  return %zero
}
method @first "Node.weight" (%self: Node, %by: int) -> int {
  %a: Node = new <cls = class Node>
  return %by
}
method @second "Heavy.weight" (%self: Heavy, %by: int) -> int {
  %a: Heavy = new <cls = class Heavy>
  return %by
}
"""
_SECOND = "%c: Node = new <cls = class Node>"
_NODE, _HEAVY = "%a: Node = new <cls = class Node>", "%b: Heavy = new <cls = class Heavy>"


def _where(test: str, then: str = _NODE, otherwise: str = "") -> str:
    return f"{test} if %t {{ {then} yield }} {{ {otherwise} yield }}"


def _equals(a: str, b: str) -> str:
    return f'%t: bool = compare {a}, {b} <operator = "eq">'


_THIRDS = '%p: int = binary %i, %three <operator = "mod"> '
_WIDE = "%c: i32 = constant <value = 1000>"
_WRAPS = (
    f'{_WIDE} %w: i32 = binary %narrow, %c <operator = "mul"> %s: i32 = constant <value = 6> '
    '%p: i32 = binary %w, %s <operator = "mod"> %f: i32 = constant <value = 4> '
)
_FEW, _MANY = 1000, 3_000_000
"""Threads; the numbers of so many, times a thousand, have more than 32 bits."""

_CASES: dict[str, tuple[str, dict[type, str] | None]] = {
    "two classes in turn": (f"if %is_odd {{ {_NODE} yield }} {{ {_HEAVY} yield }}",
                            {Node: "01", Heavy: "10"}),
    "all": (_NODE, {}),
    "on every way": (f"if %is_odd {{ {_NODE} yield }} {{ {_SECOND} yield }}", {}),
    "all beside some": (f"{_HEAVY} if %is_odd {{ {_NODE} yield }} {{ yield }}", {Node: "01"}),
    "one of three": (_where(_THIRDS + _equals("%p", "%two")), {Node: "001"}),
    "a parameter": (_where("%z: i32 = convert %zero " + _equals("%parts", "%z")),
                    {Node: "10000"}),
    "nobody": (_where(_THIRDS + _equals("%p", "%nx")), {Node: "000"}),
    "floor": (
        _where('%q: int = binary %i, %three <operator = "floordiv"> '
               '%r: int = binary %q, %two <operator = "mod"> ' + _equals("%r", "%one")),
        {Node: "000111"},
    ),
    "bits": (_where('%q: int = binary %i, %one <operator = "rshift"> '
                    '%r: int = binary %q, %three <operator = "and"> ' + _equals("%r", "%two")),
             {Node: "00001100"}),
    "all but early leavers": (f"if %is_odd {{ return }} {{ yield }} {_NODE}", {Node: "10"}),
    "a value of a branch": (
        f"%v: int = if %is_odd {{ yield %zero }} {{ yield %one }} "
        f"{_where(_equals('%v', '%zero'))}", {Node: "01"},
    ),
    "what is called": ("%d: int = call %i <symbol = \"made\">", {Node: "01"}),
    "what is called with others": (
        f"{_THIRDS} %d: int = call %p <symbol = \"made\"> {_where(_equals('%d', '%one'), _HEAVY)}",
        {Node: "010", Heavy: "010"},
    ),
    "what is called and may leave": (
        f'%u: bool = truth %x %d: int = call %u <symbol = "left"> {_where(_equals("%d", "%one"))}',
        {Heavy: "0"},
    ),
    "what is called twice": (
        '%d: int = call %one <symbol = "made"> %e: int = call %i <symbol = "made"> '
        f"{_where(_equals('%e', '%one'), _HEAVY)}", {Heavy: "01"},
    ),
    "before and after a call": (
        '%d: int = call %one <symbol = "made"> %q: bool = truth %odd '
        f"if %q {{ {_HEAVY} yield }} {{ yield }}",
        {Heavy: "01"},
    ),
    "a thread that is known": (_where(_equals("%i", "%three")), None),
    "a limit": (_where('%t: bool = compare %narrow, %n <operator = "lt">'), None),
    "a limit of an array": (
        _where('%l: i32 = convert %x %t: bool = compare %narrow, %l <operator = "lt">'), None,
    ),
    "a limit that is far": (
        _where('%m: int = constant <value = 4000000> %t: bool = compare %i, %m <operator = "lt">',
               _HEAVY) + f" if %is_odd {{ {_NODE} yield }} {{ yield }}",
        {Node: "01"},
    ),
    "floats": (_where("%t: bool = truth %x"), None),
    "leavers that nobody knows": (
        f"%t: bool = truth %x if %t {{ return }} {{ yield }} "
        f"if %is_odd {{ {_NODE} yield }} {{ yield }}", {Node: "01"},
    ),
    "leavers on both ways": (
        f"%t: bool = truth %x if %t {{ return }} {{ return }} "
        f"if %is_odd {{ {_NODE} yield }} {{ yield }} {_HEAVY}", {Node: "0", Heavy: "0"},
    ),
    "one of two that nobody knows": (
        f"if %is_odd {{ {_where('%t: bool = truth %x', _NODE, _HEAVY)} yield }} {{ yield }}",
        {Node: "01", Heavy: "01"},
    ),
    "candidates": (
        "if %is_odd { yield } { %w: int = call_virtual %node, %one <cls = class Node, "
        'method = "weight", slot = 0, candidates = (Node -> @first, Heavy -> @second)> yield }',
        {Node: "10", Heavy: "10"},
    ),
    "those that nobody knows make nothing": (
        f"%t: bool = truth %x if %t {{ yield }} {{ yield }} "
        f"if %is_odd {{ {_NODE} yield }} {{ yield }}", {Node: "01"},
    ),
    "rounds": (
        f"for %zero, %one, %one (%k: int) {{ if %is_odd {{ {_NODE} yield }} {{ yield }} continue }}"
        " { yield }", {Node: "01"},
    ),
    "a number of rounds": (
        f"for %zero, %one, %one (%k: int) {{ %t: bool = truth %k if %t {{ {_NODE} yield }} "
        "{ yield } continue } { yield }", None,
    ),
    "more than a period can have": (
        '%m: int = constant <value = 65> %p: int = binary %i, %m <operator = "mod"> '
        '%q: bool = truth %p if %q { yield } { yield } '
        f"if %is_odd {{ {_NODE} yield }} {{ yield }}", {Node: "01"},
    ),
    "two of a class": (f"if %is_odd {{ {_NODE} {_SECOND} yield }} {{ yield }}", {}),
    "a long period": (
        _where('%m: int = constant <value = 65> %p: int = binary %i, %m <operator = "mod"> '
               + _equals("%p", "%one")), None,
    ),
    "numbers that wrap": (_where(_WRAPS + _equals("%p", "%f")), None),
    "what nobody knows": (f"unheard_of <of = 1> if %is_odd {{ {_NODE} yield }} {{ yield }}", None),
}  # fmt: skip


def _turns(name: str, threads: int) -> dict[type, str]:
    program = parse_program(_PROGRAM.replace("%OPERATIONS", _CASES[name][0]), NAMES)
    found = turns_of(program, births_of(program), threads, {1: 5}).turns
    text = {cls: "".join("01"[makes] for makes in turns.makes) for cls, turns in found.items()}
    every = (Node, Heavy)
    return {c: text[c.__sharedoa__] for c in every if c.__sharedoa__ in text}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", _CASES)
def test_who_makes_objects(name: str) -> None:
    assert _turns(name, _MANY) == (_CASES[name][1] or {})


def test_numbers_of_few_threads_do_not_wrap() -> None:
    assert _turns("numbers that wrap", _FEW) == {Node: "010"}


@pytest.mark.parametrize(
    ("name", "used", "counts"),
    [("a parameter", {1}, True), ("floor", set(), True), ("floats", {2}, False),
     ("a limit of an array", {2}, False), ("a limit", {1}, True)],
)  # fmt: skip
def test_what_is_looked_at(name: str, used: set[int], counts: bool) -> None:
    """What is known of others makes no difference, and is not kept apart."""
    program = parse_program(_PROGRAM.replace("%OPERATIONS", _CASES[name][0]), NAMES)
    found = turns_of(program, births_of(program), _MANY, {1: 5})
    assert (found.used, found.counts) == (used, counts)


def test_places() -> None:
    turns = Turns((False, True, True, False, True))
    assert [turns.number(thread) for thread in range(7)] == [None, 0, 1, None, 2, None, 3]
    assert [turns.count(threads) for threads in range(8)] == [0, 0, 1, 2, 2, 3, 3, 4]
