"""What one launch costs the host: a kernel with two arrays and two scalars, from Python.

Beside it, in the same run, the bare call that it ends in, with arguments packed beforehand:
``cuLaunchKernel`` through cuda-python on a GPU, the compiled function through cffi on a CPU. A
captured step is eight such kernels, its times those of one kernel of it; "until all have ended"
counts the kernels' own time, too. The last rows launch on a CUDA backend whose driver does nothing,
which measures the same on any machine.

Expected before running: on a GPU 4.5 us in the median beside 3 us bare, and a 99th percentile of
two to three times the median (Python's garbage collector, a full queue); a kernel of a captured
step under 3 us, most of which is the device's. Python floats and ints cost about as much as NumPy
scalars. On a CPU 2 to 5 us beside 1 us bare, with one thread a launch. Over a stub driver at most
5 us.

The first launches of a vectorised call on a population are timed over the stub driver, too, on new
heaps, in a layout that is found by looking at the first launch and the sixteenth: 2 ms at most for
a look, beside which launches 2 to 15 cost at most 2 us more than the hundredth.

Found on an H200's host before launches were prepared (bench/results, 2026-11-21): 6.0 to 6.3 us
beside 2.9 us bare, 99th percentile 10 us.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from bench.stub_driver import stub_backend
from sharedoa import f32, i32

THREADS = 256
#: The device's queue holds about a thousand launches; waiting in between keeps it from filling.
_BURST = 200
_WARM_UP = 50
STEP_KERNELS = 8


#: Heaps, and launches on each, that are counted from 1.
_HEAPS, _FIRST_LAUNCHES = 8, 100
_POPULATION = 100_000


class Cell(oa.Object):
    a: f32
    b: f32
    c: f32

    def step(self) -> None:
        self.a += self.b * f32(0.5)


@oa.kernel
def scale(source: oa.Array[f32], target: oa.Array[f32], factor: f32, offset: i32) -> None:
    i = oa.grid(1)
    if i < len(target):
        target[i] = source[i] * factor + f32(offset)


def run(options: Options) -> Result:
    """Time each launch by itself with the host's clock; the device is not waited for."""
    count = 10_000 if options.full else 500
    with oa.Heap(backend=options.backend) as heap:
        source = oa.array(f32, np.arange(THREADS, dtype=np.float32))
        target = oa.zeros(THREADS, f32)
        settings = {"launches": count, "threads": THREADS, "step_kernels": STEP_KERNELS}
        result = Result("launch-cost", heap.backend.name, settings)
        step = _captured(source, target)
        expected = source.numpy() * np.float32(2.0) + np.float32(1)
        kinds: dict[str, tuple[Callable[[], None], int]] = {
            "sharedoa, NumPy scalars": (_launch(source, target, np.float32(2.0), np.int32(1)), 1),
            "sharedoa, Python numbers": (_launch(source, target, 2.0, 1), 1),
            "sharedoa, kernel[n] each time": (lambda: scale[THREADS](source, target, 2.0, 1), 1),
            "sharedoa, captured step": (step.run, STEP_KERNELS),
            "bare": (_bare(heap, source, target), 1),
        }
        for name, (launch, kernels) in kinds.items():
            for suffix, time in (("", _time), (", until all have ended", _time_until_ended)):
                target.numpy()[:] = 0
                _add(result, f"{name}{suffix}", time(launch, heap, count, kernels))
                if not np.array_equal(target.numpy(), expected):
                    raise AssertionError(f"{name} computed something wrong")
    _over_stub_driver(result, count)
    _first_launches(result)
    show(
        "Launch of a kernel with 4 arguments, time of one kernel",
        ("launch", "us", "99th percentile us"),
        [
            (row["launch"], row["median"] * MICROSECONDS, row["percentile_99"] * MICROSECONDS)
            for row in result.rows
        ],
    )
    return result


def _over_stub_driver(result: Result, count: int) -> None:
    """The way through sharedoa alone; nothing runs, so there is no result to check."""
    with oa.Heap(backend=stub_backend()) as heap:
        source, target = oa.zeros(THREADS, f32), oa.zeros(THREADS, f32)
        launch = _launch(source, target, 2.0, 1)
        _add(result, "sharedoa over a stub driver", _time(launch, heap, count, 1))
        step = _captured(source, target).run
        name = "sharedoa, captured step over a stub driver"
        _add(result, name, _time(step, heap, count, STEP_KERNELS))


