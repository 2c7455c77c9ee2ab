"""Functions of vectors and matrices, such as ``oa.dot(a, b)``: their methods."""

from __future__ import annotations

import ast
import builtins

from ..model.types import ValueType
from ..vector_functions import FUNCTIONS
from . import tree
from .context import Context
from .library import HANDLERS, NAMED, Handler, arguments
from .value_operators import call_value_method


def _method(name: str, method: str, count: int) -> Handler:
    def handle(context: Context, node: ast.Call) -> tree.Expression:
        values = arguments(context, node, count)
        struct = values[0].type
        if isinstance(struct, ValueType) and method in struct.methods:
            return call_value_method(context, values[0], method, values[1:], node)
        of_numbers = getattr(builtins, name, None)
        if of_numbers is not None:
            return HANDLERS[id(of_numbers)](context, node)
        context.reject(
            node, f"oa.{name} does not take {struct!r}", "it takes vectors, matrices or quaternions"
        )

    return handle


NAMED.update({name: _method(name, *each) for name, each in FUNCTIONS.items()})
