"""Analyses say no to programs with a kind of node that they do not know."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import getmembers, isclass
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.frontend import effects, tree
from sharedoa.frontend.array_use import array_fields, indexed_parameters, stores_references
from sharedoa.frontend.effects import assigned_variables
from sharedoa.frontend.streaming import is_streaming
from sharedoa.frontend.walk import nodes
from sharedoa.model.scalars import weak_int
from tests.codegen.trees import HERE, const

from .translated import translate


@dataclass(eq=False)
class NewObject(tree.Expression):
    """Nobody knows what it does."""

    argument: tree.Expression


@dataclass(eq=False)
class Swap(tree.Statement):
    variable: tree.Variable
    statements: list[tree.Statement]


class Item(oa.Object):
    x: i32

    def get(self) -> i32:
        total = 0
        for k in range(self.x):
            total += k
        return total

    def double(self) -> None:
        self.x = self.x * 2


class Other(Item):
    def get(self) -> i32:
        return -super().get()


@oa.func
def looping(n: i32) -> i32:
    total = 0
    while total < n:
        total += 3
    return total


def kernel(items: oa.Array[Item], ends: oa.Array[i32], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    item = items[i]
    total = 0
    for k in range(ends[i]):
        total += items[k].x
    if ends[i] > 2:
        total += looping(total)
    else:
        total += looping(3)
    item.double()
    out[i] = total + item.get()


def _program() -> tree.Program:
    return translate(kernel)


def _double(program: tree.Program) -> str:
    return next(symbol for symbol, f in program.functions.items() if f.name.endswith("double"))


def _new_object() -> tree.Statement:
    return tree.Evaluate(HERE, NewObject(weak_int, HERE, const(1)))


def _swap(program: tree.Program) -> tree.Statement:
    total = next(
        s.variable for s in program.kernel.body if isinstance(s, tree.Assign) and
        s.variable.name == "total"
    )  # fmt: skip
    return Swap(HERE, total, [])


def test_every_kind_of_node_is_in_one_set() -> None:
    sets = [
        effects.COMPUTE, effects.READ, effects.ASK_LAUNCH, effects.CALL, effects.CONTROL,
        effects.STORE, effects.SIGNAL,
    ]  # fmt: skip
    places = {tree.FieldPlace, tree.ElementPlace, tree.InlinePlace, tree.MemberPlace}
    kinds = {
        kind for _, kind in getmembers(tree, isclass)
        if issubclass(kind, (tree.Expression, tree.Statement))
    } - {tree.Expression, tree.Statement} | places  # fmt: skip
    assert all(sum(kind in each for each in sets) == 1 for kind in kinds)
    simple = {kind for kind in kinds if issubclass(kind, tree.Statement)}
    assert effects.SIMPLE_STATEMENTS == simple - {tree.If, tree.While, tree.ForRange}


def test_without_such_a_node_they_say_yes() -> None:
    """Else the others would show nothing."""
    program = _program()
    assert indexed_parameters(program) == (0,)
    assert not stores_references(program)
    assert is_streaming(program, _double(program))


@pytest.mark.parametrize("is_statement", [False, True])
def test_whole_programs(is_statement: bool) -> None:
    program = _program()
    program.kernel.body.insert(3, _swap(program) if is_statement else _new_object())
    assert indexed_parameters(program) == ()
    assert stores_references(program)


def test_variables_may_be_assigned_to() -> None:
    program = _program()
    swap = _swap(program)
    swap.variable = program.kernel.parameters[1]  # type: ignore[attr-defined]
    assert swap.variable not in assigned_variables(program)  # type: ignore[attr-defined]
    program.kernel.body.append(swap)
    assert swap.variable in assigned_variables(program)  # type: ignore[attr-defined]


def test_a_method_and_a_statement() -> None:
    program = _program()
    double = program.functions[_double(program)]
    double.body.append(_new_object())
    assert not is_streaming(program, double.symbol)


def test_walks_see_what_is_below() -> None:
    program = _program()
    argument = const(7)
    program.kernel.body.append(tree.Evaluate(HERE, NewObject(weak_int, HERE, argument)))
    found: Any = list(nodes(program))
    assert argument in found
    assert not array_fields(program)
