"""Functions and methods that run both in CPython and compiled.

In CPython they convert arguments and results as compiled code does, so that ``f(1)`` with an
``x: f32`` computes with a float32 on every backend.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Generic

from ..errors import ClassError
from . import lazy_annotations
from .annotations import local_names
from .classes import Signature
from .signatures import resolve_signature, scope_of
from .source_text import remember_source, text_now
from .type_names import P, R_co
from .types import VOID, Type
from .values import convert
from .world import World


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


#: Of each parameter where it stands in a call, its name and type, and what complaints call it.
_Parameters = list[tuple[int, str, Type, str]]

#: What CPython runs in place of a user's function, set by ``runtime/annotated_locals``.
form_for_cpython: Callable[[Callable[..., Any]], Callable[..., Any]] = _as_it_is


def converting(
    function: Callable[..., Any], signature: Callable[[], Signature], name: str, *, receiver: bool
) -> Any:
    """``function`` with arguments and result converted by its signature when CPython calls it."""
    skip = 1 if receiver else 0
    form, form_of = function, None
    known: list[tuple[Signature, _Parameters]] = []

    def parameters(types: Signature) -> _Parameters:
        for of, found in known:
            if of is types:
                return found
        named = zip(types.names, types.types, strict=True)
        made = [(n + skip, p, t, f"{name}: {p}") for n, (p, t) in enumerate(named)]
        known[:] = [(types, made)]
        return made

    def run(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        types = signature()
        given = list(arguments)
        for place, parameter, type, what in parameters(types):
            if place < len(given):
                given[place] = convert(type, given[place], what)
            elif parameter in named:
                named[parameter] = convert(type, named[parameter], what)
            elif parameter in types.defaults:
                default = convert(type, types.defaults[parameter], what)
                if place == len(given) < skip + types.most_by_position:
                    given.append(default)
                else:
                    named[parameter] = default
        nonlocal form, form_of
        if form_of is not function.__code__:  # which autoreload changes
            form, form_of = form_for_cpython(function), function.__code__
        result = form(*given, **named)
        if types.result is VOID:
            return result
        return convert(types.result, result, f"{name}: the result")

    return stand_in(function, run)


def stand_in(
    function: Callable[..., Any], run: Callable[[tuple[Any, ...], dict[str, Any]], Any]
) -> Any:
    """A function that stands for the user's ``function`` in a class and calls ``run``."""

    def call(*arguments: Any, **named: Any) -> Any:
        return run(arguments, named)

    # Among the user's globals, as IPython's autoreload gives it the code of another function.
    names = function.__globals__
    made: Any = FunctionType(call.__code__, names, closure=call.__closure__)
    functools.update_wrapper(made, function)
    # Itself, too: functools.wraps copies the mark to a function that a user wraps around it.
    made.__sharedoa_wrapped__ = (made, function)
    return made


def user_function(function: Any) -> Any:
    """The function that the user wrote, also for what a class gives for one of its methods."""
    wrapper, wrapped = getattr(function, "__sharedoa_wrapped__", (None, None))
    return wrapped if wrapper is function else function


def refuse_lambda(function: Callable[..., Any], where: str) -> None:
    """Raise ClassError for a lambda, whose parameters and result can have no types."""
    if function.__code__.co_name == "<lambda>":
        raise ClassError(
            f"{where} is a lambda", "write it with def and give its parameters and result types"
        )


class DeviceFunction(Generic[P, R_co]):
    """A function made by ``@oa.func``: callable from kernels, methods and CPython alike."""

    __name__: str

    def __init__(self, function: Callable[P, R_co], local: Mapping[str, Any]) -> None:
        self.function = function
        remember_source(function)
        self._local = local
        self.name = function.__name__
        self._signature: Signature | None = None
        #: What computes the adjoints of its arguments (``custom_gradient``).
        self.gradient: DeviceFunction[..., Any] | None = None
        #: What was made for it and goes with it.
        self.made: dict[tuple[Any, ...], Any] = {}
        self._call = converting(function, lambda: self.signature, self.name, receiver=False)
        functools.update_wrapper(self, function)
        World.advance()

    def __reduce__(self) -> str:
        """Pickled and copied as functions are, by name."""
        return self.function.__qualname__

    @property
    def signature(self) -> Signature:
        if self._signature is None:
            self._signature = resolve_signature(
                self.function,
                scope_of(self.function, self._local),
                f"function {self.name}",
                receiver=False,
            )
        return self._signature

    def __get__(self, instance: Any, owner: Any = None) -> DeviceFunction[P, R_co]:
        """Itself, so that it is a routine to ``help``."""
        return self

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R_co:
        result: R_co = self._call(*arguments, **named)
        return result


