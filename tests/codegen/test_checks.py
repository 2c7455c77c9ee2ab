"""Debug checks and assertions: what they report, and that the program goes on safely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dispatch.errors import ErrorCode
from sharedoa.frontend import tree
from sharedoa.model.layout import Header, Layout
from sharedoa.model.scalars import ScalarType, boolean, i8, i32, i64, u32, weak_int
from sharedoa.model.types import InlineType, ReferenceType

from . import objects
from .machine import Kernel
from .shapes import Shapes, area_program, make_shapes, type_test_program
from .trees import (
    HERE,
    add,
    array,
    at,
    binary,
    compare,
    const,
    element,
    field_of,
    load,
    program,
    shared_class,
    store,
    thread,
    unary,
    use,
    variable,
)

CELL = shared_class("Cell", fields={"value": i32, "items": InlineType(i32, (4,))})
CELLS = array("cells", ReferenceType(CELL))
OUT = array("out", i32)


@pytest.fixture(scope="module")
def shapes() -> Shapes:
    return make_shapes()


def cell_value() -> tree.FieldPlace:
    """``cells[i].value``, on line 8."""
    place = field_of(load(element(use(CELLS))), "value")
    place.location = at(8)
    return place


def broken_references() -> tuple[np.ndarray[Any, Any], list[int]]:
    """References to a live object, null and a foreign address, and the codes that they report."""
    live = objects.new(CELL, value=5)
    return np.array([live, 0, live + 8], np.uint64), [0, ErrorCode.NULL, ErrorCode.FOREIGN]


def launch_each(
    kernel: Kernel, references: np.ndarray[Any, Any], *more: np.ndarray[Any, Any]
) -> list[int]:
    """Run one reference at a time; the error code after each."""
    codes = []
    for number in range(len(references)):
        rest = [each[number : number + 1] for each in more]
        kernel.launch(1, references[number : number + 1], *rest)
        codes.append(kernel.error_code)
        if codes[-1]:
            assert kernel.error["value"][0] == references[number]
    return codes


def test_a_load_through_a_bad_reference_is_reported_and_gives_zero() -> None:
    kernel = Kernel(
        program([CELLS, OUT], [store(element(use(OUT)), load(cell_value()))]), debug=True
    )
    references, codes = broken_references()
    out = np.full(3, -1, np.int32)
    assert launch_each(kernel, references, out) == codes
    assert out.tolist() == [5, 0, 0]
    assert kernel.lowered.source_sites[int(kernel.error["site"][0])].line == 8


def test_a_store_through_a_bad_reference_is_reported_and_skipped() -> None:
    kernel = Kernel(program([CELLS], [store(cell_value(), const(9, i32))]), debug=True)
    references, codes = broken_references()
    assert launch_each(kernel, references) == codes
    assert objects.get(int(references[0]), "value") == 9


def test_an_atomic_through_a_bad_reference_is_reported_and_skipped() -> None:
    old = tree.Atomic(i32, HERE, "add", cell_value(), const(1, i32))
    kernel = Kernel(program([CELLS, OUT], [store(element(use(OUT)), old)]), debug=True)
    references, codes = broken_references()
    out = np.full(3, -1, np.int32)
    assert launch_each(kernel, references, out) == codes
    assert out.tolist() == [5, 0, 0]


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_virtual_call_on_a_bad_reference_is_reported_and_skipped(
    shapes: Shapes, rewritten: bool
) -> None:
    kernel = Kernel(area_program(shapes, line=5), debug=True, rewritten=rewritten)
    live = objects.new(shapes.square, side=3)
    references = np.array([live, 0, live + 4], np.uint64)
    out = np.zeros(3, np.float32)
    codes = launch_each(kernel, references, out)
    assert codes == [0, ErrorCode.NULL, ErrorCode.FOREIGN]
    assert out.tolist() == [19, 1, 1]
    assert kernel.lowered.source_sites[int(kernel.error["site"][0])].line == 5


def test_an_object_of_a_class_unknown_to_the_call_is_reported(shapes: Shapes) -> None:
    """Possible with a reference that was stored as another type's."""
    layout = Layout("aos", Header(4, 4))
    whole = area_program(shapes, line=6)
    kernel = Kernel(whole, debug=True, rewritten=True, mode="concord", layout=layout)
    stranger = objects.new(shared_class("Stranger", methods={"area": False}), layout)
    out = np.full(1, -1, np.float32)
    assert launch_each(kernel, np.array([stranger], np.uint64), out) == [ErrorCode.NO_METHOD]
    assert out.tolist() == [1]
    assert kernel.lowered.source_sites[int(kernel.error["site"][0])].line == 6


def test_isinstance_of_a_bad_reference_is_reported_and_false(shapes: Shapes) -> None:
    kernel = Kernel(type_test_program(shapes, shapes.circle), debug=True)
    live = objects.new(shapes.circle)
    out = np.full(3, -1)
    codes = launch_each(kernel, np.array([live, 0, live + 4], np.uint64), out)
    assert codes == [0, 0, ErrorCode.FOREIGN]
    assert out.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("index", "wraps", "value"),
    [(0, False, 10), (2, False, 12), (3, False, 0), (-1, False, 0), (2**62, False, 0),
     (-1, True, 12), (-3, True, 10), (-4, True, 0), (3, True, 0), (-(2**63), True, 0)],
)  # fmt: skip
def test_an_index_out_of_bounds_is_reported(index: int, wraps: bool, value: int) -> None:
    numbers, pick = array("numbers", i32), variable("pick")
    place = element(use(numbers), use(pick), wraps)
    body = [store(element(use(OUT)), load(place)), store(place, const(77, i32))]
    kernel = Kernel(program([numbers, pick, OUT], list(body)), debug=True)
    data, out = np.array([10, 11, 12], np.int32), np.full(1, -1, np.int32)
    kernel.launch(1, data, index, out)
    assert out[0] == value
    assert kernel.error_code == (0 if value else ErrorCode.INDEX)
    assert (data == 77).sum() == (1 if value else 0)
    if not value:
        assert kernel.error["value"][0].astype(np.int64) == index
        assert kernel.error["extra"][0] == 3


