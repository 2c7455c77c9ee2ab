"""Finding a function's definition in its file."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import os
from pathlib import Path

import pytest

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
