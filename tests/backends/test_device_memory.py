"""Memory of the card for copies: what the driver is asked for. It only pretends."""

from __future__ import annotations

import pytest

from sharedoa.backends import cuda_device
from sharedoa.backends.cuda import CudaBackend
from sharedoa.errors import BackendError

from .pretend_driver import GIB, PretendDriver

bindings = pytest.importorskip("cuda.bindings.driver")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    pretended = PretendDriver()
    pretended.answers["cuMemAlloc"] = 0x7000
    monkeypatch.setattr(cuda_device, "load_driver", lambda: pretended)
    cuda_device.cuda_device.cache_clear()
    yield pretended
    cuda_device.cuda_device.cache_clear()


def test_half_of_what_is_free(driver: PretendDriver) -> None:
    backend = CudaBackend()
    copies, device = backend.copies, backend.device
    assert copies.reserve(4 * GIB) == 0x7000 and device.managed_bytes == 4 * GIB
    assert copies.reserve(2 * GIB + 1) is None and copies.reserve(2 * GIB) is not None
    assert driver.called("cuMemAlloc") == [(4 * GIB,), (2 * GIB,)]
    copies.release(0x7000, 4 * GIB)
    assert device.managed_bytes == 2 * GIB and device.free_managed() == 6 * GIB
    # As much again would now be more than half of what is free.
    assert copies.reserve(4 * GIB) is None
    driver.forget()
    assert copies.has_room(3 * GIB) and not copies.has_room(3 * GIB + 1)
    assert not driver.calls  # which takes long


def test_what_is_given_back_is_given_again(driver: PretendDriver) -> None:
    """Without a word to the driver, and in whatever backend of the device."""
    copies, device = CudaBackend().copies, CudaBackend().device
    driver.answers["cuMemAlloc"] = 0x7000
    assert copies.reserve(5000) == 0x7000
    driver.answers["cuMemAlloc"] = 0x9000
    copies.release(0x7000, 5000)
    driver.forget()
    assert CudaBackend().copies.reserve(4999) == 0x7000  # and what is about as large
    assert not driver.called("cuMemAlloc") and not driver.called("cuMemFree")
    assert copies.reserve(5000) == 0x9000
    assert copies.reserve(9000) == 0x9000  # of another size
    assert device.managed_bytes == 5120 + 5120 + 9216


def test_what_is_kept_makes_room(driver: PretendDriver) -> None:
    copies, device = CudaBackend().copies, CudaBackend().device
    assert copies.reserve(3 * GIB) == 0x7000
    copies.release(0x7000, 3 * GIB)
    driver.forget()
    device.reserve_managed(5 * GIB)
    assert not driver.called("cuMemFree")
    device.reserve_managed(2 * GIB)
    names = [name for name, _ in driver.calls]
    assert driver.called("cuMemFree") == [(0x7000,)]
    assert names.index("cuStreamQuery") < names.index("cuMemFree")
    assert device.managed_bytes == 7 * GIB and copies.kept_bytes == 0


def test_little_of_no_use_is_kept(driver: PretendDriver) -> None:
    copies = CudaBackend().copies
    for size in (GIB + 1, GIB):
        copies.release(copies.reserve(size), size)
    assert not driver.called("cuMemFree")
    copies.reserve(1000)  # a quarter of the card is kept, and none of it is as large
    assert len(driver.called("cuMemFree")) == 2 and copies.kept_bytes == 0


def test_memory_of_a_lost_device(driver: PretendDriver) -> None:
    copies, device = CudaBackend().copies, CudaBackend().device
    assert copies.reserve(2 * GIB) == 0x7000
    device._loss = "in a test"
    driver.forget()
    copies.release(0x7000, 2 * GIB)
    copies.let_go()
    assert device.managed_bytes == 0 and copies.kept_bytes == 0 and not driver.calls


def test_copies_go_through_the_stream(driver: PretendDriver) -> None:
    backend = CudaBackend()
    backend.copies.copy(0x1000, 0x2000, 300)
    backend.device.stream = 0x9
    backend.copies.copy(0x2000, 0x1000, 300)
    first, then = driver.called("cuMemcpyDtoDAsync")
    assert first[:3] == (0x1000, 0x2000, 300) and then == (0x2000, 0x1000, 300, 0x9)


def test_a_card_that_has_no_more(driver: PretendDriver) -> None:
    copies, device = CudaBackend().copies, CudaBackend().device
    driver.failures["cuMemAlloc"] = bindings.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    assert copies.reserve(GIB) is None and device.managed_bytes == 0
    driver.failures["cuMemAlloc"] = bindings.CUresult.CUDA_ERROR_NOT_SUPPORTED
    with pytest.raises(BackendError, match="NOT_SUPPORTED"):
        copies.reserve(GIB)
    assert device.managed_bytes == 0
