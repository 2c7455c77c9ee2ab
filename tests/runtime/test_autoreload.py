"""IPython's autoreload changes functions of classes in place, and kernels follow."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32

TEXT = """
from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, f64, i32, i64

LARGE = 1000


class Mixed:
    def mixed(self) -> i32:
        return 0


class Base(Mixed, oa.Object):
    def above(self) -> i32:
        return 0


class Cell(Base):
    x: i32

    def __init__(self, x: i32) -> None:
        self.x = x

    def step(self) -> i32:
        return self.x + self.more + self.twice(self.x)

    @property
    def more(self) -> i32:
        return 1

    @staticmethod
    def twice(x: i32) -> i32:
        return 2 * x

    def above(self) -> i32:
        return 1


@oa.value
class Sum:
    a: i32

    def doubled(self) -> i32:
        return self.a * 2

    def __add__(self, more: i32) -> Sum:
        return Sum(self.a + more + more)

    def __neg__(self) -> Sum:
        return Sum(-self.a - 7)


@oa.kernel
def run(cells: oa.Array[Cell], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    made = -(Sum(cells[i].x) + 3)
    out[i] = cells[i].step() + made.doubled() + cells[i].above() + cells[i].mixed()


@oa.kernel
def make(out: oa.Array[i32]) -> None:
    out[oa.grid(1)] = Cell(oa.grid(1) + 5).x
"""

Edit = Callable[..., None]
_numbers = itertools.count()


def imported(folder: Path, text: str) -> Any:
    name = f"reloaded_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text)
    return importlib.import_module(name)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return imported(tmp_path, TEXT)


@pytest.fixture
def edit(module: Any) -> Edit:
    """Change lines of the module's file, and the module as autoreload does."""
    pytest.importorskip("IPython")
    # An IPython that has none, before 9.0, fails here: users of it have another autoreload.
    from IPython.extensions.deduperreload.deduperreload import DeduperReloader

    reloader = DeduperReloader()
    file = Path(module.__file__)

    def edited(*changes: tuple[str, str]) -> None:
        text = reloader.source_by_modname[module.__name__] = file.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
        assert reloader.maybe_reload_module(module)

    return edited


def computed(module: Any, backend: str) -> list[int]:
    with oa.Heap(backend=backend) as heap:
        out = heap.zeros(2, i32)
        module.run[2](heap.new(module.Cell, 2, x=[5, 6]), out)
        return [int(each) for each in out]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("self.x + self.more", "7 * self.x + self.more")], id="method"),
        pytest.param([("self.x + self.more", "self.x + LARGE")], id="global"),
        pytest.param([("return 1", "return 100")], id="property and override"),
        pytest.param([("2 * x", "5 * x - 1")], id="static"),
        pytest.param([("return 1", "return super().above() + 30")], id="super"),
        pytest.param([("self.a * 2", "self.a * 50")], id="value"),
        pytest.param([("more + more", "more * 90")], id="operator of a value"),
        pytest.param([("-self.a - 7", "self.a * 60")], id="sign of a value"),
        pytest.param([("LARGE = 1000", "\n\n\nLARGE = 3"), ("2 * x", "LARGE * x")], id="lines"),
        pytest.param([("return 1", "return (  # more\n    self.x + 4)")], id="layout"),
        pytest.param(
            [("return self.x", "y: f32 = 0.1\n        return i32(f64(y) * 1e9)")], id="local"
        ),
        pytest.param([("return 0", "y: f32 = 0.1\n        return i32(f64(y) * 1e9)")], id="mixin"),
    ],
)
def test_what_was_edited_runs(module: Any, edit: Edit, changes: list[tuple[str, str]]) -> None:
    with oa.Heap(backend="cpu") as heap:
        cells, out = heap.new(module.Cell, 2, x=[5, 6]), heap.zeros(2, i32)
        with oa.capture() as step:
            module.run[2](cells, out)
        before = computed(module, "cpu")
        assert before == computed(module, "python")
        edit(*changes)
        if "super" not in str(changes):  # for which autoreload puts another class
            assert cells[0].step() != 0  # by CPython, before kernels have followed
        fresh = imported(Path(module.__file__).parent, Path(module.__file__).read_text())
        now = computed(fresh, "python")
        assert now != before
        step.run()
        assert [*out] == now
        module.run[2](cells, out)
        assert [*out] == now
        assert [*cells.step()] == [each.step() for each in cells]
        assert computed(module, "python") == now == computed(module, "cpu")


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (("step(self) -> i32", "step(self, more: i32 = 3) -> i32"), "with another signature"),
        (("def twice(x: i32) -> i32", "def twice(x: i32) -> i64"), "with another signature"),
        (("return 1", "..."), "with another signature, decorators or no body"),
    ],
)
def test_other_methods_are_refused(
    module: Any, edit: Edit, change: tuple[str, str], how: str
) -> None:
    with oa.Heap(backend="cpu") as heap:
        cells, out = heap.new(module.Cell, 2, x=[5, 6]), heap.zeros(2, i32)
        module.run[2](cells, out)
        edit(change)
        for _ in range(2):
            with pytest.raises(oa.ClassError, match=f"was changed in place {how}"):
                module.run[2](cells, out)


def test_code_from_elsewhere_is_refused(module: Any, edit: Edit) -> None:
    with oa.Heap(backend="cpu") as heap:
        cells = heap.new(module.Cell, 2, x=[5, 6])
        cells.step()
        edit(("self.x + self.more", "7 * self.x"))
        Path(module.__file__).write_text(TEXT)
        with pytest.raises(
            oa.ClassError, match=r"Cell\.step was changed in place by code that is not"
        ):
            cells.step()


def test_edited_twice(module: Any, edit: Edit) -> None:
    with oa.Heap(backend="cpu") as heap:
        cells = heap.new(module.Cell, 2, x=[5, 6])
        for change in (("2 * x", "3 * x"), ("3 * x", "4 * x")):
            cells.step()
            edit(change)
            assert [*cells.step()] == [each.step() for each in cells]
        assert cells.step()[0] == 5 + 1 + 20


def test_initialisers(module: Any, edit: Edit) -> None:
    with oa.Heap(backend="cpu") as heap:
        out = heap.zeros(2, i32)
        module.make[2](out)
        assert [*out] == [5, 6]
        edit(("self.x = x", "self.x = x * 10"))
        module.make[2](out)
        assert [*out] == [50, 60]
