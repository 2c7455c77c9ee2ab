"""Finding a function's definition in its file."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import linecache
import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.errors import CompileError
from sharedoa.frontend import source
from sharedoa.frontend.source import source_of

from ..source_files import load_module

_NESTED = {
    "if": "if True:\n    {}",
    "else": "if False:\n    pass\nelse:\n    {}",
    "for": "for _ in range(1):\n    {}",
    "the else of for": "for _ in range(1):\n    pass\nelse:\n    {}",
    "try": "try:\n    {}\nfinally:\n    pass",
    "except": "try:\n    raise ValueError\nexcept ValueError:\n    {}",
    "finally": "try:\n    pass\nfinally:\n    {}",
    "with": "import contextlib\nwith contextlib.nullcontext():\n    {}",
    "match": "match 1:\n    case 1:\n        {}",
    "a class": "class Holder:\n    {}\nfound = Holder.found",
    "a function": "def make():\n    {}\n    return found\nfound = make()",
}


@pytest.mark.parametrize("around", _NESTED.values(), ids=_NESTED)
def test_a_function_is_found_wherever_statements_can_be(tmp_path: Path, around: str) -> None:
    module = load_module(tmp_path, around.format("def found(x): return x + 41"))
    definition = source_of(module.found, "found").definition
    assert definition.name == "found"
    assert definition.lineno == module.found.__code__.co_firstlineno


def test_two_functions_of_one_name_are_told_apart_by_their_lines(tmp_path: Path) -> None:
    module = load_module(tmp_path, "def f(x): return x\nfirst = f\ndef f(x): return -x\n")
    for function in (module.first, module.f):
        definition = source_of(function, "f").definition
        assert definition.lineno == function.__code__.co_firstlineno


def test_a_wrapper_without_a_source_is_not_taken_for_what_it_wraps() -> None:
    def plain(x: i32) -> i32:
        return x

    made: dict[str, Any] = {}
    exec("def plain(x):\n    return 2 * x", made)  # as some libraries make what they decorate with
    for wrapper in (made["plain"], lambda x: 2 * x):
        with pytest.raises(CompileError, match="the source of plain cannot be read"):
            source_of(functools.wraps(plain)(wrapper), "plain")


def test_private_names_are_those_that_cpython_makes_of_them(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class _Outer:
            class Inner:
                def f(self, __x):
                    __y = self.__field + __x
                    return __y + self.__call__
            def f(self, __x):
                return self.__method(__x)
        def f(self, __x):
            return self.__field + __x
        """,
    )
    outer = module._Outer
    for function in (outer.Inner.f, outer.f, module.f):
        definition = source_of(function, "f").definition
        nodes = list(ast.walk(definition))
        attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert attributes == set(function.__code__.co_names)
        assert names == set(function.__code__.co_varnames)
        assert [a.arg for a in definition.args.args] == list(inspect.signature(function).parameters)


def test_a_file_is_read_again_when_its_lines_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edited_source.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    file.write_text("def f(x): return x\n")
    module = importlib.import_module("edited_source")
    before = source_of(module.f, "f")
    assert source_of(module.f, "f").definition is before.definition
    file.write_text("def f(x, y): return x + y\n")
    os.utime(file, (1, 1))
    module = importlib.reload(module)
    linecache.checkcache(str(file))
    assert len(source_of(module.f, "f").definition.args.args) == 2


def test_a_file_is_compiled_once_for_all_its_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To see whether they are what it says: it was written after this process began."""
    lines = [f"def f{number}(x): return x + {number}" for number in range(9)]
    module = load_module(tmp_path, "\n".join(lines))
    compiled: list[str] = []

    def counting(text: str, file: str, *more: Any, **named: Any) -> CodeType:
        compiled.append(file)
        return compile(text, file, *more, **named)

    monkeypatch.setattr(source, "compile", counting, raising=False)
    for number in range(9):
        assert source_of(getattr(module, f"f{number}"), "f").name == "f"
    assert compiled == [module.__file__]


_PROGRAM = """
@oa.value
class Pair:
    a: i32

    def first(self) -> i32:
        return self.a * 3


class Thing(oa.Object):
    x: i32

    def get(self) -> i32:
        return self.x + Pair(5).first() + plus(2)


@oa.func
def plus(x: i32) -> i32:
    return x + 700


@oa.kernel
def run(things: oa.Array[Thing], out: oa.Array[i32]) -> None:
    i = oa.grid(1)
    out[i] = things[i].get() + 40000


def late(things: oa.Array[Thing], out: oa.Array[i32]) -> None:
    out[oa.grid(1)] = 1
"""


def _edits(text: str) -> dict[str, str]:
    return {
        "on the same lines": text.replace("3", "9").replace("700", "1").replace("40000", "2"),
        "of a first line": "# one more\n" + text,
        "so that other functions are there": text.replace("class", "x = 1\n\n\ndef first(self):\n"
        "    return 8\n\n\nclass").replace("return", "y = 1; return"),
        "into what is no program": "def run(:\n" + text,
        "to nothing": "",
    }  # fmt: skip


@pytest.mark.parametrize("edit", list(_edits("")))
def test_what_is_compiled_is_what_was_imported(tmp_path: Path, edit: str) -> None:
    module = load_module(tmp_path, _PROGRAM)
    file = Path(module.__file__ or "")
    file.write_text(_edits(file.read_text())[edit])
    linecache.checkcache(str(file))
    with oa.Heap(backend="cpu"):
        things, out = oa.new(module.Thing, 2, x=1), oa.zeros(2, i32)
        module.run[2](things, out)
        assert out.numpy().tolist() == [1 + 15 + 702 + 40000] * 2


@pytest.mark.parametrize("edit", list(_edits("")))
def test_what_was_edited_before_it_was_decorated_is_refused(tmp_path: Path, edit: str) -> None:
    module = load_module(tmp_path, _PROGRAM)
    file = Path(module.__file__ or "")
    text = file.read_text()
    file.write_text(_edits(text)[edit].replace("= 1\n", "= 2\n"))
    kernel = oa.kernel(module.late)
    with oa.Heap(backend="cpu"):
        things, out = oa.new(module.Thing, 2, x=1), oa.zeros(2, i32)
        with pytest.raises(CompileError, match=r"was edited after late|cannot be read"):
            kernel[2](things, out)
    file.write_text(text)
    kernel = oa.kernel(module.late)
    with oa.Heap(backend="cpu"):
        things, out = oa.new(module.Thing, 2, x=1), oa.zeros(2, i32)
        kernel[2](things, out)
        assert out.numpy().tolist() == [1, 1]


def test_a_module_that_is_loaded_again_is_compiled_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "loaded_again.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    prelude = "import sharedoa as oa\nfrom sharedoa import i32\n"
    found = []
    for number in (5, 77, 300):
        file.write_text(
            f"{prelude}@oa.kernel\ndef run(out: oa.Array[i32]):\n    out[oa.grid(1)] = {number}\n"
        )
        name = "loaded_again"
        known = sys.modules.get(name)
        module = importlib.reload(known) if known else importlib.import_module(name)
        with oa.Heap(backend="cpu"):
            out = oa.zeros(1, i32)
            module.run[1](out)
            found.append(int(out[0]))
    assert found == [5, 77, 300]
