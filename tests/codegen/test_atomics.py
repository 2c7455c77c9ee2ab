"""Atomics: old values, combined values, every type, and threads that really run side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from sharedoa.errors import CompileError
from sharedoa.frontend import tree
from sharedoa.model.layout import Layout
from sharedoa.model.scalars import SCALARS, ScalarType, boolean, f32, f64, i32, i64
from sharedoa.model.types import InlineType, ReferenceType, Type

from ..modes import rotated
from . import objects
from .machine import AMDGPU, NVPTX, Kernel, lower_for
from .trees import (
    FLOATS,
    HERE,
    INTEGERS,
    array,
    const,
    convert,
    element,
    field_of,
    load,
    program,
    shared_class,
    store,
    thread,
    use,
    value_struct,
    variable,
)

COMBINE = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}


def atomic_program(
    operator: Any, type: Type, compare: bool = False, given: tree.Expression | None = None
) -> tree.Program:
    """``old[i] = atomic_<operator>(cells, 0, [compare[i],] values[i])``, or of ``given``."""
    cells, values, expected, old = (
        array(name, type) for name in ("cells", "values", "expected", "old")
    )
    against = load(element(use(expected))) if compare else None
    value = tree.Atomic(
        type, HERE, operator, element(use(cells), const(0)),
        load(element(use(values))) if given is None else given, against,
    )  # fmt: skip
    body = [store(element(use(old)), value)]
    return program([cells, values, *([expected] if compare else []), old], list(body))


def numbers(type: ScalarType) -> np.ndarray[Any, Any]:
    """Numbers of both signs, the ends of the range among them."""
    if type.is_float:
        return np.array([1.5, -2.25, 1e30, -0.5, 8], type.dtype)
    low, high = type.range
    return np.array([3, high, low, high - 2, 5], type.dtype)


@pytest.mark.parametrize(("type", "operator"), rotated([*INTEGERS, *FLOATS], [*COMBINE], each=2))
def test_combining_equals_numpy_and_gives_the_old_value(operator: str, type: ScalarType) -> None:
    values = numbers(type)
    cells, old = np.array([7], type.dtype), np.zeros_like(values)
    Kernel(atomic_program(operator, type)).launch(len(values), cells, values, old)
    history = [type(7)]
    with np.errstate(over="ignore"):
        for value in values:
            history.append(COMBINE[operator](history[-1], value))
    assert old.tolist() == [each.item() for each in history[:-1]]
    assert cells[0] == history[-1]


@pytest.mark.parametrize("type", list(SCALARS.values()), ids=str)
def test_exchange_and_compare_and_swap(type: ScalarType) -> None:
    zero, one = np.zeros(1, type.dtype), np.ones(1, type.dtype)
    cells, old = zero.copy(), one.copy()
    Kernel(atomic_program("exch", type)).launch(1, cells, one, old)
    assert (cells[0], old[0]) == (one[0], zero[0])
    swap = Kernel(atomic_program("cas", type, compare=True))
    swap.launch(1, cells, zero, zero, old)
    assert (cells[0], old[0]) == (one[0], one[0])
    swap.launch(1, cells, zero, one, old)
    assert (cells[0], old[0]) == (zero[0], one[0])


@pytest.mark.parametrize("layout", objects.LAYOUTS, ids=lambda x: x.name)
def test_fields_of_every_size_are_exchanged(layout: Layout) -> None:
    cell = shared_class("Cell", fields=SCALARS)
    this, other = (variable(name, ReferenceType(cell)) for name in ("this", "other"))
    body = [
        store(
            field_of(use(other), name),
            tree.Atomic(type, HERE, "exch", field_of(use(this), name), const(1, type)),
        )
        for name, type in SCALARS.items()
    ]
    first, second = (objects.new(cell, layout) for _ in range(2))
    for name, type in SCALARS.items():
        objects.put(first, name, type.dtype.type(type.kind == "bool" or 77))
    Kernel(program([this, other], list(body)), layout=layout).launch(1, first, second)
    for name, type in SCALARS.items():
        assert objects.get(first, name) == 1
        assert objects.get(second, name) == (type.kind == "bool" or 77)


def test_references_are_exchanged_and_swapped() -> None:
    cell = shared_class("Cell", fields={"value": i32})
    type = ReferenceType(cell)
    first, second = (np.array([objects.new(cell)], np.uint64) for _ in range(2))
    cells, old = first.copy(), np.zeros(1, np.uint64)
    Kernel(atomic_program("exch", type)).launch(1, cells, second, old)
    assert (cells[0], old[0]) == (second[0], first[0])
    Kernel(atomic_program("cas", type, compare=True)).launch(1, cells, first, second, old)
    assert (cells[0], old[0]) == (first[0], second[0])


@pytest.mark.parametrize("layout", objects.LAYOUTS, ids=lambda x: x.name)
def test_fields_inline_elements_and_members_are_places_too(layout: Layout) -> None:
    point = value_struct("Point", x=i32, y=f64)
    cell = shared_class("Cell", fields={"count": i32, "items": InlineType(i32, (3,)), "at": point})
    this = variable("this", ReferenceType(cell))
    one = const(1, i32)
    items = field_of(use(this), "items")
    y = tree.MemberPlace(f64, HERE, field_of(use(this), "at"), "y")
    atomics = [
        tree.Atomic(i32, HERE, "add", field_of(use(this), "count"), one),
        tree.Atomic(i32, HERE, "sub", tree.InlinePlace(i32, HERE, items, const(-1), True), one),
        tree.Atomic(f64, HERE, "add", y, convert(f64, thread())),
    ]
    body = [tree.Evaluate(HERE, atomic) for atomic in atomics]
    reference = objects.new(cell, layout)
    Kernel(program([this], list(body)), layout=layout).launch(4, reference)
    assert objects.get(reference, "count") == 4
    assert objects.get(reference, "items").tolist() == [0, 0, -4]
    assert objects.get(reference, "at")["y"] == 6.0


def test_the_value_to_compare_with_is_evaluated_before_the_new_one() -> None:
    cells, log = array("cells", i64), array("log", i64)

    def count() -> tree.Atomic:
        return tree.Atomic(i64, HERE, "add", element(use(log), const(0)), const(1, i64))

    swap = tree.Atomic(i64, HERE, "cas", element(use(cells), const(0)), count(), count())
    kernel = Kernel(program([cells, log], [tree.Evaluate(HERE, swap)]))
    found, counter = np.array([10]), np.array([10])
    kernel.launch(1, found, counter)
    assert (found[0], counter[0]) == (11, 12)


@pytest.mark.parametrize("type", [INTEGERS[0], i64, f32], ids=str)
def test_no_update_is_lost_between_threads(type: ScalarType) -> None:
    kernel = Kernel(atomic_program("add", type))
    count, workers = 20_000, 4
    cells, values, old = (np.zeros(n, type.dtype) for n in (1, count, count))
    values[:] = 1
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(kernel.launch, count, cells, values, old) for _ in range(workers)]:
            done.result()
    with np.errstate(over="ignore"):
        assert cells[0] == np.array(count * workers).astype(type.dtype)


@pytest.mark.parametrize(("type", "operator"), rotated([*SCALARS.values()], ["add", "exch"]))
def test_gpus_have_every_width(type: ScalarType, operator: str) -> None:
    if type == boolean and operator == "add":
        operator = "cas"
    whole = atomic_program(operator, type, compare=operator == "cas")
    assert "atom" in str(NVPTX.compile(str(lower_for(NVPTX, whole).module))["ptx"])
    assert AMDGPU.compile(str(lower_for(AMDGPU, whole).module))["o"]


@pytest.mark.parametrize("operator", [*COMBINE])
@pytest.mark.parametrize("type", [i32, SCALARS["u64"], f32], ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_gpus_read_where_nothing_changes(operator: str, type: ScalarType, number: int) -> None:
    whole = atomic_program(operator, type, given=const(type.dtype.type(number).item(), type))
    ptx = str(NVPTX.compile(str(lower_for(NVPTX, whole).module))["ptx"])
    only_reads = operator in ("add", "sub") and number == 0 and not type.is_float
    assert ("atom" not in ptx) == only_reads
    assert ("ld.relaxed" in ptx) == only_reads
    assert AMDGPU.compile(str(lower_for(AMDGPU, whole).module))["o"]


@pytest.mark.parametrize(
    ("operator", "type"),
    [("add", boolean), ("min", boolean), ("add", ReferenceType(shared_class("Cell")))],
)
def test_what_cannot_be_combined_is_refused(operator: str, type: Type) -> None:
    with pytest.raises(CompileError, match="exch and cas"):
        Kernel(atomic_program(operator, type))