def test_an_inline_index_and_its_object_are_both_checked() -> None:
    pick = variable("pick")
    items = field_of(load(element(use(CELLS), const(0))), "items")
    place = tree.InlinePlace(i32, HERE, items, use(pick), True)
    kernel = Kernel(program([CELLS, pick], [store(place, const(3, i32))]), debug=True)
    live = objects.new(CELL)
    references = np.array([live], np.uint64)
    for index, code in ((-1, 0), (4, ErrorCode.INDEX), (-5, ErrorCode.INDEX)):
        kernel.launch(1, references, index)
        assert kernel.error_code == code
    kernel.launch(1, np.zeros(1, np.uint64), 0)
    assert kernel.error_code == ErrorCode.NULL
    assert objects.get(live, "items").tolist() == [0, 0, 0, 3]


def binary_of(operator: Any, type: ScalarType) -> Callable[[bool], Kernel]:
    left, right, out = array("left", type), array("right", type), array("out", type)
    value = binary(operator, load(element(use(left))), load(element(use(right))))
    whole = program([left, right, out], [store(element(use(out)), value)])
    return lambda debug: Kernel(whole, debug=debug)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("type", [i8, u32, i64], ids=str)
@pytest.mark.parametrize("operator", ["floordiv", "mod"])
def test_division_by_zero_gives_zero_and_is_reported(
    operator: str, type: ScalarType, debug: bool
) -> None:
    kernel = binary_of(operator, type)(debug)
    seven, zero, out = (np.array([n], type.dtype) for n in (7, 0, 9))
    kernel.launch(1, seven, zero, out)
    assert out[0] == 0
    assert kernel.error_code == (ErrorCode.DIVISION_BY_ZERO if debug else 0)
    kernel.launch(1, seven, seven, out)
    assert kernel.error_code == 0


@pytest.mark.parametrize("debug", [False, True])
def test_a_negative_exponent_gives_zero_and_is_reported(debug: bool) -> None:
    kernel = binary_of("pow", i8)(debug)
    two, minus, out = (np.array([n], np.int8) for n in (2, -3, 9))
    kernel.launch(1, two, minus, out)
    assert out[0] == 0
    assert kernel.error_code == (ErrorCode.NEGATIVE_EXPONENT if debug else 0)
    if debug:
        assert kernel.error["value"][0].astype(np.int64) == -3


@pytest.mark.parametrize("debug", [False, True])
def test_an_exponent_of_zero_gives_one_and_is_fine(debug: bool) -> None:
    kernel, out = binary_of("pow", i8)(debug), np.array([9], np.int8)
    kernel.launch(1, np.array([2], np.int8), np.array([0], np.int8), out)
    assert (out[0], kernel.error_code) == (1, 0)


@pytest.mark.parametrize("debug", [False, True])
def test_a_range_step_of_zero_ends_the_loop_and_is_reported(debug: bool) -> None:
    step, i = variable("step"), variable("i")
    place = element(use(OUT), const(0))
    loop = tree.ForRange(HERE, i, const(0), const(5), use(step), [store(place, const(1, i32))], [])
    kernel, out = Kernel(program([step, OUT], [loop]), debug=debug), np.zeros(1, np.int32)
    kernel.launch(1, 0, out)
    assert out[0] == 0
    assert kernel.error_code == (ErrorCode.RANGE_STEP_ZERO if debug else 0)


@pytest.mark.parametrize("debug", [False, True])
def test_assertions_are_checked_always_and_the_first_failure_wins(debug: bool) -> None:
    limit = variable("limit")
    body = [
        tree.Assert(at(20), compare("lt", thread(), use(limit)), "too many"),
        tree.Assert(at(21), unary("not", compare("eq", thread(), const(2))), ""),
        store(element(use(OUT)), const(1, i32)),
    ]
    kernel, out = Kernel(program([limit, OUT], list(body)), debug=debug), np.zeros(5, np.int32)
    kernel.launch(5, 4, out)
    assert kernel.error_code == ErrorCode.ASSERTION
    assert kernel.lowered.source_sites[int(kernel.error["site"][0])].line == 21
    assert kernel.error["thread_x"][0] == (2 if debug else -1)
    assert out.tolist() == [1] * 5
    kernel.launch(2, 2, out)
    assert kernel.error_code == 0


def test_without_a_record_a_failed_assertion_changes_nothing() -> None:
    false = const(False, boolean)
    kernel = Kernel(program([], [tree.Assert(HERE, false, "")]))
    kernel.record_address = 0
    kernel.launch(1)
    assert kernel.error_code == 0


def test_release_code_has_no_checks(shapes: Shapes) -> None:
    text = str(Kernel(area_program(shapes)).lowered.module)
    assert "sharedoa_report" not in text
    assert "sharedoa_check_reference" not in text


def test_weak_sums_are_not_checked() -> None:
    """Overflow wraps in debug mode too."""
    out = array("out", weak_int)
    value = add(const(2**63 - 1), const(1))
    kernel = Kernel(program([out], [store(element(use(out)), value)]), debug=True)
    found = np.zeros(1, np.int64)
    kernel.launch(1, found)
    assert (found[0], kernel.error_code) == (-(2**63), 0)
