"""Statements: assignments, branches, returns, assertions, prints, barriers."""

from __future__ import annotations

from ..errors import InternalError
from ..frontend import tree
from ..model.scalars import ScalarType, i64, u64
from ..model.types import Type
from ..targets.base import PrintPiece, Unsigned
from . import checks, cut_branches
from .arithmetic import convert
from .emitter import FunctionEmitter, statement
from .runs import exact_class, is_assigned_once, run_of
from .types import I64


@statement(tree.Assign)
def _assign(emitter: FunctionEmitter, node: tree.Assign) -> None:
    cls = exact_class(emitter, node.value)
    if cls is not None and is_assigned_once(emitter, node.variable):
        emitter.exact[node.variable] = cls
    form = run_of(emitter, node.value)
    if form is not None and form.whole is not None and is_assigned_once(emitter, node.variable):
        emitter.runs[node.variable] = form
    emitter.assign(node.variable, emitter.evaluate(node.value))


@statement(tree.Evaluate)
def _evaluate(emitter: FunctionEmitter, node: tree.Evaluate) -> None:
    emitter.evaluate(node.value)


@statement(tree.If)
def _if(emitter: FunctionEmitter, node: tree.If) -> None:
    if cut_branches.is_cut(emitter, node):
        cut_branches.emit_cut(emitter, node)
        return
    test = emitter.evaluate(node.test)
    then, end = emitter.new_block("if.then"), emitter.new_block("if.end")
    otherwise = emitter.new_block("if.else") if node.otherwise else end
    emitter.branch_on(test, then, otherwise)
    emitter.start(then)
    emitter.run(node.then)
    emitter.branch(end)
    if node.otherwise:
        emitter.start(otherwise)
        emitter.run(node.otherwise)
        emitter.branch(end)
    emitter.join(end)


@statement(tree.Return)
def _return(emitter: FunctionEmitter, node: tree.Return) -> None:
    value = None if node.value is None else emitter.evaluate(node.value)
    if value is None:
        emitter.builder.ret_void()
    else:
        emitter.builder.ret(value)


@statement(tree.Assert)
def _assert(emitter: FunctionEmitter, node: tree.Assert) -> None:
    checks.check_assertion(emitter, emitter.evaluate(node.test), node.message, node.location)


@statement(tree.Print)
def _print(emitter: FunctionEmitter, node: tree.Print) -> None:
    pieces: list[PrintPiece] = []
    for position, item in enumerate(node.items):
        if position:
            pieces.append(" ")
        pieces.append(item if isinstance(item, str) else _printable(emitter, item))
    emitter.program.target.emit_print(emitter.builder, [*pieces, node.end])


@statement(tree.Barrier)
def _barrier(emitter: FunctionEmitter, node: tree.Barrier) -> None:
    emitter.program.uses_barrier = True
    # LLVM must not move it, or the function around it, into or out of a divergent branch.
    emitter.llvm_function.attributes.add("convergent")
    target, builder = emitter.program.target, emitter.builder
    if not emitter.program.debug:
        target.emit_barrier(builder)
        return
    if emitter.barriers is None:
        emitter.barriers = emitter.slot(I64, "barriers")
    passed = builder.add(builder.load(emitter.barriers, typ=I64), I64(1))
    builder.store(passed, emitter.barriers)
    target.emit_barrier(builder)
    x, y, *_ = emitter.thread
    target.emit_debug_thread(builder, x, y, passed)


def _printable(emitter: FunctionEmitter, item: tree.Expression) -> PrintPiece:
    value = emitter.evaluate(item)
    type: Type = item.type
    if not isinstance(type, ScalarType):
        raise InternalError(f"a value of type {type!r} is printed")
    if type.kind == "bool":
        return value
    if type.kind == "uint":
        return Unsigned(convert(emitter.builder, type, u64, value))
    return value if type.is_float else convert(emitter.builder, type, i64, value)
