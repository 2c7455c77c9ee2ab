"""The user's own source: the syntax tree of a function, with true line and column numbers."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, TypeVar

from dispatch.dataclass import dataclass

from ..errors import CompileError, Diagnostic
from ..location import Location
from ..model.source_text import SourceText, source_text


@dataclass(frozen=True)
class Source:
    """The definition of one function; ``line_offset`` is added to the tree's line numbers."""

    file: str
    name: str
    definition: ast.FunctionDef
    line_offset: int = 0

    def locate(self, node: ast.AST) -> Location:
        line = getattr(node, "lineno", self.definition.lineno)
        column = getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column + 1
        offset = self.line_offset
        return Location(self.file, line + offset, column, end_line + offset, end_column, self.name)


#: Where statements hold others: as they are, in ``except`` clauses and in cases of ``match``.
_BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
#: Functions of a file by name and first line, decorators included.
_Functions = dict[tuple[str, int], ast.FunctionDef]
#: By file, what was read from its lines, as ``source_text`` gave them last.
_parsed: dict[str, tuple[list[str], _Functions]] = {}
#: Codes by name and first line; of a file, those that CPython makes of the lines it had last. Each
#: function of a file asks for them.
_Codes = dict[tuple[str, int], list[CodeType]]
_compiled: dict[str, tuple[list[str], _Codes]] = {}
#: Of so many files what was read last is kept: each cell of a notebook is one.
_MOST_FILES = 256
_Kept = TypeVar("_Kept")


def source_of(function: Callable[..., Any], name: str) -> Source:
    """Find and parse the source of ``function``, as it was when it was defined; ``name`` is what
    errors call it.

    Raises CompileError when the source cannot be had (``exec``, a lambda, a C function), or is not
    what the function was made from.
    """
    return source_of_code(function.__code__, source_text(function), name)


def source_of_code(code: CodeType, text: SourceText, name: str) -> Source:
    """The source of what was defined in ``text``. Raises CompileError as ``source_of``."""
    if not text.is_sure and not _is_made_from(code, text.lines):
        raise _edited(name, code)
    functions = functions_of(code.co_filename, text.lines)
    found = functions.get((code.co_name, code.co_firstlineno))
    if found is not None:
        return Source(code.co_filename, name, found)
    try:
        lines, first = inspect.getsourcelines(code)
        definition = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, SyntaxError, IndexError) as error:
        raise _no_source(name) from error
    if not isinstance(definition, ast.FunctionDef) or definition.name != code.co_name:
        raise _no_source(name)
    return Source(code.co_filename, name, definition, first - 1)


def _no_source(name: str) -> CompileError:
    return CompileError(
        [
            Diagnostic(
                f"the source of {name} cannot be read",
                None,
                "define it with def in a file or notebook cell; lambdas and code made by exec "
                "have no source to compile",
            )
        ]
    )


def _edited(name: str, code: CodeType) -> CompileError:
    return CompileError(
        [
            Diagnostic(
                f"{code.co_filename} was edited after {name} had been defined, and before it was "
                "decorated",
                None,
                "load the module again (importlib.reload), or start Python again",
            )
        ]
    )


def _is_made_from(code: CodeType, lines: list[str]) -> bool:
    """Whether a function's code is what CPython makes of these lines, or they have nothing to do
    with it."""
    made = codes_of(code.co_filename, lines)
    return any(are_equal(each, code) for each in made.get(_place(code), ()))


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def codes_of(file: str, lines: list[str]) -> _Codes:
    """What CPython makes of a file with these lines; nothing if it cannot be read."""
    known = _compiled.get(file)
    if known is None or known[0] is not lines:
        try:
            known = lines, codes_in("".join(lines), file)
        except SyntaxError:
            return {}
        _keep(_compiled, file, known)
    return known[1]


def codes_in(text: str, file: str) -> _Codes:
    """What CPython makes of a text. Raises SyntaxError."""
    codes: _Codes = {}
    pending = [compile(text, file, "exec", dont_inherit=True)]
    while pending:
        found = pending.pop()
        codes.setdefault(_place(found), []).append(found)
        pending += [each for each in found.co_consts if isinstance(each, CodeType)]
    return codes


def _keep(kept: dict[str, _Kept], file: str, known: _Kept) -> None:
    """Of files that were read first are forgotten those that are too many."""
    kept[file] = known
    for oldest in list(kept)[:-_MOST_FILES]:
        kept.pop(oldest, None)


def are_equal(one: Any, other: Any) -> bool:
    """Of codes, or of constants in them."""
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        same = all(getattr(one, each) == getattr(other, each) for each in _PARTS_OF_CODE)
        return same and len(one.co_consts) == len(other.co_consts) and all(
            map(are_equal, one.co_consts, other.co_consts)
        )  # fmt: skip
    return type(one) is type(other) and repr(one) == repr(other)


_PARTS_OF_CODE = (
    "co_name", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars",
)  # fmt: skip


def functions_of(file: str, lines: list[str]) -> _Functions:
    """All functions that a file with these lines defines; none if it cannot be read."""
    known = _parsed.get(file)
    if known is None or known[0] is not lines:
        try:
            module = ast.parse("".join(lines))
        except SyntaxError:
            return {}
        known = lines, _by_place(module, lines)
        _keep(_parsed, file, known)
    return known[1]


def _by_place(module: ast.Module, lines: list[str]) -> _Functions:
    functions: _Functions = {}
    classes = []
    for node in statements_below(module.body):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions.setdefault((node.name, first), node)
        elif isinstance(node, ast.ClassDef):
            classes.append(node)
    for cls in reversed(classes):  # inner classes first: a name is private to the innermost
        text = "".join(lines[cls.lineno - 1 : cls.end_lineno])
        if "__" in text or not text.isascii():
            _mangle(cls)
    return functions


#: Where a syntax tree has names that CPython mangles.
_NAMES = {ast.Attribute: "attr", ast.Name: "id", ast.arg: "arg"}


def _mangle(cls: ast.ClassDef) -> None:
    """Give private names in a class, such as ``self.__x``, the form that CPython gives them."""
    prefix = cls.name.lstrip("_")
    for node in ast.walk(cls):
        attribute = _NAMES.get(type(node))
        name = getattr(node, attribute) if attribute else None
        if prefix and attribute and name and name.startswith("__") and not name.endswith("__"):
            setattr(node, attribute, f"_{prefix}{name}")


def statements_below(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with all that are nested in them, level by level."""
    pending: deque[ast.AST] = deque(body)
    while pending:
        node = pending.popleft()
        if isinstance(node, ast.stmt):
            yield node
        for name in _BODIES:
            pending += getattr(node, name, ())
