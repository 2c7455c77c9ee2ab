"""Which parameters kernels use as objects in every launch: nothing uncertain is claimed."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir import operations
from sharedoa.ir.certain_receivers import certain_receivers
from sharedoa.ir.core import Program
from sharedoa.ir.operations import Effects
from sharedoa.ir.rewrite import make
from sharedoa.ir.text import NOWHERE

from .filetest_types import NAMES
from .parse import parse_program
from .programs import program_from

_PARAMETERS = "node: Node, other: Node, values: oa.Array[i32], more: oa.Array[i32], n: i32"


class Node(oa.Object):
    value: i32


@oa.func
def used(node: Node, n: i32) -> i32:
    return node.value + n


@oa.func
def seldom(node: Node, n: i32) -> i32:
    return node.value if n > 2 else n


@oa.func
def circle(node: Node, n: i32) -> i32:
    return circle(node, n - 1)


def _program(folder: Path, body: str) -> Program:
    names = {"Node": Node, "oa": oa, "i32": i32}
    functions = {each.__name__: each for each in (used, seldom, circle)}
    return program_from(folder, _PARAMETERS, f"i = oa.grid(1)\n{body}", **names, **functions)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("node.value = 1", {0: ()}),
        ("if i < len(values): node.value = 1", {0: (2,)}),
        ("if i < len(values):\n  if i < len(more): node.value = 1", {0: (2, 3)}),
        ("if i < len(values): node.value = 1\nnode.value = 2", {0: ()}),
        ("if i >= len(values): node.value = 1", {}),
        ("if i <= len(values): node.value = 1", {}),
        ("if n < len(values): node.value = 1", {}),
        ("if i < n: node.value = 1", {}),
        ("values[0] = used(node, n)", {0: ()}),
        ("values[0] = seldom(node, n)", {}),
        ("values[0] = circle(node, n)", {}),
        ("for k in range(n): node.value = 1", {}),
        ("while node.value < n: other.value = 1", {0: ()}),
        ("if n > 2: return\nnode.value = 1", {}),
        ("for k in range(n):\n  if k > 2: return\nnode.value = 1", {}),
        ("for k in range(n):\n  if k > 2: break\nnode.value = 1", {0: ()}),
        ("other.value = 1\nassert n > 2\nnode.value = 1", {1: ()}),
        ("values[0] = 1 if node is None else 2", {}),
    ],
)
def test_what_is_certain(tmp_path: Path, body: str, expected: dict[int, tuple[int, ...]]) -> None:
    assert certain_receivers(_program(tmp_path, body)) == expected


@pytest.mark.parametrize("effects", [Effects.UNKNOWN, Effects.RETURNS, Effects.RAISES, None])
def test_behind_what_may_go_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effects: Effects | None
) -> None:
    if effects is not None:
        monkeypatch.setitem(operations._KINDS, "later", operations.Kind("later", effects))
    program = _program(tmp_path, "node.value = 1")
    assert certain_receivers(program)
    program.kernel.body.operations.insert(0, make("later", [], NOWHERE))
    assert not certain_receivers(program)


def test_functions_that_use_it_if_an_array_has_elements() -> None:
    text = """
program @main

kernel @main "main" (%node: Node, %values: Array[f32]) -> void {
  %nothing: void = call %node, %values <symbol = "some">
  return
}

func @some "some" (%node: Node, %values: Array[f32]) -> void {
  %i: int = thread_index <axis = 0>
  %n: int = length %values
  %test: bool = compare %i, %n <operator = "lt">
  if %test {
    %value: lvalue[f32] = field %node <owner = class Node, name = "value">
    yield
  } { yield }
  return
}
"""
    assert not certain_receivers(parse_program(text, NAMES))
