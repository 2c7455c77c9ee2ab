"""What objects, arrays and heaps show at a prompt."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32


@oa.value
class Point:
    x: f32
    y: f32


class Shape(oa.Object):
    next: Shape
    place: Point
    rates: oa.inline[i32, 8]
    samples: oa.Array[f32]
    on: bool

    def area(self) -> f32: ...

    def grown(self, by: f32, times: i32 = 2) -> f32:
        """Larger."""


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return self.radius

    def grown(self, by: f32, times: i32 = 2) -> f32:
        """Larger."""
        return self.radius + by * times


class Wide(oa.Object):
    a: i32
    b: i32
    c: i32
    d: i32
    e: i32
    f: i32
    g: i32
    h: i32
    i: i32
    j: i32
    k: i32
    m: i32
    n: i32
    o: i32


class Empty(oa.Object):
    pass


class Paired(oa.Object):
    pairs: oa.inline[oa.vec2, 2]


@oa.kernel
def measure(shapes: oa.Array[Shape], scale: f32 = 2.0) -> None:
    """Measures them."""


@oa.func
def larger(a: f32, b: f32) -> f32:
    """The larger one."""
    return max(a, b)


def public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def test_objects_and_arrays() -> None:
    with oa.Heap(mode="auto") as heap:
        circles = oa.new(Circle, 30, radius=np.arange(30) / 10)
        one, other = circles[0], circles[1]
        one.next, one.place, one.samples = other, Point(1, 0.1), oa.zeros(5, f32)
        one.rates = range(8)
        at = r"<Circle at 0x[0-9a-f]+"
        fields = r"place=Point\(x=1.0, y=0.1\), rates=\[0, 1, 2, ..., 5, 6, 7\], "
        rest = r"samples=<Array\[f32\] of 5>, on=False, radius=0.0>"
        assert re.fullmatch(f"{at}: next={at}>, {fields}{rest}", repr(one))
        assert re.fullmatch(r"<Wide at 0x\w+: a=7, b=0, .*, m=0, 2 more>", repr(Wide(a=7)))
        assert re.fullmatch(r"<Empty at 0x\w+>", repr(Empty()))

        assert {"next", "radius", "area", "numpy", "shape"} <= set(public(circles))
        assert {"next", "area"} <= set(public(oa.all(Shape))) and "radius" in public(one)
        assert "placement" not in dir(heap) and {"new", "mode", "stats"} <= set(public(heap))
        assert circles.place._ipython_key_completions_() == ["x", "y"]
        assert "ptx" in measure.asm._ipython_key_completions_()

        table = str(circles._repr_html_())
        assert table.count("<tr>") == 1 + 5 + 1 + 5 and "<th>radius</th>" in table
        assert "<td>29</td><td>Circle</td><td>None</td>" in table and "<td>2.9</td>" in table
        assert str(oa.all(Shape)._repr_html_()).startswith("<div>oa.all(Shape) of 30</div>")
        numbers = str(oa.array(i32, range(3))._repr_html_())
        assert numbers.endswith("<td>2</td><td>2</td></tr></table>")
        assert "<th>y</th>" in str(oa.array(Point, [Point(1, 2)])._repr_html_())
        grid = oa.array(Point, [[Point(1, k) for k in range(15)]] * 2)
        table = str(grid._repr_html_())
        assert "Array[Point, 2] of 2" in table and "<th>11</th><th>...</th>" in table
        assert table.count("<td>Point(x=1.0, y=11.0)</td><td>...</td>") == 2
        assert "<td>None</td>" in str(oa.array(Shape, [[one, None], [other, one]])._repr_html_())
        assert "<td>[[0.0, 0.0], [0.0, 0.0]]</td>" in str(oa.new(Paired, 2).pairs._repr_html_())
        with oa.capture():  # nobody may look
            assert circles._repr_html_() is None and re.fullmatch(f"{at}>", repr(one))

        radii, places = str(circles.radius._repr_html_()), str(circles.place._repr_html_())
        assert radii.startswith("<div>Circle.radius of 30</div>") and radii.count("<tr>") == 12
        assert "<th>y</th>" in places and "<td>0</td><td>1.0</td><td>0.1</td>" in places
        assert "<td>[0, 1, 2, ..., 5, 6, 7]</td>" in str(circles.rates._repr_html_())
        assert "grad of Circle.radius of 30" in str(circles.grad.radius._repr_html_())
        view, some = circles.radius, oa.zeros(3, f32)
        with oa.capture():
            assert grid._repr_html_() is None and view._repr_html_() is None
            assert some._repr_html_() is None
            assert repr(view) == "<FieldView of Circle.radius of 30>"
            assert repr(some) == "<Array[f32] of 3>"
            assert repr(oa.all(Shape)) == "<all 30 Shape>"

        assert list(circles.radius[:3]) == [np.float32(0), np.float32(0.1), np.float32(0.2)]
        assert next(iter(circles.place)) == Point(1, 0.1)
        oa.delete(other)
        assert re.fullmatch(r"<Circle at 0x\w+, deleted>", repr(other))
        assert "next=deleted" in repr(one) and "was deleted" in str(circles._repr_html_())
        gone = r"<FieldView of Circle.radius: element 1: the Circle at 0x\w+ was deleted>"
        assert view._repr_html_() is None and re.fullmatch(gone, repr(view))


def test_help_says_how_kernels_and_functions_are_called() -> None:
    for thing, lines in (
        (measure, ["measure(shapes: 'oa.Array[Shape]', scale: 'f32' = 2.0)", "Measures them."]),
        (larger, ["larger(a: 'f32', b: 'f32') -> 'f32'", "The larger one."]),
    ):
        text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
        assert all(line in text for line in lines), text
    for method in (Shape.area, Circle.area):  # the first is abstract
        assert str(inspect.signature(method)) == "(self) -> 'f32'" and method.__name__ == "area"
    assert Shape.grown.__doc__ == "Larger."
    with oa.Heap():
        circles = oa.new(Circle, 3)
        for several in (circles, oa.all(Shape)):
            found = several.grown
            assert str(inspect.signature(found)) == "(by: 'f32', times: 'i32' = 2) -> 'f32'"
            assert found.__doc__ == "Larger."
        assert repr(circles.grown) == "<Circle.grown of each of <Array[Circle] of 3>>"
        assert repr(oa.all(Shape).grown) == "<Shape.grown of each of <all 3 Shape>>"
    assert repr(oa.Array[Shape]) == "Array[Shape]" and repr(oa.inline[f32, 4]) == "inline[f32, 4]"


PROGRAM = """\
import sharedoa as oa
from sharedoa import f32

