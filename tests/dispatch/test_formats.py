"""Memory formats that code, heap and host share."""

from __future__ import annotations

from llvmlite import ir

from dispatch import state
from dispatch.errors import RECORD_DTYPE, REPORT_BYTES, ErrorCode
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.shadow import ACCESS_DTYPE, ENTRIES, ENTRY_BYTES, ENTRY_DTYPE
from dispatch.vtable_record import POINTER_OFFSET, TYPE_INDEX_OFFSET, WORD_BYTES, record_words
from sharedoa.model import reference

from ..ptxpass.machine import verified


def test_error_record_is_128_bytes() -> None:
    assert RECORD_DTYPE.itemsize == 128
    assert RECORD_DTYPE.fields is not None
    offsets = {name: field[1] for name, field in RECORD_DTYPE.fields.items()}
    assert offsets == {
        "flag": 0, "code": 4, "site": 8, "thread_x": 16, "thread_y": 24, "value": 32, "extra": 40,
        "other_site": 48, "other_thread": 56, "launch": 64, "finished": 72,
    }  # fmt: skip
    assert REPORT_BYTES == 64
    assert [code.value for code in ErrorCode] == list(range(1, 17))


def test_vtable_record() -> None:
    words = record_words(type_index=9, entry_base=40, slots=3)
    assert words.itemsize == WORD_BYTES
    assert list(words) == [9, 40, 41, 42]
    assert POINTER_OFFSET + TYPE_INDEX_OFFSET == 0


def test_tags_are_those_of_references() -> None:
    assert reference.TaggedReference().encode(0x1000, TAG_LIMIT) >> TAG_SHIFT == TAG_LIMIT
    assert reference.TaggedReference().encode(0x1000, TAG_LIMIT + 1) >> TAG_SHIFT == 0


def test_state_block_is_made_once_and_is_not_constant() -> None:
    module = ir.Module()
    block = state.state_block(module, 0)
    assert state.state_block(module, 0) is block
    text = str(verified(module))
    assert "@sharedoa_state = global [81 x i64] zeroinitializer" in text


def test_shadow_entries() -> None:
    assert ENTRY_DTYPE.itemsize == ENTRY_BYTES and ACCESS_DTYPE.itemsize == 32
    assert ENTRY_DTYPE.fields is not None
    accesses, offset = ENTRY_DTYPE.fields["accesses"][:2]
    assert offset + accesses.itemsize <= ENTRY_BYTES
    assert ENTRIES & (ENTRIES - 1) == 0
