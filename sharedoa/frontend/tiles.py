"""``tile = oa.shared(T, N)``: memory that the threads of a block have in common.

It is an inline array that lies in no object. The name stands for it in the whole kernel, so the
statement is one of the kernel's own, where every thread comes by.
"""

from __future__ import annotations

import ast

from ..errors import ClassError
from ..model import intrinsics
from ..model.annotations import Scope, resolve
from ..model.types import InlineType, ReferenceType, ScalarType, ValueType
from . import tree
from .context import Context
from .expressions import static_value

_HELP = "write tile = oa.shared(f32, 256), with a number that is known when the kernel is compiled"


def is_tile(context: Context, node: ast.Assign) -> bool:
    """Whether a statement makes shared memory."""
    if not isinstance(node.value, ast.Call):
        return False
    return static_value(context, node.value.func) is intrinsics.shared


def declare_tile(context: Context, node: ast.Assign) -> list[tree.Statement]:
    """Bind a name to memory of the block; nothing is done when the kernel runs."""
    call = node.value
    assert isinstance(call, ast.Call)
    if context.kind != "kernel":
        context.reject(node, "oa.shared is only known in kernels", "make it in the kernel itself")
    (target,) = node.targets if len(node.targets) == 1 else (None,)
    is_own = any(each is node for each in context.source.definition.body)
    if not (isinstance(target, ast.Name) and is_own):
        context.reject(
            node,
            "shared memory has one name, and is made by a statement of the kernel itself",
            f"{_HELP}, outside of every if and loop",
        )
    if target.id in context.parameters or target.id in context.types:
        context.reject(node, f"{target.id} is another variable, too", "give the tile its own name")
    if len(call.args) != 2 or call.keywords:
        context.reject(call, "oa.shared takes a type and a number of elements", _HELP)
    type = _type(context, call)
    place = tree.TilePlace(type, context.locate(node), len(context.tiles), target.id)
    if context.tiles.setdefault(target.id, place) is not place:
        context.reject(node, f"{target.id} is made twice", "give each tile its own name")
    return []


def _type(context: Context, call: ast.Call) -> InlineType:
    given, count = (static_value(context, each) for each in call.args)
    if count is None and isinstance(call.args[1], ast.Constant):
        count = call.args[1].value
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        context.reject(call, "the number of elements is no positive constant", _HELP)
    if given is None:
        context.reject(
            call, "elements of shared memory are scalars, references or value structs", _HELP
        )
    try:
        element = resolve(given, Scope({}, ""), "oa.shared")
    except ClassError as error:
        context.reject(call, error.message, error.help)
    if not isinstance(element, (ScalarType, ReferenceType, ValueType)):
        context.reject(call, f"shared memory cannot hold {element!r}", _HELP)
    return InlineType(element, (count,))
