"""What objects, arrays and heaps show at a prompt."""

from __future__ import annotations

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


class Circle(Shape):
    radius: f32

    def area(self) -> f32:
        return self.radius


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
        with oa.capture():  # nobody may look
            assert circles._repr_html_() is None and re.fullmatch(f"{at}>", repr(one))

        assert list(circles.radius[:3]) == [np.float32(0), np.float32(0.1), np.float32(0.2)]
        assert next(iter(circles.place)) == Point(1, 0.1)
        oa.delete(other)
        assert re.fullmatch(r"<Circle at 0x\w+, deleted>", repr(other))
        assert "next=deleted" in repr(one) and "was deleted" in str(circles._repr_html_())


def test_help_says_how_kernels_and_functions_are_called() -> None:
    for thing, lines in (
        (measure, ["measure(shapes: 'oa.Array[Shape]', scale: 'f32' = 2.0)", "Measures them."]),
        (larger, ["larger(a: 'f32', b: 'f32') -> 'f32'", "The larger one."]),
    ):
        text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
        assert all(line in text for line in lines), text
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
        f"shell.run_cell({PROGRAM!r})\n"
        "shell.run_cell('main()')\n"
    )
    found = run(cells, tmp_path)
    assert "CompileError" in found and "----> 1 main()" in found and "launch" not in found
