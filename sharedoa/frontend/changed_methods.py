"""Methods that were given other code in place, as IPython's ``%autoreload`` does.

It compiles a definition that was edited by itself, and puts its code into the function that stands
in the class: of most methods not the user's own (``model.functions.stand_in``). Where that code is
of a definition in the file as it is now, which has the head that the method had, the method becomes
that definition.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from types import CellType, CodeType, FunctionType
from typing import Any

from ..errors import ClassError
from ..model import lazy_annotations
from ..model.classes import Method
from ..model.functions import is_abstract_definition, user_function
from ..model.members import called_by_cpython
from ..model.object import change_function
from ..model.source_text import remember_source, remembered_source, text_now
from ..model.structs import called_by_cpython as getter_of
from ..model.structs import change_method
from ..model.types import ValueType
from .source import are_equal, codes_in, codes_of, functions_of, source_of_code


def follow(method: Method) -> None:
    """Make a method of a shared class what CPython calls. Raises ClassError if that cannot be."""
    owner, known = method.owner.python_class, method.function
    name = f"{method.owner.name}.{method.name}"
    called = called_by_cpython(owner, method.name)
    if user_function(called) is not known:
        change_function(method, _as_it_is_now(known, called, owner, name))
    elif known.__code__ is not remembered_source(known)[0]:  # that of a mixin, or an __init__
        known.__code__ = _with_lines(known.__code__, known, name)
        remember_source(known)


def follow_value(struct: ValueType, name: str) -> None:
    """The same of a method of a value struct."""
    cls, known = struct.python_class, struct.methods[name]
    called = getter_of(struct, name)
    # Another function that was put there has another name, and is refused.
    is_ours = inspect.isfunction(called) and called.__qualname__ == known.__qualname__
    if is_ours and user_function(called) is not known:
        change_method(struct, name, _as_it_is_now(known, called, cls, f"{struct.name}.{name}"))


def _as_it_is_now(known: Any, called: Any, owner: type, name: str) -> FunctionType:
    """The method of ``owner`` that was ``known``, where CPython runs the code that was put into
    ``called``."""
    code = _with_lines(called.__code__, known, name)
    cells = dict(zip(called.__code__.co_freevars, called.__closure__ or (), strict=True))
    cells["__class__"] = CellType(owner)
    now = FunctionType(
        code, known.__globals__, known.__name__, called.__defaults__,
        tuple([cells[each] for each in code.co_freevars]),
    )  # fmt: skip
    now.__kwdefaults__, now.__doc__ = called.__kwdefaults__, called.__doc__
    now.__qualname__, now.__module__ = known.__qualname__, known.__module__
    now.__annotations__ = lazy_annotations.of(known)
    remember_source(now)
    return now


def _with_lines(code: CodeType, known: Any, name: str) -> CodeType:
    """The code of the definition in the file that ``code`` was made from, which may only have
    another body than ``known`` had. Raises ClassError if there is none."""
    was, text = remembered_source(known)
    text_is = text_now(known)
    found = _as_in_file(code, was, text_is.lines)
    if found is None:
        raise _cannot_follow(name, "by code that is not in its file")
    sources = source_of_code(was, text, name), source_of_code(found, text_is, name)
    before, after = (_head(each.definition) for each in sources)
    if before != after:
        raise _cannot_follow(name, "with another signature, decorators or no body")
    return found


def _cannot_follow(name: str, how: str) -> ClassError:
    return ClassError(
        f"method {name} was changed in place {how}, as IPython's autoreload does, and kernels "
        "have what it was",
        "load its module again (importlib.reload) and make objects anew",
    )


def _head(definition: ast.FunctionDef) -> tuple[str, bool]:
    """What is known of a function without its body, and whether it has none."""
    head = copy.copy(definition)
    head.body = []
    return ast.dump(head), is_abstract_definition(definition)


def _as_in_file(code: CodeType, was: CodeType, lines: list[str]) -> CodeType | None:
    """The code, with its lines, of a definition in a file that has these lines now and had ``was``,
    if ``code`` is what autoreload makes of that."""
    file = was.co_filename
    definitions = functions_of(file, lines)
    for place, found in codes_of(file, lines).items():
        same = [each for each in found if each.co_qualname == was.co_qualname]
        if same and place in definitions:
            member = textwrap.indent(ast.unparse(definitions[place]), "    ")
            made = codes_in(f"class C:\n{member}", file).get((code.co_name, code.co_firstlineno))
            if made and are_equal(made[0], code):
                return same[0]
    return None
