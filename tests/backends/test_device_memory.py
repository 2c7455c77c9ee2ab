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
    driver.forget()
    copies.release(0x7000, 4 * GIB)
    assert device.managed_bytes == 2 * GIB
    names = [name for name, _ in driver.calls]
    assert names.index("cuStreamQuery") < names.index("cuMemFree")
    device._loss = "in a test"
    driver.forget()
    copies.release(0x7000, 2 * GIB)
    assert device.managed_bytes == 0 and not driver.calls


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
