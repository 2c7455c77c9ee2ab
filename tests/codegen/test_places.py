"""Fields, elements, inline arrays and value structs in memory, against their NumPy views."""

from __future__ import annotations

import numpy as np
import pytest

from sharedoa.frontend import tree
from sharedoa.model.layout import Header, Layout, storage_dtype
from sharedoa.model.reference import PlainReference, ReferenceEncoding, TaggedReference
from sharedoa.model.scalars import SCALARS, ScalarType, boolean, f32, f64, i8, u8, weak_int
from sharedoa.model.types import ArrayType, InlineType, ReferenceType, Type, ValueType

from ..modes import rotated
from . import objects
from .machine import Kernel
from .trees import (
    HERE,
    add,
    array,
    binary,
    const,
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

POINT = value_struct("Point", tag=i8, x=f64, on=boolean, y=f32)
SEGMENT = value_struct("Segment", flag=boolean, begin=POINT, end=POINT)
FIELDS: dict[str, Type] = {
    **SCALARS,
    "numbers": ArrayType(f32),
    "segment": SEGMENT,
    "bytes": InlineType(u8, (5,)),
    "points": InlineType(POINT, (3,)),
    "last": boolean,
}
RECORD = shared_class("Record", fields=FIELDS)
DERIVED = shared_class("Derived", RECORD, {"extra": f64})
HEADERS = [Header(size, step) for size, step in ((0, 1), (4, 4), (8, 8), (16, 8))]
LAYOUTS = [Layout(name, header) for name in ("aos", "tile") for header in HEADERS]
in_both_layouts = pytest.mark.parametrize("layout", objects.LAYOUTS, ids=lambda x: x.name)


def record(name: str = "record") -> tree.Variable:
    return variable(name, ReferenceType(RECORD))


@pytest.mark.parametrize(
    ("layout", "encoding"),
    rotated(
        [pytest.param(each, id=f"{each.name}-header{each.header.size}") for each in LAYOUTS],
        [pytest.param(PlainReference(), id="plain"), pytest.param(TaggedReference(), id="tagged")],
    ),
)
def test_every_field_lies_where_the_layout_says(
    layout: Layout, encoding: ReferenceEncoding
) -> None:
    source, target = record("source"), record("target")
    names = [name for name in FIELDS if not isinstance(FIELDS[name], InlineType)]
    body = [store(field_of(use(target), n), load(field_of(use(source), n))) for n in names]
    kernel = Kernel(program([source, target], list(body)), layout=layout, encoding=encoding)
    origin = objects.new(DERIVED, layout, encoding)
    random = np.random.default_rng(3)
    for name in names:
        objects.put(origin, name, _random_value(storage_dtype(FIELDS[name]), random))
    copy = objects.new(DERIVED, layout, encoding, extra=7.0)
    kernel.launch(1, origin, copy)
    for name in FIELDS:
        found = objects.get(copy, name)
        expected = objects.get(origin, name)
        if name in names:
            assert found.tolist() == expected.tolist(), name
        else:
            assert not found.view(np.uint8).any(), name
    assert objects.get(copy, "extra") == 7.0


def _random_value(dtype: np.dtype, random: np.random.Generator) -> object:
    if dtype.fields is not None:
        return tuple(_random_value(part[0], random) for part in dtype.fields.values())
    return dtype.type(random.integers(0, 2 if dtype.kind == "b" else 100))


def test_storing_a_value_leaves_padding_alone() -> None:
    points = array("points", POINT)
    point = load(element(use(points), const(0)))
    kernel = Kernel(program([points], [store(element(use(points), const(1)), point)]))
    memory = np.zeros(2, storage_dtype(POINT))
    memory[0] = (1, 2.0, True, 3.0)
    raw = memory.view(np.uint8).reshape(2, -1)
    raw[1] = 0xAA
    kernel.launch(1, memory)
    assert memory[1] == memory[0]
    assert raw[1, 1] == 0xAA


@pytest.mark.parametrize("type", [*SCALARS.values(), POINT, SEGMENT], ids=str)
def test_elements_lie_one_after_another(type: ScalarType | ValueType) -> None:
    source, target = array("source", type), array("target", type)
    length = tree.ArrayLength(weak_int, HERE, use(source))
    mirrored = binary("sub", binary("sub", length, const(1)), thread())
    body = [store(element(use(target), mirrored), load(element(use(source))))]
    dtype, random = storage_dtype(type), np.random.default_rng(5)
    data = np.array([_random_value(dtype, random) for _ in range(9)], dtype)
    out = np.zeros_like(data)
    Kernel(program([source, target], list(body))).launch(9, data, out)
    assert out.tolist() == data[::-1].tolist()


def test_a_bool_byte_other_than_one_is_true_and_is_written_as_one() -> None:
    source, target = array("source", boolean), array("target", boolean)
    body = [store(element(use(target)), load(element(use(source))))]
    data = np.array([0, 1, 2, 255], np.uint8)
    out = np.zeros(4, np.uint8)
    Kernel(program([source, target], list(body))).launch(4, data, out)
    assert out.tolist() == [0, 1, 1, 1]


def test_negative_indices_count_from_the_end_where_they_may_occur() -> None:
    numbers, index, out = (array(name, weak_int) for name in ("numbers", "index", "out"))
    place = element(use(numbers), load(element(use(index))), wraps=True)
    kernel = Kernel(program([numbers, index, out], [store(element(use(out)), load(place))]))
    data, picks = np.arange(10, 15), np.array([-1, -5, 0, 4, -2])
    found = np.zeros(5, np.int64)
    kernel.launch(5, data, picks, found)
    assert found.tolist() == data[picks].tolist()


@in_both_layouts
def test_inline_elements_and_members_are_written_in_place(layout: Layout) -> None:
    this = record()
    points = field_of(use(this), "points")
    middle = tree.InlinePlace(POINT, HERE, points, const(-2), True)
    x = tree.MemberPlace(f64, HERE, middle, "x")
    begin = tree.MemberPlace(POINT, HERE, field_of(use(this), "segment"), "begin")
    on = tree.MemberPlace(boolean, HERE, begin, "on")
    byte = tree.InlinePlace(u8, HERE, field_of(use(this), "bytes"), const(4), False)
    old = variable("old", u8)
    body: list[tree.Statement] = [
        store(x, const(6.5, f64)),
        store(on, const(True, boolean)),
        store(byte, const(250, u8)),
        tree.AugmentedStore(HERE, byte, old, add(use(old), const(10, u8))),
    ]
    reference = objects.new(RECORD, layout)
    Kernel(program([this], body), layout=layout).launch(1, reference)
    assert objects.get(reference, "points")["x"].tolist() == [0.0, 6.5, 0.0]
    segment = objects.get(reference, "segment")
    assert segment["begin"]["on"] and not segment["end"]["on"] and not segment["flag"]
    assert objects.get(reference, "bytes").tolist() == [0, 0, 0, 0, 4]


@in_both_layouts
def test_references_are_followed_and_compared(layout: Layout) -> None:
    node = shared_class("Node", fields={})
    node._own_fields = {"next": ReferenceType(node), "value": weak_int}
    head, out = variable("head", ReferenceType(node)), array("out", weak_int)
    cursor, total = variable("cursor", ReferenceType(node)), variable("total")
    null = tree.Null(ReferenceType(node), HERE)
    body: list[tree.Statement] = [
        tree.Assign(HERE, cursor, use(head)),
        tree.While(
            HERE,
            tree.Compare(boolean, HERE, "is_not", use(cursor), null),
            [
                tree.Assign(HERE, total, add(use(total), load(field_of(use(cursor), "value")))),
                tree.Assign(HERE, cursor, load(field_of(use(cursor), "next"))),
            ],
            [],
        ),
        store(element(use(out)), use(total)),
    ]
    reference = 0
    for value in (1, 20, 300):
        reference = objects.new(node, layout, next=reference, value=value)
    found = np.zeros(1, np.int64)
    kernel = Kernel(program([head, out], body), layout=layout)
    kernel.launch(1, reference, found)
    assert found[0] == 321
    kernel.launch(1, 0, found)
    assert found[0] == 0


@in_both_layouts
def test_arrays_in_fields_are_read_with_their_length(layout: Layout) -> None:
    this, out = record(), array("out", f32)
    numbers = load(field_of(use(this), "numbers"))
    last = load(element(numbers, const(-1), wraps=True))
    length = tree.Convert(f32, HERE, tree.ArrayLength(weak_int, HERE, numbers))
    body: list[tree.Statement] = [
        tree.If(
            HERE,
            tree.Truth(boolean, HERE, numbers),
            [store(element(use(out)), add(last, length))],
            [store(element(use(out)), const(-1.0, f32))],
        )
    ]
    data, found = np.array([1, 2, 3.5], np.float32), np.zeros(1, np.float32)
    reference = objects.new(RECORD, layout, numbers=(0, 0))
    kernel = Kernel(program([this, out], body), layout=layout)
    kernel.launch(1, reference, found)
    assert found[0] == -1
    objects.put(reference, "numbers", (data.ctypes.data, len(data)))
    kernel.launch(1, reference, found)
    assert found[0] == 6.5


def test_kernel_arguments_arrive_leaf_by_leaf() -> None:
    point, flag = tree.Variable("point", POINT), variable("flag", boolean)
    small, out = variable("small", i8), array("out", f64)
    parts: list[tree.Expression] = [
        tree.Convert(f64, HERE, tree.ValueField(type, HERE, use(point), name))
        for name, type in POINT.fields.items()
    ]
    parts += [tree.Convert(f64, HERE, use(flag)), tree.Convert(f64, HERE, use(small))]
    body = [store(element(use(out), const(n)), part) for n, part in enumerate(parts)]
    kernel = Kernel(program([point, flag, small, out], list(body)))
    found = np.zeros(6)
    kernel.launch(1, -3, 2.5, True, 0.5, True, -100, found)
    assert found.tolist() == [-3, 2.5, 1, 0.5, 1, -100]
    dtypes = [leaf.dtype.name for leaf in kernel.lowered.leaves]
    assert dtypes == ["int8", "float64", "bool", "float32", "bool", "int8", "uint64", "int64"]
