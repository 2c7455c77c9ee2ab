"""Objects placed one by one: made, read, written and given back through kernels."""

from __future__ import annotations

import numpy as np
import pytest

from sharedoa.backends import Backend
from sharedoa.errors import HeapError


def test_objects_are_apart_zero_and_begin_with_the_header(backend: Backend):
    header = bytes(range(1, 9))
    addresses = backend.allocate_scattered(3000, 40, header)
    assert addresses.dtype == np.uint64
    assert np.diff(np.sort(addresses)).min() >= 40
    content = backend.gather(addresses, 0, 40)
    assert content.shape == (3000, 40)
    assert (content[:, :8] == np.arange(1, 9)).all()
    assert not content[:, 8:].any()
    backend.free_scattered(addresses)


def test_what_is_scattered_is_gathered(backend: Backend):
    addresses = backend.allocate_scattered(1000, 24, b"\1\2\3\4")
    data = np.arange(12_000, dtype=np.uint8).reshape(1000, 12)
    backend.scatter(addresses, 8, data)
    np.testing.assert_array_equal(backend.gather(addresses, 8, 12), data)
    reversed_ones = np.ascontiguousarray(addresses[::-1])
    np.testing.assert_array_equal(backend.gather(reversed_ones, 10, 2), data[::-1, 2:4])
    untouched = backend.gather(addresses, 0, 24)
    assert (untouched[:, :4] == [1, 2, 3, 4]).all()
    assert not untouched[:, 4:8].any()
    assert not untouched[:, 20:].any()
    backend.free_scattered(addresses)


def test_one_object_and_none(backend: Backend):
    none = backend.allocate_scattered(0, 16, b"")
    assert len(none) == 0
    assert backend.gather(none, 0, 8).shape == (0, 8)
    backend.free_scattered(none)
    (address,) = backend.allocate_scattered(1, 16, b"\7")
    assert backend.gather(np.array([address], np.uint64), 0, 1)[0, 0] == 7
    backend.free_scattered(np.array([address], np.uint64))


def test_freed_memory_is_used_again(backend: Backend):
    for _ in range(20):
        backend.free_scattered(backend.allocate_scattered(2000, 4096, b""))
    again = backend.allocate_scattered(2000, 4096, b"")
    backend.free_scattered(again)


def test_no_room_is_an_error_with_the_sizes(backend: Backend):
    with pytest.raises(HeapError, match="of 3 objects of 4,611,686,018,427,387,904 bytes"):
        backend.allocate_scattered(3, 1 << 62, b"")
    backend.free_scattered(backend.allocate_scattered(3, 64, b""))
