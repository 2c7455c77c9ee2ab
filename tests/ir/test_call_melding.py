"""Which functions threads of a warp are to run together."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.frontend.to_ir import to_ir
from sharedoa.ir.passes.call_melding import meld_calls
from sharedoa.ir.passes.candidates import narrow_candidates
from sharedoa.runtime.vectorised_code import CallForm, call_program

from .programs import job, program_from


@oa.func
def long(x: i32) -> i32:
    for k in range(x):
        x += k
    return x


@oa.func
def waiting(x: i32) -> i32:
    while x > 3:
        x -= 2
    return x


@oa.func
def either(x: i32, n: i32) -> i32:
    return long(x) if n > 2 else long(n)


@oa.func
def short(x: i32) -> i32:
    return x + 1


@oa.func
def again(x: i32) -> i32:
    for k in range(x):
        x += again(k)
    return x


class Item(oa.Object):
    value: i32

    def one(self) -> None: ...

    def two(self) -> None: ...

    def helped(self) -> i32:
        return long(self.value)


class First(Item):
    def one(self) -> None:
        self.value = long(self.value) + short(1)

    def two(self) -> None:
        self.value = waiting(self.value)


class Second(Item):
    def one(self) -> None:
        self.value = short(long(3))

    def two(self) -> None:
        self.value = self.helped() + again(self.value)


class Third(Item):
    def one(self) -> None:
        self.value = 3

    def two(self) -> None:
        if self.value > 3:
            self.value = again(2) + waiting(self.value)
        else:
            self.value = long(self.value)


def names(body: str, tmp_path: Path, populated: tuple[type[Item], ...] | None = None) -> set[str]:
    parameters = "items: oa.Array[Item], values: oa.Array[i32], n: i32"
    used = {"oa": oa, "i32": i32, "Item": Item, "long": long, "waiting": waiting, "short": short}
    used["either"] = either
    program = program_from(tmp_path, parameters, f"i = oa.grid(1)\n{body}", **used)
    met = None if populated is None else {cls.__sharedoa__.type_index for cls in populated}
    return melded(program, met)


def melded(program: ir.Program, met: set[int] | None = None) -> set[str]:
    narrow_candidates(program, job(populated=met))
    meld_calls(program)
    return {function.name for function in program.functions.values() if function.melded}


@pytest.mark.parametrize(
    ("body", "populated", "expected"),
    [
        pytest.param("items[i].one()", None, {"long"}, id="of two methods"),
        pytest.param("items[i].one()", (First, Third), set(), id="of one that can be met"),
        pytest.param("items[i].two()", None, {"long", "waiting"}, id="behind others"),
        pytest.param("items[i].one()\nitems[i].two()", (First,), set(), id="one after the other"),
        pytest.param(
            "if values[i] > 3:\n  values[i] = long(2)\nelse:\n  values[i] = long(7) + short(1)",
            None, {"long"}, id="branches"),
        pytest.param(
            "if values[i] > 3:\n  values[i] = long(2)\n  return\nvalues[i] = long(7)",
            None, {"long"}, id="a branch that returns"),
        pytest.param(
            "if values[i] > 3:\n  values[i] = long(2)\nvalues[i] = long(7)", None, set(),
            id="a branch that does not"),
        pytest.param(
            "t = i * 2\nif t + 1 < n:\n  values[i] = long(2)\nelse:\n  values[i] = long(7)",
            None, set(), id="a branch of the launch"),
        pytest.param(
            "t = values[i]\nif t < n:\n  values[i] = long(2)\nelse:\n  values[i] = long(7)",
            None, {"long"}, id="a branch of a variable"),
        pytest.param(
            "t = values[i]\nif i < n and t > 3:\n  values[i] = long(2)\nelse:\n"
            "  values[i] = long(7)", None, {"long"}, id="a branch of both"),
        pytest.param(
            "values[i] = either(3, values[i])", None, {"long"}, id="a branch of an argument"),
        pytest.param(
            "for k in range(n):\n  if k < 2:\n    values[i] = long(2)\n  else:\n"
            "    values[i] = long(7)", None, {"long"}, id="a branch in a loop"),
    ],
)  # fmt: skip
def test_what_is_common(tmp_path, body, populated, expected):
    assert names(body, tmp_path, populated) == expected


def test_stretches_of_a_population_have_nothing_in_common():
    """Each has whole warps of its own."""
    methods = []
    for cls in (First, Second):
        method = cls.__sharedoa__.find_method("one")
        assert method is not None
        methods.append((cls.__sharedoa__, method))
    form = CallForm((), exact=True, whole_warps=True)
    program = to_ir(call_program(Item.__sharedoa__, tuple(methods), form).translation().program)
    assert sum(f.name == "long" for f in program.functions.values()) == 1
    assert not melded(program)
