"""Launches up to the driver: names, sizes, arguments. A pretended GPU notes what reaches it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import cxx
from sharedoa.backends.base import KernelLaunch
from sharedoa.backends.cpu import CpuBackend

from .sources import SCALE, SHAPES, shape_classes


class PretendedGpu(CpuBackend):
    """Memory of the host, and a record of modules, states and launches."""

    name = "cuda"

    def __init__(self) -> None:
        super().__init__()
        self.modules: list[str] = []
        self.states: list[tuple[int, list[int]]] = []
        self.launches: list[SimpleNamespace] = []

    def load_module(self, ptx: str, recursive: bool, compiler: str) -> int:
        self.modules.append(ptx)
        return len(self.modules)

    def read_global(self, module: int, symbol: str) -> bytes:
        assert symbol == "sharedoa_vtables"
        return struct.pack("<3Q", *(0x1000 * module + 0x100 * k for k in range(3)))

    def kernel(self, module: int, symbol: str, words: tuple[int, ...], name: str) -> Any:
        return SimpleNamespace(module=module, symbol=symbol, words=words, name=name)

    def set_module_state(self, module: int, state: list[int]) -> None:
        self.states.append((module, list(state)))

    def prepare(self, launch: KernelLaunch) -> Callable[[], None]:
        def start() -> None:
            noted = SimpleNamespace(
                kernel=launch.handle,
                threads=launch.threads,
                block=launch.block,
                slots=bytes(launch.slots),
            )
            self.launches.append(noted)

        return start


@pytest.fixture
def gpu() -> PretendedGpu:
    return PretendedGpu()


def words(launch: SimpleNamespace) -> list[int]:
    return list(struct.unpack(f"<{len(launch.slots) // 8}Q", launch.slots))


def test_names(shapes: cxx.Program):
    assert set(shapes.kernels) == {
        "total", "grow_all", "_Z8grow_allPP5Shapefi", "grow_one", "numbers", "plane",
    }  # fmt: skip
    assert shapes.kernels["grow_all"] is shapes.kernels["_Z8grow_allPP5Shapefi"]
    with pytest.raises(oa.ArgumentError, match="no kernel 'totals'") as caught:
        shapes.kernels["totals"]
    assert "total, grow_all" in caught.value.help
    assert "totals" not in shapes.kernels
    assert shapes.kernels.get("totals") is None
    with pytest.raises(oa.ArgumentError, match="no class 'Circle'"):
        shapes.classes["Circle"]
    overloaded = cxx.compile(
        "namespace a { __global__ void f(int) {} __global__ void f(float) {}\n"
        "__global__ void g() {} template <class T> __global__ void h(T) {}\n"
        "template __global__ void h(int); }"
    )
    assert set(overloaded.kernels) == {
        "_ZN1a1fEi", "_ZN1a1fEf", "a::g", "_ZN1a1gEv", "_ZN1a1hIiEEvT_",
    }  # fmt: skip


def test_without_a_gpu(shapes: cxx.Program, host_heap: oa.Heap):
    squares, out = oa.new(shapes.classes["Square"], 3), oa.zeros(3, oa.f32)
    with pytest.raises(oa.BackendError, match="the heap's backend is cpu") as caught:
        shapes.kernels["total"][3](squares, out, 3)
    assert "SHAREDOA_BACKEND=cuda" in caught.value.help
    with pytest.raises(oa.ArgumentError, match="without a number of threads"):
        shapes.kernels["total"](squares, out, 3)


def test_headers_hold_the_vtable_of_the_loaded_module(shapes: cxx.Program, mode: str, gpu):
    if mode in ("cuda", "concord"):
        pytest.skip("the pretended device has no allocator")
    order = [cls.name for cls in shapes._rewritten(mode).classes]
    with oa.Heap(mode=mode, backend=gpu, capacity="64MiB") as heap:
        for name in ("Cube", "geo::Circle", "Square"):
            made = oa.new(shapes.classes[name], 5)
            expected = 0x1000 + 0x100 * order.index(name)
            for reference in made.references().tolist():
                header = (np.ctypeslib.ctypes.c_uint64).from_address(
                    heap.encoding.address(reference)
                )
                assert header.value == expected
        assert len(gpu.modules) == 1
        tagged = int(made.references()[0]) >> 49
        index = shapes.classes["Square"].__sharedoa__.type_index
        assert tagged == (index if heap.mode.tagged_references else 0)


def test_launches(shapes: cxx.Program, gpu: PretendedGpu):
    with oa.Heap(mode="bits+switch", backend=gpu, capacity="64MiB") as heap:
        squares, out = oa.new(shapes.classes["Square"], 300), oa.zeros(300, oa.f32)
        shapes.kernels["total"][300](squares, out, 300)
        shapes.kernels["grow_one"][1, 32](squares[7], 2.5)
        first, second = gpu.launches
        assert (first.kernel.symbol, first.kernel.words) == ("total", (0, 1, 2))
        assert words(first) == [squares.address, out.address, 300]
        assert (first.threads, first.block) == ((300, 1), (256, 1))
        by = struct.unpack("<I", struct.pack("<f", 2.5))[0]
        assert words(second) == [squares[7]._reference, by]
        assert second.block == (32, 1)
        assert heap.reference_writes == 2, "C++ may store references anywhere"
        assert len(gpu.states) == len(gpu.modules) == 1
        assert gpu.states[0][1] == heap.launch_state()
        shapes.kernels["total"][0](squares, out, 0)
        assert len(gpu.launches) == 2
        oa.new(shapes.classes["Cube"], 3)
        shapes.kernels["total"][300](squares, out, 300)
        assert len(gpu.states) == 2
        with oa.Heap(mode="bits+switch", backend=gpu, capacity="64MiB"):
            shapes.kernels["grow_one"][1](oa.new(shapes.classes["Square"]), 1)
        shapes.kernels["total"][300](squares, out, 300)
        assert len(gpu.modules) == 1
        assert len(gpu.states) == 4
        assert gpu.states[3] == gpu.states[1]


def test_captures_take_python_kernels_only(shapes: cxx.Program, gpu: PretendedGpu):
    with oa.Heap(mode="bits+switch", backend=gpu, capacity="64MiB"):
        square = oa.new(shapes.classes["Square"])
        with pytest.raises(oa.BackendError, match="records Python kernels only"), oa.capture():
            shapes.kernels["grow_one"][1](square, 2.5)
        assert not gpu.launches


def test_one_module_a_mode(shapes: cxx.Program, gpu: PretendedGpu):
    for mode in ("sharedoa", "coal", "sharedoa"):
        with oa.Heap(mode=mode, backend=gpu, capacity="64MiB"):
            oa.new(shapes.classes["Square"], 1)
    assert len(gpu.modules) == 2


def test_axes_and_blocks(gpu: PretendedGpu):
    program = cxx.compile(
        """
