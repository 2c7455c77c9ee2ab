"""``sharedoa_check_reference`` as native code, for both placements."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from dispatch import state
from dispatch.check import ANY_CLASS, CHECK_REFERENCE, REFERENCE_OK, define_check_reference
from dispatch.errors import ErrorCode
from dispatch.mode import Placement
from dispatch.range_table import SegmentTree, encode_stride
from dispatch.registry import PLACE_BYTES, stored_registry

from ..ptxpass.machine import HostCode


class CheckCode:
    def __init__(self, placement: Placement, words: dict[int, int]) -> None:
        module = ir.Module()
        define_check_reference(module, placement, 0, 0).linkage = ""
        self._code = HostCode(module, optimised=True)
        block = self._code.words(state.SYMBOL, state.CLASSES + 1)
        for index, value in words.items():
            block[index] = value
        self._check = self._code.function(
            CHECK_REFERENCE, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32
        )

    def __call__(self, address: int, wanted: int = ANY_CLASS) -> Any:
        return self._check(address, wanted)


def test_by_type() -> None:
    live = np.array([1, 0, 1, 1, 0], np.uint8)
    first, second = 0x1000, 0x1000 + 3 * 24
    bytes_at = live.ctypes.data
    tree = SegmentTree.build(
        [first, second], [second, second + 2 * 40], [5, 6], [24, 40], [bytes_at, bytes_at + 3]
    )
    check = CheckCode(
        "by_type",
        {state.RANGE_TREE: tree.nodes.ctypes.data, state.RANGE_TREE_SIZE: tree.size},
    )
    assert check(0) == ErrorCode.NULL
    starts = [first, first + 24, first + 48, second, second + 40]
    freed = [ErrorCode.FREED if alive == 0 else REFERENCE_OK for alive in live]
    assert [check(address) for address in starts] == freed
    for foreign in (first - 1, first + 1, first + 23, second + 24, second + 80, 1 << 63):
        assert check(foreign) == ErrorCode.FOREIGN


def test_tiles() -> None:
    """Two tiles of objects of 12 bytes: valid are 32 words at the start of each."""
    live = np.ones(64, np.uint8)
    live[[3, 40]] = 0
    first, tile = 0x1000, 32 * 12
    tree = SegmentTree.build(
        [first], [first + 2 * tile], [5], [encode_stride(12, True)], [live.ctypes.data]
    )
    check = CheckCode(
        "by_type",
        {state.RANGE_TREE: tree.nodes.ctypes.data, state.RANGE_TREE_SIZE: tree.size},
    )
    for slot in range(64):
        expected = REFERENCE_OK if live[slot] else ErrorCode.FREED
        assert check(first + slot // 32 * tile + slot % 32 * 4) == expected
    valid = {first + start + 4 * lane for start in (0, tile) for lane in range(32)}
    for address in range(first - 8, first + 2 * tile + 8):
        assert (check(address) == ErrorCode.FOREIGN) == (address not in valid)


def test_by_type_without_any_range() -> None:
    check = CheckCode("by_type", {})
    assert check(0) == ErrorCode.NULL
    assert check(0x1000) == ErrorCode.FOREIGN


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_scattered(count: int) -> None:
    addresses = 0x1000 + 48 * np.arange(count, dtype=np.uint64)
    registry = np.zeros(count * PLACE_BYTES, np.uint8)
    states = (np.arange(count) % 2).astype(np.uint8)
    stored_registry(registry, addresses, np.ones(count, np.uint32), states)
    check = CheckCode(
        "scattered", {state.REGISTRY: registry.ctypes.data, state.REGISTRY_SIZE: count}
    )
    assert check(0) == ErrorCode.NULL
    freed = [REFERENCE_OK if state else ErrorCode.FREED for state in states]
    assert [check(int(address)) for address in addresses] == freed
    for foreign in (1, 0x1000 - 8, 0x1008, 0x1000 + 48 * count, 1 << 63):
        assert check(foreign) == ErrorCode.FOREIGN


#: Classes 3 and 4 extend 1, 5 extends 4; 2 is alone.
BASES = np.array([0, 0, 0, 1, 1, 4], np.uint32)


@pytest.mark.parametrize("placement", ["by_type", "scattered"])
def test_classes(placement: Placement) -> None:
    live = np.ones(1, np.uint8)
    for found in range(1, 6):
        registry = np.zeros(PLACE_BYTES, np.uint8)
        place, types = np.array([0x1000], np.uint64), np.array([found], np.uint32)
        stored_registry(registry, place, types, live)
        tree = SegmentTree.build([0x1000], [0x1010], [found], [16], [live.ctypes.data])
        check = CheckCode(
            placement,
            {
                state.CLASSES: BASES.ctypes.data,
                state.RANGE_TREE: tree.nodes.ctypes.data,
                state.RANGE_TREE_SIZE: tree.size,
                state.REGISTRY: registry.ctypes.data,
                state.REGISTRY_SIZE: 1,
            },
        )
        bases = {found}
        while base := int(BASES[min(bases)]):
            bases.add(base)
        for wanted in range(1, 8):
            expected = REFERENCE_OK if wanted in bases else ErrorCode.WRONG_CLASS
            assert check(0x1000, wanted) == expected
        assert check(0x1000) == REFERENCE_OK
        assert check(0x1004, found) == ErrorCode.FOREIGN
