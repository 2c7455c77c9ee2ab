"""What of a device is AMD's, through ``hip-python``. It has not run on hardware yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..once import once
from .gpu_device import Description, GpuDevice, told
from .hip_driver import load_hip

_CPU = -1
"""hipCpuDeviceId."""


@once
def hip_device(ordinal: int) -> HipDevice:
    """Opened at first use; raises BackendError where HIP does not work, or has fewer devices."""
    return HipDevice(ordinal)


def hip_devices() -> list[Description]:
    """All that the process sees, by their ordinals; opens none."""
    driver = load_hip()
    return [HipDevice.describe(driver, number) for number in range(HipDevice.count(driver))]


def _text(words: Any) -> str:
    """Some versions of the bindings give bytes, others text."""
    return words if isinstance(words, str) else str(words.decode())


class HipDevice(GpuDevice):
    """A device, which HIP opens when a thread makes it current."""

    kind, vendor, prefix = "hip", "AMD", "hip"
    visible = "HIP_VISIBLE_DEVICES"
    diagnosis = "check the driver's log with `dmesg` and `rocm-smi`"
    names: ClassVar[Mapping[str, str]] = {
        "StreamCreate": "StreamCreateWithFlags",
        "EventCreate": "EventCreateWithFlags",
        "LaunchKernel": "ModuleLaunchKernel",
        "GraphInstantiate": "GraphInstantiateWithFlags",
        "MemAllocManaged": "MallocManaged",
        "MemAlloc": "Malloc",
        "MemFree": "Free",
        "MemHostAlloc": "HostMalloc",
        "MemFreeHost": "HostFree",
        "CtxGetLimit": "DeviceGetLimit",
        "CtxSetLimit": "DeviceSetLimit",
    }
    constants: ClassVar[Mapping[str, str]] = {
        "error": "hipError_t",
        "stack": "hipLimit_t.hipLimitStackSize",
        "malloc heap": "hipLimit_t.hipLimitMallocHeapSize",
        "function attribute": "hipFunction_attribute",
        "relaxed": "hipStreamCaptureMode.hipStreamCaptureModeRelaxed",
    }
    out_of_memory = "hipErrorOutOfMemory"
    illegal_address = "hipErrorIllegalAddress"
    sticky = frozenset(
        {
            "hipErrorIllegalAddress",
            "hipErrorIllegalState",
            "hipErrorLaunchTimeOut",
            "hipErrorContextIsDestroyed",
            "hipErrorAssert",
            "hipErrorLaunchFailure",
            "hipErrorECCNotCorrectable",
        }
    )

    def __init__(self, ordinal: int = 0, driver: Any = None) -> None:
        """``driver`` takes the place of AMD's; it answers like ``hip-python``."""
        super().__init__(ordinal, driver or load_hip())

    @staticmethod
    def count(driver: Any) -> int:
        return int(told(driver.hipGetDeviceCount()))

    @classmethod
    def describe(cls, driver: Any, ordinal: int) -> Description:
        found = told(driver.hipGetDeviceProperties(ordinal))
        name, architecture = _text(found.name), _text(found.gcnArchName)

        def attribute(name: str) -> int:
            key = getattr(driver.hipDeviceAttribute_t, f"hipDeviceAttribute{name}")
            return int(told(driver.hipDeviceGetAttribute(key, ordinal)))

        missing = None
        if not (attribute("ManagedMemory") and attribute("ConcurrentManagedAccess")):
            missing = (
                f"{name} has no managed memory that the CPU can use while a kernel runs, which "
                "objects shared by CPU and GPU live in",
                "use a card and a kernel of the system with HMM (and HSA_XNACK=1), or "
                "SHAREDOA_BACKEND=cpu",
            )
        return Description(
            name,
            # After the first colon are features, such as xnack-, which code need not know.
            architecture.partition(":")[0],
            multiprocessors := attribute("MultiprocessorCount"),
            multiprocessors * attribute("MaxThreadsPerMultiProcessor"),
            int(found.totalGlobalMem),
            missing,
        )

    def open(self) -> None:
        """HIP does it."""

    def set_current(self) -> tuple[Any, ...]:
        answer: tuple[Any, ...] = self.driver.hipSetDevice(self.ordinal)
        return answer

    def words(self, error: Any) -> str:
        _, words = self.driver.hipGetErrorString(error)
        return _text(words)

    def entry_point(self, name: str) -> int:
        version = self.call("RuntimeGetVersion")
        address, _ = self.call("GetProcAddress", self._name(name).encode(), version, 0)
        return int(address)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        place = self.ordinal if to_device else _CPU
        self.call("MemPrefetchAsync", address, size, place, self.stream)
