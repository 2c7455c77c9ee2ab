"""Host, transfers and generated code find every scalar of every object at the same address."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa.frontend import tree
from sharedoa.heap.transfer import Column
from sharedoa.model.classes import ClassType
from sharedoa.model.clusters import Cluster
from sharedoa.model.field_address import LANES, RECORDS, ROWS, WORD, Addressing
from sharedoa.model.layout import Header, Layout
from sharedoa.model.record import Component, scalar_parts
from sharedoa.model.reference import (
    BASE_ALIGNMENT,
    NULL_REACH,
    NarrowReference,
    PlainReference,
    ReferenceEncoding,
)
from sharedoa.model.scalars import SCALARS, ScalarType, f32, f64, i8, i16, weak_int
from sharedoa.model.types import (
    ArrayType,
    InlineType,
    ReferenceType,
    Type,
    ValueType,
    array_form,
)
from tests.codegen import trees
from tests.codegen.machine import Kernel

from .clustering import clusters

OTHER = trees.shared_class("Other", fields={"x": f32})
_names = itertools.count()
_SCALARS = st.sampled_from(list(SCALARS.values()))
_STORED = st.one_of(
    _SCALARS, st.just(ReferenceType(OTHER)), st.sampled_from([ArrayType(f32), ArrayType(i8)])
)


def _struct(members: list[Type]) -> ValueType:
    fields = {f"m{number}": type for number, type in enumerate(members)}
    return trees.value_struct(f"Struct{next(_names)}", **fields)


def _inline(elements: st.SearchStrategy[Type]) -> st.SearchStrategy[InlineType]:
    lengths = st.integers(min_value=1, max_value=3)
    return st.builds(InlineType, elements, st.lists(lengths, min_size=1, max_size=2).map(tuple))


_VECTORS = st.sampled_from(
    [getattr(oa, name).__sharedoa_value__ for name in ("vec2", "vec3d", "vec4i", "mat33", "quat")]
)
_STRUCTS = st.lists(_STORED, min_size=1, max_size=3).map(_struct)
_STRUCTS = st.one_of(
    _STRUCTS,
    _VECTORS,
    st.tuples(_SCALARS, st.one_of(_STRUCTS, _VECTORS), _SCALARS).map(lambda e: _struct(list(e))),
    st.tuples(_inline(st.one_of(_SCALARS, _VECTORS)), _SCALARS).map(lambda e: _struct(list(e))),
)
_ELEMENTS = st.one_of(_SCALARS, st.just(ReferenceType(OTHER)), _STRUCTS)
_FIELDS = st.one_of(_STORED, _STRUCTS, _inline(_ELEMENTS))
_HIERARCHIES = st.lists(st.lists(_FIELDS, max_size=4), min_size=1, max_size=3)
_HEADERS = [Header(0, 1), Header(4, 4), Header(8, 8), Header(16, 8)]


def _classes(levels: list[list[Type]]) -> list[ClassType]:
    """A chain of classes; each declares the fields of its list."""
    made: list[ClassType] = []
    for level, types in enumerate(levels):
        fields = {f"f{level}_{number}": type for number, type in enumerate(types)}
        base = made[-1] if made else None
        made.append(trees.shared_class(f"Class{next(_names)}", base, fields))
    return made


@st.composite
def _layouts(draw: Any, classes: list[ClassType], references: ReferenceEncoding) -> Layout:
    name, has_clusters = draw(st.sampled_from([("aos", False), ("tile", False), ("tile", True)]))
    header = _HEADERS[0] if has_clusters else draw(st.sampled_from(_HEADERS))
    layout = Layout(name, header, references=references)
    return layout.with_clusters(draw(clusters(layout, classes)))


@dataclass(frozen=True)
class Part:
    """A scalar, reference or array in a field, which one store writes. ``steps`` lead to it by
    members and by indices, ``components`` as records have it."""

    name: str
    components: tuple[Component, ...]
    steps: tuple[int | str, ...]
    type: Type

    @property
    def index(self) -> int | None:
        """The only index among the steps."""
        found = [each for each in self.steps if isinstance(each, int)]
        return found[0] if len(found) == 1 else None


def _parts(cls: ClassType) -> Iterator[Part]:
    for name, type in cls.fields.items():
        yield from _parts_of(name, (), (), type)


def _parts_of(
    name: str, components: tuple[Component, ...], steps: tuple[int | str, ...], type: Type
) -> Iterator[Part]:
    item, shape = array_form(type)
    if shape:
        for number, inner in enumerate(_steps(type)):
            yield from _parts_of(name, (*components, number), (*steps, *inner), item)
    elif isinstance(type, ValueType):
        for member, inner_type in type.fields.items():
            yield from _parts_of(name, (*components, member), (*steps, member), inner_type)
    else:
        yield Part(name, components, steps, type)


def _steps(type: Type) -> Iterator[tuple[int | str, ...]]:
    """What leads to each item of an array, a vector or a matrix, in their order."""
    parts: list[tuple[int | str, Type]] = []
    if isinstance(type, InlineType):
        parts = [(number, type.item) for number in range(type.shape[0])]
    elif isinstance(type, ValueType) and type.shape:
        parts = list(type.fields.items())
    for step, inner in parts:
        for rest in _steps(inner):
            yield (step, *rest)
    if not parts:
        yield ()


def _lvalue(object: tree.Expression, index: tree.Expression, part: Part) -> tree.Place:
    found: tree.Place = trees.field_of(object, part.name)
    for component in part.steps:
        if isinstance(component, int):
            assert isinstance(found.type, InlineType)
            at = trees.const(component) if part.index is None else index
            found = tree.InlinePlace(found.type.item, trees.HERE, found, at, False)
        else:
            assert isinstance(found.type, ValueType)
            type = found.type.fields[component]
            found = tree.MemberPlace(type, trees.HERE, found, component)
    return found


#: No byte of what is stored is like those that there were before.
_BEFORE, _STORES = 0x5A, 0xA5


def _stored(dtype: np.dtype[Any]) -> Any:
    bytes = np.full(dtype.itemsize, _STORES, np.uint8)
    return np.ones((), bool)[()] if dtype.kind == "b" else bytes.view(dtype)[0]


class Stores:
    """Generated code that writes any part of an object."""

    def __init__(self, cls: ClassType, parts: list[Part], layout: Layout, encoding: Any) -> None:
        self._parts = parts
        object, which, index = (
            trees.variable("object", ReferenceType(cls)),
            trees.variable("which"),
            trees.variable("index"),
        )
        kinds = {part.type for part in parts}
        given = {type: trees.variable(f"given{k}", type) for k, type in enumerate(kinds)}
        body = [
            trees.when(
                trees.compare("eq", trees.use(which), trees.const(number)),
                [
                    trees.store(
                        _lvalue(trees.use(object), trees.use(index), part),
                        trees.use(given[part.type]),
                    )
                ],
            )
            for number, part in enumerate(parts)
        ]
        parameters = [object, which, index, *given.values()]
        program = trees.program(parameters, list(body))
        self._kernel = Kernel(program, layout=layout, encoding=encoding, gpus=())
        self._given = [_stored(leaf.dtype) for leaf in self._kernel.lowered.leaves[3:]]

    def write(self, reference: int, part: Part) -> None:
        number = self._parts.index(part)
        self._kernel.launch(1, reference, number, part.index or 0, *self._given)


class Changes:
    """Which bytes of the memory of some objects are written."""

    def __init__(self, size: int) -> None:
        raw = np.full(size + 128, _BEFORE, np.uint8)
        start = -raw.ctypes.data % 128
        self.memory = raw[start : start + size]
        self.address = self.memory.ctypes.data

    def take(self) -> set[int]:
        """The addresses of those that were written since the last time."""
        found = np.flatnonzero(self.memory != _BEFORE)
        self.memory[found] = _BEFORE
        return set((self.address + found).tolist())


def _bytes(address: int, size: int) -> set[int]:
    return set(range(address, address + size))


@settings(max_examples=40)
@given(
    data=st.data(),
    levels=_HIERARCHIES,
    slots=st.sets(st.integers(0, 2 * LANES - 1), min_size=1, max_size=3),
    is_narrow=st.booleans(),
)
def test_all_find_the_same_address(
    data: st.DataObject, levels: list[list[Type]], slots: set[int], is_narrow: bool
) -> None:
    encoding: Any = NarrowReference() if is_narrow else PlainReference()
    chain = _classes(levels)
    layout = data.draw(_layouts(chain, encoding))
    cls, owner = chain[-1], data.draw(st.sampled_from(chain))
    arrangement, record = layout.arrangement(cls), layout.record(cls)
    changes = Changes(2 * LANES * record.size)
    if is_narrow:
        encoding.base = changes.address - NULL_REACH & -BASE_ALIGNMENT
    # By what the base declares, objects of the subclass are reached, too.
    parts = list(_parts(owner))
    stores = Stores(owner, parts, layout, encoding)
    chosen = np.array(sorted(slots), np.int64)
    objects = arrangement.addresses(changes.address, chosen)
    taken: set[int] = set()
    for part in parts:
        offset, dtype = record.part(part.name, part.components)
        addressing = layout.addressing(owner, part.name)
        view = arrangement.field(changes.memory, part.name, part.components)
        start, inner = record.offsets[part.name], list(scalar_parts(dtype, offset))
        column = Column(changes.address, record.size, offset, dtype, 0, len(chosen), addressing)
        for slot, object in zip(chosen.tolist(), objects.tolist(), strict=True):
            expected: set[int] = set()
            for at, size in inner:
                address = addressing.address(object, at, size)
                (as_array,) = addressing.address(np.array([object], np.uint64), at, size).tolist()
                begun = addressing.begin(object, start) + addressing.scale * (at - start)
                block, lane = divmod(slot, addressing.lanes)
                moved = column.address(at - offset) + block * arrangement.block_bytes
                assert (
                    address
                    == as_array
                    == addressing.address_of_scalar(begun, object, size)
                    == moved + lane * addressing.lane_bytes(size)
                )
                of_object = math.gcd(record.size, changes.address)
                assert address % addressing.multiple(at, size, of_object) == 0 == address % size
                expected |= _bytes(address, size)
            view[slot] = _stored(dtype)
            assert changes.take() == expected, "the view"
            stores.write(int(encoding.encode(object, cls.type_index)), part)
            assert changes.take() == expected, "the code"
            assert not expected & taken
            taken |= expected
    if header := layout.header.size:
        first = min(header, 8)
        headers = arrangement.header(changes.memory, first)
        for slot in slots:
            headers[slot] = _stored(headers.dtype)
        assert not changes.take() & taken
    assert all(changes.address <= each for each in taken)
    assert all(each < changes.address + changes.memory.size for each in taken)


@pytest.mark.parametrize(
    ("addressing", "start", "addresses"),
    [
        (RECORDS, 24, {1: 24, 2: 24, 4: 24, 8: 24}),
        (ROWS, 32 * 24, {1: 768 - 9, 2: 768 - 6, 4: 768, 8: 768 + 12}),
        (Addressing(LANES, Cluster(16, 12)), 31 * 16 + 24, dict.fromkeys((1, 2, 4, 8), 544)),
        (Addressing(LANES, Cluster(24, 2)), 32 * 24, {1: 762, 2: 762}),
        (Addressing(LANES, Cluster(23, 3)), 32 * 23 + 1, {1: 734}),
        (Addressing(LANES, Cluster(22, 6)), 32 * 22 + 2, {1: 712, 2: 712}),
        (Addressing(LANES, Cluster(24, 7)), 32 * 24, {1: 777}),
    ],
)
def test_the_third_object_of_a_block(
    addressing: Addressing, start: int, addresses: dict[int, int]
) -> None:
    """By hand, for byte 24 of the record; distances from the object."""
    object = (1 << 40) + 3 * WORD
    assert addressing.start(24) == start
    found = {size: addressing.address(object, 24, size) - object for size in addresses}
    assert found == addresses


def test_scalars_are_aligned_as_their_object_and_cluster() -> None:
    for type in (i8, i16, f32, f64, weak_int):
        size = type.dtype.itemsize if isinstance(type, ScalarType) else 0
        assert ROWS.multiple(1, size) == size
    assert Addressing(LANES, Cluster(8, 24)).multiple(16, 4) == 8
    assert Addressing(LANES, Cluster(8, 12)).multiple(8, 4) == 4
    assert RECORDS.multiple(24, 4, of_object=16) == 8
