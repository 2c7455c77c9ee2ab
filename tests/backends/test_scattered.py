"""Objects placed one by one: made, read, written and given back through kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sharedoa.backends import Backend
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.scattered_kernels import FREE
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


class InterruptedBackend(CpuBackend):
    """Does ``interruption`` once, when a kernel has run and its results are still to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.interruption: Callable[[], None] | None = None
        self.freed = 0

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        start = super().prepare(launch)

        def counting() -> None:
            start()
            if launch.handle is self._scattered._kernels.load(FREE)[0]:
                self.freed += launch.threads[0]

        return counting

    def synchronize(self) -> None:
        interruption, self.interruption = self.interruption, None
        if interruption is not None:
            interruption()


@pytest.fixture
def interrupted() -> Iterator[InterruptedBackend]:
    opened = InterruptedBackend()
    yield opened
    opened.close()


def numbered(backend: Backend, numbers: range) -> np.ndarray:
    """Objects of 8 bytes, each with its number."""
    addresses = backend.allocate_scattered(len(numbers), 8, b"")
    data = np.array(numbers, np.uint64)
    backend.scatter(addresses, 0, data.view(np.uint8).reshape(-1, 8))
    return addresses


def numbers_of(backend: Backend, addresses: np.ndarray) -> list[int]:
    found: list[int] = backend.gather(addresses, 0, 8).view(np.uint64).reshape(-1).tolist()
    return found


def test_threads_do_not_read_into_each_others_results(interrupted: InterruptedBackend):
    mine, others = numbered(interrupted, range(10)), numbered(interrupted, range(100, 200))
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(numbers_of(interrupted, others)))

    def let_the_other_try() -> None:
        thread.start()
        thread.join(0.1)

    interrupted.interruption = let_the_other_try
    assert numbers_of(interrupted, mine) == list(range(10))
    thread.join()
    assert found == list(range(100, 200))


def test_a_finalizer_in_an_operation_frees_after_it(interrupted: InterruptedBackend):
    """The collector runs anywhere, and with it what gives the objects of a heap back."""
    mine, dropped = numbered(interrupted, range(10)), numbered(interrupted, range(100, 200))
    freed_within = []

    def collect() -> None:
        interrupted.free_scattered(dropped)
        freed_within.append(interrupted.freed)

    interrupted.interruption = collect
    assert numbers_of(interrupted, mine) == list(range(10))
    assert freed_within == [0]
    assert interrupted.freed == 100
    interrupted.free_scattered(mine)
    assert interrupted.freed == 110


def test_what_a_thread_frees_in_the_operation_of_another_is_freed(interrupted: InterruptedBackend):
    mine, dropped = numbered(interrupted, range(10)), numbered(interrupted, range(100, 200))

    def free_in_a_thread() -> None:
        thread = threading.Thread(target=lambda: interrupted.free_scattered(dropped))
        thread.start()
        thread.join()

    interrupted.interruption = free_in_a_thread
    assert numbers_of(interrupted, mine) == list(range(10))
    assert interrupted.freed == 100
