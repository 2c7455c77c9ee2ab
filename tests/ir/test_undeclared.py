"""Operations of a kind that nobody declared: nothing is done to them, nor across them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir import operations
from sharedoa.ir.array_use import indexed_parameters, stores_references
from sharedoa.ir.core import Function, LvalueType, Operation, Program, Region, Value
from sharedoa.ir.operations import Effects
from sharedoa.ir.passes.call_melding import meld_calls
from sharedoa.ir.passes.limit_copies import limit_copies
from sharedoa.ir.passes.shared_loops import share_loops
from sharedoa.ir.passes.sink_stores import sink_stores
from sharedoa.ir.passes.unroll_copies import unroll_copies
from sharedoa.ir.passes.unused import remove_unused
from sharedoa.ir.pipeline import PIPELINE
from sharedoa.ir.rewrite import make
from sharedoa.ir.roles import EVERYTHING, role_of, stored_roles
from sharedoa.ir.streaming import is_streaming
from sharedoa.ir.text import NOWHERE
from sharedoa.ir.verify import verify
from sharedoa.model import scalars

from ..differential.effort import examples
from .copies import Copies
from .interpreter import EndlessError, OutOfRangeError
from .kernels import Lines, kernel_of
from .programs import contents, job, program_from, program_of, run_one
from .undeclared import Inserting, World

_JOB = job(device=True, shares_loops=True)
_NOT_COMPUTING = [each for each in Effects if each != Effects.ASKS_THREAD]

# ------------------------------------------------------- what passes do about them


class Item(oa.Object):
    x: i32
    y: i32

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
    item.y = item.x
    total += ends[0]
    out[i] = total + item.get()
    for k in range(3):
        out[k] = ends[k]


def _program() -> Program:
    program = program_of(kernel)
    remove_unused(program, debug=False)
    return program


def _unknown(*given: Value, types: Sequence[Any] = (), regions: Sequence[Region] = ()) -> Operation:
    return make("frobnicate", given, NOWHERE, types, regions)


def _function(program: Program, name: str) -> Function:
    return next(f for f in program.functions.values() if f.name == name)


def _only(region: Region, kind: str) -> list[Operation]:
    return [operation for operation in region.operations if operation.kind == kind]


def _is_shared(program: Program) -> list[bool]:
    """Of the loops of the kernel that could be."""
    share_loops(program)
    return ["shared" in loop.attributes for loop in _only(program.kernel.body, "for")]


def _melded(program: Program) -> bool:
    meld_calls(program)
    return any(function.melded for function in program.functions.values())


def test_without_one_they_have_much_to_do() -> None:
    """Else the others would show nothing."""
    program = _program()
    double = _function(program, "Item.double")
    assert is_streaming(program, double.symbol)
    assert indexed_parameters(program) == (0,)
    assert not stores_references(program)
    assert stored_roles(program).isdisjoint([EVERYTHING])
    assert _melded(program)
    assert _is_shared(program) == [True, False]
    unroll_copies(program)
    assert len(_only(program.kernel.body, "for")) == 1


def test_a_whole_program() -> None:
    program = _program()
    double = _function(program, "Item.double")
    double.body.operations.insert(0, _unknown())
    assert not is_streaming(program, double.symbol)
    assert indexed_parameters(program) == ()
    assert stores_references(program)
    assert stored_roles(program) == {EVERYTHING}
    assert not _melded(program)


def test_a_round_of_a_loop() -> None:
    program = _program()
    loop, copying = _only(program.kernel.body, "for")
    for each in (loop, copying):
        each.regions[0].operations.insert(0, _unknown())
    assert _is_shared(program) == [False, False]
    unroll_copies(program)
    assert len(_only(program.kernel.body, "for")) == 2


def test_a_function_that_a_round_calls(tmp_path: Path) -> None:
    body = "s = 0\nfor k in range(n): s += items[k].get()\nout[0] = i32(s)"
    parameters = "items: oa.Array[Item], out: oa.Array[i32], n: i32"
    for is_known in (True, False):
        program = program_from(tmp_path, parameters, body, Item=Item)
        if not is_known:
            _function(program, "Item.get").body.operations.insert(0, _unknown())
        assert _is_shared(program) == [is_known]


def test_loops_that_hold_one_are_taken_for_long() -> None:
    program = _program()
    get = _function(program, "Item.get")
    (loop,) = _only(get.body, "for")
    limit_copies(program)
    assert "copies" not in loop.attributes
    loop.regions[0].operations.insert(0, _unknown())
    limit_copies(program)
    assert loop["copies"] == 1


def test_stores_do_not_wait_for_loads_behind_one() -> None:
    for is_known in (True, False):
        program = _program()
        body = program.functions[program.kernel.symbol].body
        store = next(operation for operation in body.operations if operation.kind == "store")
        place = body.operations.index(store)
        if not is_known:
            body.operations.insert(place + 1, _unknown())
        sink_stores(program, job(device=True))
        assert (body.operations.index(store) > place) == is_known


@pytest.mark.parametrize("effects", _NOT_COMPUTING)
def test_stores_wait_for_no_kind_with_effects(
    monkeypatch: pytest.MonkeyPatch, effects: Effects
) -> None:
    """Also if the kind is declared later."""
    monkeypatch.setitem(operations._KINDS, "later", operations.Kind("later", effects, results=0))
    program = _program()
    body = program.kernel.body
    store = next(operation for operation in body.operations if operation.kind == "store")
    later = make("later", [], NOWHERE)
    body.operations.insert(body.operations.index(store) + 1, later)
    sink_stores(program, job(device=True))
    assert body.operations.index(store) < body.operations.index(later)


@pytest.mark.parametrize("effects", [each for each in _NOT_COMPUTING if each != Effects.RETURNS])
def test_what_streams_loads_and_stores(monkeypatch: pytest.MonkeyPatch, effects: Effects) -> None:
    """A kind that is declared later may read and write in another way."""
    monkeypatch.setitem(operations._KINDS, "later", operations.Kind("later", effects, results=0))
    program = _program()
    double = _function(program, "Item.double")
    place, store = next((n, o) for n, o in enumerate(double.body.operations) if o.kind == "store")
    double.body.operations.insert(place, make("later", store.operands, NOWHERE))
    assert not is_streaming(program, double.symbol)


def test_what_it_uses_passes_on_and_makes_stays() -> None:
    """Nobody knows what becomes of it."""
    program = _program()
    body = program.kernel.body
    number = make("constant", [], NOWHERE, [scalars.i32], value=1)
    inner = make("constant", [], NOWHERE, [scalars.i32], value=2)
    region = Region([Value(scalars.i32), Value(scalars.i32)])
    region.operations = [inner, make("yield", [inner.result], NOWHERE)]
    unknown = _unknown(number.result, types=[scalars.i32], regions=[region])
    body.operations[:0] = [number, unknown]
    verify(program)
    remove_unused(program, debug=False)
    verify(program)
    assert body.operations[:2] == [number, unknown]
    assert len(unknown.results) == 1 and len(region.arguments) == 2
    assert region.operations[0] is inner


def test_memory_that_it_names_may_be_any() -> None:
    unknown = _unknown(types=[LvalueType(scalars.i32)])
    assert role_of(unknown.result) == EVERYTHING


# ------------------------------------------------------------- anywhere in programs


def check(folder: Path, body: str, seed: int) -> bool:
    """Whether a program with such operations does the same after each pass. False if what was put
    in is an index, or an end, that must be another number."""
    program = program_of(kernel_of(folder, body))
    Inserting(program, seed, 1 + seed % 4)
    verify(program)
    try:
        expected, *others = (World(seed).run(program, order) for order in (0, seed, seed + 1))
    except (OutOfRangeError, EndlessError):
        return False
    if others != [expected] * len(others):
        return False  # threads met
    now = contents(program)
    for each in PIPELINE:
        if not each.applies(_JOB):
            continue
        before = now
        run_one(program, _JOB, each)
        now = contents(program)
        if now != before:
            assert World(seed).run(program, seed) == expected, f"after {each.name}:\n{body}"
    return True


@pytest.mark.parametrize("lines", [Lines, Copies])
@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1))
def test_they_stay_where_they_are(
    tmp_path_factory: pytest.TempPathFactory, lines: type[Lines | Copies], seed: int
) -> None:
    check(tmp_path_factory.getbasetemp(), lines(seed).kernel(), seed)


def test_most_programs_are_looked_at(tmp_path: Path) -> None:
    assert sum(check(tmp_path, Lines(seed).kernel(), seed) for seed in range(16)) > 8
