"""Layouts are C's: the same offsets and sizes as ctypes and NumPy compute."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.identify.bits import TAG_LIMIT
from sharedoa import f32, f64, i8, i16
from sharedoa.errors import ClassError
from sharedoa.model.layout import ARRAY_DTYPE, Header, Layout, storage_dtype
from sharedoa.model.object import shared_type
from sharedoa.model.reference import ADDRESS_MASK, PlainReference, TaggedReference
from sharedoa.model.scalars import SCALARS
from sharedoa.model.types import VOID, TupleType

HEADERS = [Header(0, 1), Header(4, 4), Header(8, 8), Header(16, 8)]
C_TYPES: dict[str, Any] = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
}  # fmt: skip

_counter = itertools.count()


@oa.value
class Mixed:
    a: i8
    b: f64
    c: i16


class Target(oa.Object):
    x: f32


class CMixed(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int8), ("b", ctypes.c_double), ("c", ctypes.c_int16))


class CArray(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("length", ctypes.c_int64))


#: annotation, and the C type that it is
FIELD_TYPES: list[tuple[Any, Any]] = [
    *((SCALARS[name], ctype) for name, ctype in C_TYPES.items()),
    (Target, ctypes.c_uint64),
    (Mixed, CMixed),
    (oa.Array[f32], CArray),
    *((oa.inline[SCALARS[name], 3], ctype * 3) for name, ctype in C_TYPES.items()),
    (oa.inline[Mixed, 2], CMixed * 2),
    (oa.inline[Target, 2], ctypes.c_uint64 * 2),
]

hierarchies = st.lists(
    st.lists(st.sampled_from(range(len(FIELD_TYPES))), max_size=5), min_size=1, max_size=4
)


def make_classes(levels: list[list[int]]) -> list[Any]:
    """A chain of classes; each level declares the fields of its list."""
    base: Any = oa.Object
    made = []
    for depth, fields in enumerate(levels):
        annotations = {f"f{depth}_{k}": FIELD_TYPES[n][0] for k, n in enumerate(fields)}
        name = f"Level{next(_counter)}"
        base = type(oa.Object)(name, (base,), {"__annotations__": annotations})
        made.append(base)
    return made


@given(levels=hierarchies, header=st.sampled_from(HEADERS))
def test_records_are_laid_out_as_c_does(levels: list[list[int]], header: Header) -> None:
    layout = Layout("aos", header)
    word: Any = {1: ctypes.c_char, 4: ctypes.c_uint32, 8: ctypes.c_uint64}[header.alignment]
    fields: list[tuple[str, Any]] = [("header", word * (header.size // header.alignment))]
    inherited: dict[str, int] = {}
    for depth, cls in enumerate(make_classes(levels)):
        fields += [(f"f{depth}_{k}", FIELD_TYPES[n][1]) for k, n in enumerate(levels[depth])]
        structure: Any = type("S", (ctypes.Structure,), {"_fields_": fields})
        record = layout.record(shared_type(cls))
        assert record.offsets == {n: getattr(structure, n).offset for n, _ in fields[1:]}
        assert record.size == max(ctypes.sizeof(structure), 8)
        assert record.alignment == ctypes.alignment(structure)
        assert inherited.items() <= record.offsets.items(), "a base's fields stay where they are"
        inherited = record.offsets
        for name, dtype in record.dtypes.items():
            assert dtype.itemsize == getattr(structure, name).size


def test_structs_are_numpys_aligned_structs() -> None:
    struct = Mixed.__sharedoa_value__
    expected = np.dtype([("a", np.int8), ("b", np.float64), ("c", np.int16)], align=True)
    assert storage_dtype(struct) == expected
    assert expected.itemsize == ctypes.sizeof(CMixed)


def test_types_without_storage_are_refused() -> None:
    for type_ in (VOID, TupleType((SCALARS["i32"], SCALARS["f32"]))):
        with pytest.raises(ClassError, match="cannot be stored in memory") as caught:
            storage_dtype(type_)
        assert caught.value.help


def test_an_object_without_fields_has_an_address_of_its_own() -> None:
    (empty,) = make_classes([[]])
    assert Layout("aos", Header(0, 1)).record(shared_type(empty)).size == 8
    assert ARRAY_DTYPE.itemsize == 16


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: str(h.size))
def test_a_field_view_is_the_field_of_every_object(header: Header) -> None:
    class Thing(oa.Object):
        a: i8
        b: f64
        c: oa.inline[i16, 3]
        d: Mixed

    layout, cls = Layout("aos", header), shared_type(Thing)
    record = layout.record(cls)
    memory = np.zeros(5 * record.size, np.uint8)
    views = {name: layout.arrangement(cls).field(memory, name) for name in cls.fields}
    assert views["a"].shape == views["b"].shape == views["d"].shape == (5,)
    assert views["c"].shape == (5, 3)
    views["a"][:] = range(5)
    views["b"][:] = np.arange(5) / 3
    views["c"][:] = np.arange(15).reshape(5, 3)
    views["d"]["c"] = 7
    for k in range(5):
        one = memory[k * record.size :]
        assert one[record.offsets["a"]] == k
        at = record.offsets["b"]
        assert one[at : at + 8].view(np.float64)[0] == k / 3
        at = record.offsets["c"]
        assert one[at : at + 6].view(np.int16).tolist() == [3 * k, 3 * k + 1, 3 * k + 2]
    assert not np.shares_memory(views["a"], views["b"]) and np.shares_memory(views["a"], memory)
    assert views["d"]["c"].tolist() == [7] * 5


@given(address=st.integers(1, 2**47 - 1), type_index=st.one_of(st.integers(1, TAG_LIMIT + 100)))
def test_references_give_their_address_back(address: int, type_index: int) -> None:
    for encoding in (PlainReference(), TaggedReference()):
        reference = encoding.encode(address, type_index)
        assert encoding.address(reference) == address
        many = encoding.encode(np.array([address, address], np.uint64), type_index)
        assert many.dtype == np.uint64 and many.tolist() == [reference] * 2
        assert encoding.address(many).tolist() == [address] * 2
    tagged = TaggedReference().encode(address, type_index)
    assert tagged >> 49 == (type_index if type_index <= 32767 else 0)
    assert tagged & ADDRESS_MASK == address


def test_null_is_zero_in_both_encodings() -> None:
    assert PlainReference().address(0) == TaggedReference().address(0) == 0
