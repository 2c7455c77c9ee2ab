"""The example of the design, as printed, in every mode on every backend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa

EXAMPLE = """
import numpy as np
import sharedoa as oa
from sharedoa import f32, i32

class Shape(oa.Object):                  # subclassing oa.Object makes a shared type
    def area(self) -> f32: ...           # a body of `...` is abstract

class Circle(Shape):
    radius: f32
    def area(self) -> f32:
        return f32(3.1415927) * self.radius * self.radius

class Square(Shape):
    side: f32
    def area(self) -> f32:
        return self.side * self.side

@oa.kernel
def total_area(shapes: oa.Array[Shape], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(shapes):
        out[i] = shapes[i].area()

circles = oa.new(Circle, 1_000_000, radius=np.random.rand(1_000_000))
squares = oa.new(Square, 1_000_000, side=2.0)     # scalars broadcast
shapes  = oa.concat(circles, squares)             # Array[Shape]: references, common base found
out     = oa.zeros(len(shapes), f32)
total_area[len(shapes)](shapes, out)              # kernel[threads] or kernel[threads, block]
print(out.numpy().sum())                          # reading waits for the launch

areas = shapes.area()            # vectorised method call: one thread an element -> oa.Array
oa.all(Shape).area()             # every live Shape and subclass, region by region, no divergence
circles[0].area()                # the same method, on the CPU, on the same memory
circles[0].radius = 3.0
circles.radius *= 2              # a field of many objects as a NumPy-like view, no copy
"""

#: CPython needs microseconds for what others do in nanoseconds, and there is one malloc an object
#: in the scattered modes.
OBJECTS = {"python": "200", "cpu": "20_000", "cuda": "1_000_000"}


def run_example(folder: Path, objects: str) -> dict[str, object]:
    """Run the text as a file of its own; the result is its globals."""
    file = folder / "example.py"
    file.write_text(EXAMPLE.replace("1_000_000", objects))
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


def check_example(names: dict[str, object], printed: str) -> None:
    circles, squares, out, areas, shape = (
        names[name] for name in ("circles", "squares", "out", "areas", "Shape")
    )
    radii = circles.radius.numpy() / 2
    assert circles[0].radius == 6
    expected = np.float32(3.1415927) * radii * radii
    found = out.numpy()
    # the first circle changed after the kernel had run
    np.testing.assert_array_equal(found[1 : len(circles)], expected[1:])
    np.testing.assert_array_equal(found[len(circles) :], np.full(len(squares), 4, np.float32))
    np.testing.assert_array_equal(areas.numpy(), found)
    assert float(printed) == found.sum()
    assert len(oa.all(shape)) == len(found)
    now = np.float32(3.1415927) * np.float32(6) * np.float32(6)
    assert circles[0].area() == now
    assert oa.all(shape).area().numpy().max() >= now


def test_the_example(heap: oa.Heap, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run_example(tmp_path, OBJECTS[heap.backend.name])
    check_example(names, capsys.readouterr().out)


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_example_as_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str
) -> None:
    with oa.Heap(backend=backend):
        names = run_example(tmp_path, "1_000_000")
        check_example(names, capsys.readouterr().out)