@oa.kernel
def wrong(numbers: oa.Array[f32]) -> None:
    names = [str(number) for number in numbers]

def main():
    wrong[1](oa.zeros(1, f32))
"""


RIGHT = """\
class Half(oa.Object):
    x: f32
    def twice(self) -> f32:
        return self.x
class Third(Half):
    def twice(self) -> f32:
        return 2.0
@oa.kernel
def right(halves: oa.Array[Half], out: oa.Array[f32]) -> None:
    out[0] = halves[0].twice()
right[1](oa.concat(oa.new(Half, 1), oa.new(Third, 1)), oa.zeros(1, f32))
print(right.explain())
"""
HOOK = """\
import sys
sys.excepthook = lambda *given: print("before") or sys.__excepthook__(*given)
"""
CAUGHT = """\
try:
    main()
except oa.CompileError as error:
    kept = error.__traceback__
while kept.tb_next:
    kept = kept.tb_next
print(kept.tb_frame.f_code.co_filename)
"""


def run(program: str, folder: Path) -> str:
    (folder / "mine.py").write_text(program)
    done = subprocess.run([sys.executable, "mine.py"], cwd=folder, capture_output=True, text=True)
    return done.stderr + done.stdout


def test_a_mistake_in_a_script_is_shown_without_our_frames(tmp_path: Path) -> None:
    found = run(HOOK + PROGRAM + "main()\n", tmp_path)
    assert re.findall(r'File "[^"]*?([\w.]+", line \d+)', found) == [
        'mine.py", line 12',
        'mine.py", line 11',
    ]
    assert "CompileError" in found and "mine.py:8: in wrong" in found and "before" in found
    # What is caught keeps all frames, and other exceptions are shown as ever.
    assert "sharedoa" in run(PROGRAM + CAUGHT, tmp_path)
    assert run(PROGRAM + "wrong.nothing\n", tmp_path).endswith("attribute 'nothing'\n")


@pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed")
def test_a_mistake_in_ipython_is_shown_without_our_frames(tmp_path: Path) -> None:
    cells = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance(colors='nocolor')\n"
        f"shell.run_cell({PROGRAM!r}, store_history=True)\n"
        f"shell.run_cell({RIGHT!r}, store_history=True)\n"
        "shell.run_cell('main()')\n"
    )
    found = run(cells, tmp_path)
    assert "CompileError" in found and "----> 1 main()" in found and "launch" not in found
    # Places are those of cells, as in IPython's own tracebacks.
    assert "CompileError: Cell In[1]:6: in wrong" in found and "[str(number)" in found
    assert re.search(r"Half\.twice +Cell In\[2\]:10 ", found), found


@pytest.mark.slow
@pytest.mark.skipif(find_spec("IPython") is None, reason="IPython is not installed")
def test_completion_in_ipython(tmp_path: Path) -> None:
    definitions = """\
import sharedoa as oa
from sharedoa import f32
class Ball(oa.Object):
    radius: f32
    def roll_on(self) -> None:
        self.radius += 1.0
balls = oa.new(Ball, 3)
ball, everything = balls[0], oa.all(Ball)
"""
    program = f"""\
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors='nocolor')
shell.run_cell({definitions!r})
with provisionalcompleter():
    for who in ("balls", "ball", "everything", "balls.grad"):
        for text in (f"{{who}}.ra", f"{{who}}.ro"):
            found = shell.Completer.completions(text, len(text))
            print(text, *(each.text.lstrip(".") for each in found))
def html(text):
    print(shell.display_formatter.format(eval(text, shell.user_ns))[0].get("text/html"))
html("balls.radius")
shell.run_cell("oa.delete(ball)")
html("balls")
"""
    lines = run(program, tmp_path).splitlines()
    for who in ("balls", "ball", "everything"):
        assert {f"{who}.ra radius", f"{who}.ro roll_on"} <= {*lines}, lines
    assert {"balls.grad.ra radius", "balls.grad.ro"} <= {line.strip() for line in lines}, lines
    assert lines[-2].startswith("<div>Ball.radius of 3</div>") and "was deleted" in lines[-1]
