"""What of a device is NVIDIA's, through ``cuda.bindings.driver``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..once import once
from .cuda_driver import cuda_version, error_words, load_driver
from .gpu_device import Description, GpuDevice, told

_CUDA_VERSION = 12000
_CAPABILITY = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"


@once
def cuda_device(ordinal: int) -> CudaDevice:
    """Opened at first use; raises BackendError where CUDA does not work, or has fewer devices."""
    return CudaDevice(ordinal)


def cuda_devices() -> list[Description]:
    """All that the process sees, by their ordinals; opens none."""
    driver = load_driver()
    return [CudaDevice.describe(driver, number) for number in range(CudaDevice.count(driver))]


class CudaDevice(GpuDevice):
    """A device by its primary context, which other libraries use, too."""

    kind, vendor, prefix = "cuda", "NVIDIA", "cu"
    visible = "CUDA_VISIBLE_DEVICES"
    diagnosis = "check the driver's log with `dmesg` and `nvidia-smi`"
    constants: ClassVar[Mapping[str, str]] = {
        "error": "CUresult",
        "stack": "CUlimit.CU_LIMIT_STACK_SIZE",
        "malloc heap": "CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE",
        "function attribute": "CUfunction_attribute",
        "relaxed": "CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED",
    }
    out_of_memory = "CUDA_ERROR_OUT_OF_MEMORY"
    illegal_address = "CUDA_ERROR_ILLEGAL_ADDRESS"
    #: Also in other and in new contexts of the device: so measured with driver 580, after
    #: destroying all of them, too.
    sticky = frozenset(
        {
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "CUDA_ERROR_LAUNCH_TIMEOUT",
            "CUDA_ERROR_CONTEXT_IS_DESTROYED",
            "CUDA_ERROR_ASSERT",
            "CUDA_ERROR_HARDWARE_STACK_ERROR",
            "CUDA_ERROR_ILLEGAL_INSTRUCTION",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
            "CUDA_ERROR_INVALID_ADDRESS_SPACE",
            "CUDA_ERROR_INVALID_PC",
            "CUDA_ERROR_LAUNCH_FAILED",
            "CUDA_ERROR_ECC_UNCORRECTABLE",
        }
    )

    def __init__(self, ordinal: int = 0, driver: Any = None) -> None:
        """``driver`` takes the place of NVIDIA's; it answers like ``cuda.bindings.driver``."""
        super().__init__(ordinal, driver or load_driver())

    @staticmethod
    def count(driver: Any) -> int:
        return int(told(driver.cuDeviceGetCount()))

    @classmethod
    def describe(cls, driver: Any, ordinal: int) -> Description:
        device = told(driver.cuDeviceGet(ordinal))
        name = told(driver.cuDeviceGetName(256, device)).split(b"\0")[0].decode()

        def attribute(name: str) -> int:
            key = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(told(driver.cuDeviceGetAttribute(key, device)))

        missing = None
        if not attribute("MANAGED_MEMORY"):
            missing = (
                f"{name} has no managed memory, which objects shared by CPU and GPU live in",
                "use a card and driver with unified memory, or SHAREDOA_BACKEND=cpu",
            )
        elif not attribute("CONCURRENT_MANAGED_ACCESS"):
            missing = (
                f"{name} has managed memory that the CPU cannot use while a kernel runs, nor can "
                "it be moved ahead of its use (CONCURRENT_MANAGED_ACCESS is 0); so it is under "
                "Windows, in WSL and on some virtual GPUs",
                "use Linux on the machine itself, a virtual GPU with unified memory enabled, or "
                "SHAREDOA_BACKEND=cpu",
            )
        return Description(
            name,
            "sm_{}{}".format(*map(attribute, _CAPABILITY)),
            multiprocessors := attribute("MULTIPROCESSOR_COUNT"),
            multiprocessors * attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            int(told(driver.cuDeviceTotalMem(device))),
            missing,
        )

    def open(self) -> None:
        self.device = self.checked(self.driver.cuDeviceGet(self.ordinal), "cuDeviceGet")
        answer = self.driver.cuDevicePrimaryCtxRetain(self.device)
        self.context = self.checked(answer, f"opening {self.label}")

    def set_current(self) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.driver.cuCtxSetCurrent(self.context)
        return answer

    def words(self, error: Any) -> str:
        return error_words(self.driver, error)

    def entry_point(self, name: str) -> int:
        address, _ = self.call("GetProcAddress", self._name(name).encode(), _CUDA_VERSION, 0)
        return int(address)

    @property
    def driver_version(self) -> str:
        """The newest CUDA that the driver supports, such as 13.0."""
        return cuda_version(self.driver)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        driver, kinds = self.driver, self.driver.CUmemLocationType
        location = driver.CUmemLocation()
        location.type = (
            kinds.CU_MEM_LOCATION_TYPE_DEVICE if to_device else kinds.CU_MEM_LOCATION_TYPE_HOST
        )
        location.id = int(self.device) if to_device else 0
        # Bindings 12 call the function that takes a location _v2; bindings 13 have no other.
        name = "MemPrefetchAsync"
        name = f"{name}_v2" if hasattr(driver, f"cu{name}_v2") else name
        self.call(name, address, size, location, 0, self.stream)