def _first_launches(result: Result) -> None:
    """Of one method on new heaps; the code is there after the first of them."""
    backend, times = stub_backend(), []
    for _ in range(_HEAPS + 1):
        with oa.Heap(backend=backend, mode="auto", layout="auto", capacity="1GiB") as heap:
            heap.new(Cell, _POPULATION)
            times.append([_timed(oa.all(Cell).step) for _ in range(_FIRST_LAUNCHES)])
    compiled = times[1:]
    _add(result, "population, launch 1, with the compiler", times[0][:1])
    for name, first, last in (("1", 1, 1), ("2 to 15", 2, 15), ("16", 16, 16), ("100", 100, 100)):
        found = [each for launches in compiled for each in launches[first - 1 : last]]
        _add(result, f"population, launch {name}", found)


def _timed(launch: Callable[[], Any]) -> float:
    begun = perf_counter()
    launch()
    return perf_counter() - begun


def _add(result: Result, name: str, samples: list[float]) -> None:
    tail = float(np.percentile(samples, 99))
    result.rows.append({"launch": name, **summary(samples), "percentile_99": tail})


def _launch(*arguments: Any) -> Callable[[], None]:
    launcher = scale[THREADS]

    def launch() -> None:
        launcher(*arguments)

    return launch


def _captured(source: oa.Array, target: oa.Array) -> oa.Capture:
    with oa.capture() as step:
        for _ in range(STEP_KERNELS):
            scale[THREADS](source, target, 2.0, 1)
    return step


def _time(launch: Callable[[], None], heap: oa.Heap, count: int, kernels: int) -> list[float]:
    """Seconds of the host for each kernel of ``launch``, ``count`` samples."""
    for _ in range(_WARM_UP):
        launch()
    samples: list[float] = []
    while len(samples) < count:
        heap.synchronize()
        for _ in range(min(_BURST // kernels, count - len(samples))):
            begun = perf_counter()
            launch()
            samples.append((perf_counter() - begun) / kernels)
    heap.synchronize()
    return samples


def _time_until_ended(
    launch: Callable[[], None], heap: oa.Heap, count: int, kernels: int
) -> list[float]:
    """Seconds for each kernel of a burst of ``launch``, with the wait for them."""
    launch()
    samples: list[float] = []
    bursts = _BURST // kernels
    for _ in range(max(1, count // _BURST)):
        heap.synchronize()
        begun = perf_counter()
        for _ in range(bursts):
            launch()
        heap.synchronize()
        samples.append((perf_counter() - begun) / (bursts * kernels))
    return samples


def _leaves(source: oa.Array, target: oa.Array) -> ctypes.Array[ctypes.c_uint64]:
    """The slots of ``scale``'s entry: two arrays, two scalars, and the two grid sizes."""
    packed = struct.pack(
        "<QqQqf4xi4xqq",
        source.__array_interface__["data"][0],
        len(source),
        target.__array_interface__["data"][0],
        len(target),
        2.0,
        1,
        THREADS,
        1,
    )
    return (ctypes.c_uint64 * (len(packed) // 8)).from_buffer_copy(packed)


def _bare(heap: oa.Heap, source: oa.Array, target: oa.Array) -> Callable[[], None]:
    slots = _leaves(source, target)
    return _bare_cuda(heap, slots) if heap.backend.name == "cuda" else _bare_cpu(slots)


def _bare_cuda(heap: oa.Heap, slots: ctypes.Array[ctypes.c_uint64]) -> Callable[[], None]:
    ptx = str(scale.asm["ptx"])
    found = re.search(r"\.visible \.entry ([\w$.]+)\(", ptx)
    assert found is not None
    device: Any = heap.backend.device
    image = ctypes.create_string_buffer(ptx.encode())
    module = device.call("ModuleLoadData", ctypes.addressof(image))
    function = device.call("ModuleGetFunction", module, found[1].encode())
    base = ctypes.addressof(slots)
    pointers = (ctypes.c_uint64 * len(slots))(*(base + 8 * n for n in range(len(slots))))
    address, stream = ctypes.addressof(pointers), device.stream
    call = device.function("LaunchKernel")
    keep_alive = module, slots, pointers

    def launch(_: Any = keep_alive) -> None:
        call(function, 1, 1, 1, THREADS, 1, 1, 0, stream, address, 0)

    return launch


def _bare_cpu(slots: ctypes.Array[ctypes.c_uint64]) -> Callable[[], None]:
    from sharedoa.backends.native_code import NativeLibrary, ffi

    compilation = scale.compile("host")
    symbol = compilation.lowered.kernel_symbol
    code = compilation.products["o"]
    assert isinstance(code, bytes)
    library = NativeLibrary(code, (symbol,), {})
    entry = library.function(symbol, "void(*)(int64_t, int64_t, int64_t, int64_t, void *)")
    pointer = ffi.cast("void *", ctypes.addressof(slots))
    keep_alive = library, slots

    def launch(_: Any = keep_alive) -> None:
        entry(0, THREADS, THREADS, 1, pointer)

    return launch


if __name__ == "__main__":
    main(run, __doc__)