extern "C" __global__ void line(int n) {}
extern "C" __global__ void plane(int *out) { out[threadIdx.y] = 1; }
extern "C" __global__ void __launch_bounds__(64) small(int n) {}
__device__ __noinline__ int row() { return blockIdx.y; }
extern "C" __global__ void deep(int *out) { out[row()] = 1; }
"""
    )
    with oa.Heap(backend=gpu, capacity="64MiB"):
        program.kernels["line"][100, 64](1)
        program.kernels["line"][(100, 3), (8, 2)](1)
        program.kernels["plane"][100, 64](None)
        program.kernels["plane"][(100, 64), (4, 4)](None)
        program.kernels["small"][100](1)
        program.kernels["small"][100, 32](1)
        program.kernels["deep"][(5, 6)](None)
    found = [(launch.threads, launch.block) for launch in gpu.launches]
    assert found == [
        ((100, 1), (64, 1)),
        ((100, 3), (8, 2)),
        ((100, 64), (32, 8)),
        ((100, 64), (4, 4)),
        ((100, 1), (64, 1)),
        ((100, 1), (32, 1)),
        ((5, 6), (32, 8)),
    ]


def packed(program: cxx.Program, kernel: str, *arguments: Any) -> bytes:
    parameters = program.kernels[kernel].parameters
    slots = parameters.new_slots()
    parameters.pack(slots, arguments)
    return bytes(slots)


def test_numbers(shapes: cxx.Program):
    scale = np.array((7, 1.5, 2.5), SCALE)
    given: tuple[Any, ...]
    given = (None, 200, True, -5, 2**32 - 1, -(2**63), 1.5, np.float32(0.25), scale)
    expected = struct.pack("<QB7xB7xh6xI4xqf4xd", 0, 200, 1, -5, 2**32 - 1, -(2**63), 1.5, 0.25)
    assert packed(shapes, "numbers", *given) == expected + scale.tobytes()
    given = (0, np.uint8(255), np.False_, np.int64(5), -1, 2**64 - 1, 3, np.int16(4), scale[()])
    expected = struct.pack("<QB7xB7xh6xi4xQf4xd", 0, 255, 0, 5, -1, 2**64 - 1, 3, 4)
    assert packed(shapes, "numbers", *given) == expected + scale.tobytes()
    assert packed(shapes, "numbers", *given[:-1], scale.tobytes())[-16:] == scale.tobytes()


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 1.5, "takes an array, an object, None or an integer"),
        (0, np.zeros(3), "make an array that kernels can reach"),
        (0, [1, 2], "make an array"),
        (1, 256, "does not fit"),
        (1, -129, "does not fit"),
        (3, 1 << 16, "does not fit"),
        (4, 1.5, "takes an integer"),
        (4, np.float32(1.5), "takes an integer"),
        (4, 1 << 32, "does not fit"),
        (4, None, "takes an integer"),
        (5, 1 << 64, "does not fit"),
        (6, "one", "takes f32"),
        (6, np.complex64(1), "takes f32"),
        (8, b"short", "structure of 16 bytes and is given 5"),
        (8, (1, 2, 3), "takes a structure of 16 bytes"),
    ],
)
def test_wrong_values(shapes: cxx.Program, place: int, value: Any, words: str):
    given: list[Any] = [0, 0, 0, 0, 0, 0, 0.0, 0.0, bytes(16)]
    given[place] = value
    with pytest.raises(oa.ArgumentError) as caught:
        packed(shapes, "numbers", *given)
    assert f"kernel numbers, parameter {place} (." in str(caught.value)
    assert words in str(caught.value)


def test_wrong_numbers_of_arguments(shapes: cxx.Program):
    with pytest.raises(oa.ArgumentError, match="total takes 3 arguments, not 2") as caught:
        packed(shapes, "total", None, None)
    assert ".u64, .u64, .u32" in caught.value.help


def test_numbers_of_unknown_kind():
    """Newer compilers write .b32 and .b64 for every number."""
    text = cxx.compile('extern "C" __global__ void f(int a, long long b, short c) {}').source_ptx
    for old, new in (("u32", "b32"), ("u64", "b64"), ("u16", "b16")):
        text = text.replace(f".param .{old}", f".param .{new}")
    program = cxx.load(text)

    def bits(*given: Any) -> list[int]:
        return list(struct.unpack("<3Q", packed(program, "f", *given)))

    assert bits(1, -1, 2) == [1, 2**64 - 1, 2]
    assert bits(1.0, 1.0, 0) == [0x3F800000, 0x3FF0000000000000, 0]
    assert bits(np.float32(1), np.float64(1), np.float16(1)) == [
        0x3F800000, 0x3FF0000000000000, 0x3C00,
    ]  # fmt: skip
    for wrong in ((np.float64(1), 0, 0), (0, np.float32(1), 0), (0, 0, 1.0)):
        with pytest.raises(oa.ArgumentError, match="takes"):
            bits(*wrong)


def test_objects_of_others(shapes: cxx.Program, host_heap: oa.Heap):
    other = cxx.compile(SHAPES, shape_classes(), name="other.cu")
    squares = oa.new(other.classes["Square"], 3)
    with pytest.raises(oa.ArgumentError, match=r"a class of the program other\.cu"):
        packed(shapes, "total", squares, None, 3)
    with pytest.raises(oa.ArgumentError, match=r"a class of the program other\.cu"):
        packed(shapes, "grow_one", squares[0], 1)

    class Mine(oa.Object):
        x: oa.f32

    with pytest.raises(oa.ArgumentError, match="a class of a Python class"):
        packed(shapes, "grow_one", oa.new(Mine), 1)
    with pytest.raises(oa.ArgumentError, match=r"make one: oa\.concat"):
        packed(shapes, "total", oa.all(shapes.classes["Shape"]), None, 3)


def test_two_heaps(shapes: cxx.Program, host_heap: oa.Heap):
    squares = oa.new(shapes.classes["Square"], 3)
    with oa.Heap(backend="cpu", capacity="64MiB"):
        out = oa.zeros(3, oa.f32)
        with pytest.raises(oa.ArgumentError, match="lie in different heaps"):
            packed(shapes, "total", squares, out, 3)


POINTERS = """
struct Shape { __device__ virtual float area() = 0; };
struct Circle : Shape { float radius; __device__ float area() override { return radius; } };
typedef float number;
namespace geo { __global__ void scale(const number *by, Shape *const *shapes) {} }
extern "C" __global__ void total(Shape **shapes, float *out, double *wide, unsigned *count) {
  *out = shapes[0]->area();
}
extern "C" __global__ void raw(void *bytes, unsigned char *octets, Shape *one, size_t address) {}
__global__ void over(float *out) {}
__global__ void over(int *out) {}
"""


@pytest.mark.parametrize("options", [[], ["-std=c++14"]], ids=" ".join)
def test_what_pointers_point_to(gpu: PretendedGpu, options: list[str]) -> None:
    """PTX does not say it; the program is asked."""
    made = cxx.compile(POINTERS, {"Shape": [], "Circle": [("radius", "f4")]}, options)
    with oa.Heap(backend=gpu, references="64"):
        circles = oa.new(made.classes["Circle"], 4, radius=2.0)
        one, floats, doubles = circles[0], oa.zeros(4, oa.f32), oa.zeros(4, oa.f64)
        ints, unsigned, words = (oa.zeros(4, each) for each in (oa.i32, oa.u32, oa.u64))
        total, raw, scale = (made.kernels[name][1] for name in ("total", "raw", "geo::scale"))
        total(circles, floats, doubles, unsigned)
        total(circles, None, doubles, ints)
        scale(floats, circles)
        for anything in (circles, floats, words, one):
            raw(anything, None, one, 3)
        raw(None, floats, one, one)
        raw(words, words, None, circles)
        made.kernels["_Z4overPf"][1](floats)
        made.kernels["_Z4overPi"][1](floats)  # nobody can say which it is
        for launch, arguments, number in (
            (total, (circles, circles, doubles, ints), 1),
            (total, (circles, one, doubles, ints), 1),
            (total, (circles, floats, floats, ints), 2),
            (total, (circles, floats, doubles, floats), 3),
            (total, (floats, floats, doubles, ints), 0),
            (total, (one, floats, doubles, ints), 0),
            (scale, (circles, circles), 0),
            (scale, (doubles, circles), 0),
            (raw, (None, circles, one, 0), 1),
            (raw, (None, None, circles, 0), 2),
        ):
            with pytest.raises(oa.ArgumentError, match=f"parameter {number} is a"):
                launch(*arguments)