def func(function: Callable[P, R_co]) -> DeviceFunction[P, R_co]:
    """Make a plain function callable from kernels and methods (``@oa.func``).

    Every parameter needs a type; the result's type is the return annotation, none means nothing.
    """
    if not inspect.isfunction(function):
        raise ClassError(
            f"@oa.func decorates functions, not {function!r}",
            "methods of shared and value classes need no decorator",
        )
    frame = sys._getframe(1)
    local = local_names(frame)
    return DeviceFunction(function, local)


class WayBack:
    """``@oa.custom_gradient(f)``, which is put above the def of the way back through f."""

    def __init__(self, of: DeviceFunction[..., Any]) -> None:
        self._of = of

    def __call__(self, function: Callable[P, R_co]) -> DeviceFunction[P, R_co]:
        if not inspect.isfunction(function):
            raise ClassError(
                f"@oa.custom_gradient decorates functions, not {function!r}",
                "put it directly above a def",
            )
        made: DeviceFunction[P, R_co] = DeviceFunction(function, local_names(sys._getframe(1)))
        self._of.gradient = made
        World.advance()
        return made


def custom_gradient(of: DeviceFunction[..., Any]) -> WayBack:
    """Make a plain function the way back through a function of ``@oa.func``, in place of that which
    follows from its body:

        @oa.custom_gradient(smooth)
        def smooth_reverse(x: f64, adjoint: f64) -> f64: ...

    It has the parameters of the function and the adjoint of its result, and returns the adjoints of
    those parameters that have floats: one, or a tuple.

    Raises ClassError for what is no such function; a launch that is recorded, CompileError for one
    of other types.
    """
    if not isinstance(of, DeviceFunction):
        raise ClassError(
            f"@oa.custom_gradient takes a function of @oa.func, not {of!r}",
            "write @oa.custom_gradient(f) above the def of its way back",
        )
    return WayBack(of)


def is_abstract_body(function: Callable[..., Any]) -> bool:
    """Whether the body is ``...`` alone (after a docstring), or ``raise NotImplementedError``: such
    a method is abstract."""
    code = function.__code__
    raises = code.co_names == ("NotImplementedError",)
    if not raises and (len(code.co_code) > len(_empty.__code__.co_code) or len(code.co_consts) > 2):
        return False
    # ``inspect.getsource`` would look for the module among all that there are.
    block = inspect.getblock(text_now(function).lines[code.co_firstlineno - 1 :])
    try:
        tree = ast.parse(textwrap.dedent("".join(block)))
    except SyntaxError:
        tree = ast.Module([], [])
    if not tree.body:
        if raises:
            return code.co_code == _raising.__code__.co_code
        # Without its source `...` looks like `pass`: only a declared result tells them apart.
        declared = lazy_annotations.of(function).get("return") not in (None, "None")
        return declared and set(code.co_consts) <= {None, function.__doc__}
    definition = tree.body[0]
    return isinstance(definition, ast.FunctionDef) and is_abstract_definition(definition)


def is_abstract_definition(definition: ast.FunctionDef) -> bool:
    body = definition.body
    if ast.get_docstring(definition) is not None and len(body) > 1:
        body = body[1:]
    last = body[-1]
    if isinstance(last, ast.Raise):
        error = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
        return (
            len(body) == 1
            and isinstance(error, ast.Name)
            and error.id == _raising.__code__.co_names[0]
        )
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Constant)
        and last.value.value is Ellipsis
    )


def _empty() -> None: ...


def _raising() -> None:
    raise NotImplementedError
