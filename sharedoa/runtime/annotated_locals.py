"""Annotated local variables in CPython, which does nothing about ``a: f32 = 0.1``: a function that
has some is run in a form of its own, in which what is assigned to them is converted.

That form is compiled from the function's source, with the same lines, so that tracebacks and
breakpoints are as they were; its closure, globals and defaults are the function's own.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from functools import cached_property
from types import CellType, CodeType, FunctionType
from typing import Any

from ..errors import CompileError
from ..model import functions
from ..model.declared_locals import declarations, declared_type
from ..model.source_text import source_text
from ..model.types import Type
from ..model.values import convert

_CONVERTERS = "__sharedoa_converters__"
#: Whatever has annotations in its body has this in its text.
_PERHAPS = re.compile(r"(?:^|[:;])[ \t]*[A-Za-z_]\w*[ \t]*:[ \t]*[^\s=]", re.MULTILINE)


def form_for_cpython(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, or what CPython runs in its place."""
    if not isinstance(function, FunctionType) or not _PERHAPS.search(_text(function)):
        return function
    from ..frontend.source import source_of

    try:
        source = source_of(function, function.__name__)
    except CompileError:  # it has no source, so no kernel can call it either
        return function
    found = declarations(source.definition.body)
    if not found:
        return function
    definition = _Rewriter([*found]).function(source.definition)
    if source.line_offset:
        ast.increment_lineno(definition, source.line_offset)
    converters = [_Converter(node, function, name) for name, node in found.items()]
    return _rebuilt(function, definition, converters)


def _text(function: FunctionType) -> str:
    code = function.__code__
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    return "".join(source_text(function).lines[code.co_firstlineno - 1 : last])


class _Converter:
    """Converts to what a variable is annotated with, which may name classes that come later."""

    def __init__(self, annotation: ast.expr, function: FunctionType, name: str) -> None:
        self._annotation, self._function, self._name = annotation, function, name

    @cached_property
    def _type(self) -> Type | None:
        return declared_type(self._annotation, self._function, self._name)

    def __call__(self, value: Any) -> Any:
        return value if self._type is None else convert(self._type, value, self._name)


def _rebuilt(
    function: FunctionType, definition: ast.FunctionDef, converters: list[_Converter]
) -> FunctionType:
    """The function with another body, compiled as in the scope that it was defined in."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[_CONVERTERS] = CellType(converters)
    outer = ast.FunctionDef(
        name="outer",
        args=ast.arguments([], [ast.arg(name) for name in cells], None, [], [], None, []),
        body=[definition],
        decorator_list=[],
    )
    outer.type_params = []  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    made = _code_in(_code_in(compile(module, code.co_filename, "exec", dont_inherit=True)))
    closure = tuple(cells[name] for name in made.co_freevars)
    form = FunctionType(
        made, function.__globals__, function.__name__, function.__defaults__, closure
    )
    form.__kwdefaults__ = function.__kwdefaults__
    form.__qualname__, form.__module__ = function.__qualname__, function.__module__
    return form


def _code_in(code: CodeType) -> CodeType:
    return next(each for each in code.co_consts if isinstance(each, CodeType))


class _Rewriter(ast.NodeTransformer):
    """Converts what is assigned to the variables, by their place among ``names``."""

    def __init__(self, names: list[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def function(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """A copy that has neither decorators nor annotations of parameters, and other defaults."""
        made = copy.deepcopy(definition)
        made.decorator_list, made.returns = [], None
        arguments = made.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            each.annotation = None
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                extra.annotation = None
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
        made.body = [part for node in made.body for part in self._parts(node)]
        return made

    def _parts(self, node: ast.stmt) -> list[ast.stmt]:
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _converted(self, name: str, value: ast.expr) -> ast.expr:
        converters = ast.Name(_CONVERTERS, ast.Load())
        place = ast.Constant(self._places[name])
        call = ast.Call(ast.Subscript(converters, place, ast.Load()), [value], [])
        return ast.copy_location(call, value)

    def _again(self, *targets: ast.AST) -> list[ast.stmt]:
        """Statements that convert what was just assigned to targets."""
        made: list[ast.stmt] = []
        for node in (part for target in targets for part in ast.walk(target)):
            is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = getattr(node, "id" if is_stored else "name", None)
            if isinstance(name, str) and name in self._places:
                value = ast.copy_location(ast.Name(name, ast.Load()), node)
                target = ast.copy_location(ast.Name(name, ast.Store()), node)
                assign = ast.Assign([target], self._converted(name, value))
                made.append(ast.copy_location(assign, node))
        return made

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        value = self._converted(node.target.id, node.value)
        # Without the annotation: names in it need not be known where this is compiled.
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return [node, *self._again(*node.targets)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        return [node, *self._again(node.target)]

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.body[:0] = self._again(node.target)
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        self.generic_visit(node)
        node.body[:0] = self._again(node.pattern)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        self.generic_visit(node)
        if node.target.id in self._places:
            node.value = self._converted(node.target.id, node.value)
        return node

    def _other_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other_scope


functions.form_for_cpython = form_for_cpython
