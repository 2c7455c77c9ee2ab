"""Branches around loops that the threads of a warp share.

So that threads that skip a loop help with those of the others, an ``if`` that shared loops stand in
is cut at the loops: the parts before and after each are run by the threads for which the test
holds, the loop by all of them, with no iterations for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..frontend import tree
from ..frontend.walk import nodes_in
from .emitter import FunctionEmitter
from .loops import emit_bounds, emit_loop
from .shared_loops import Bounds, is_uniform_variable


def is_cut(emitter: FunctionEmitter, node: tree.If) -> bool:
    """Whether shared loops stand in an ``if`` that threads of a warp may answer differently."""
    shared = emitter.program.shared_loops
    stands = any(statement in shared for statement in (*node.then, *node.otherwise))
    return stands and not _is_uniform(emitter, node.test)


def _is_uniform(emitter: FunctionEmitter, test: tree.Expression) -> bool:
    allowed = (tree.Constant, tree.Local, tree.Convert, tree.Unary, tree.Binary, tree.Compare)
    return all(
        isinstance(part, allowed)
        and (not isinstance(part, tree.Local) or is_uniform_variable(emitter, part.variable))
        for part in nodes_in(test)
    )


def emit_cut(emitter: FunctionEmitter, node: tree.If) -> None:
    """An ``if`` of which the loops are run by all threads that come to it."""
    test = emitter.evaluate(node.test)
    _emit_arm(emitter, node.then, test)
    if node.otherwise:
        _emit_arm(emitter, node.otherwise, emitter.builder.not_(test))


def _emit_arm(
    emitter: FunctionEmitter, statements: Sequence[tree.Statement], test: ir.Value
) -> None:
    part: list[tree.Statement] = []
    for node in statements:
        if not isinstance(node, tree.ForRange) or node not in emitter.program.shared_loops:
            part.append(node)
            continue
        bounds = _emit_part(emitter, part, test, node)
        part = []
        if bounds is None:
            return
        emit_loop(emitter, node, bounds)
    if part:
        _emit_part(emitter, part, test, None)


def _emit_part(
    emitter: FunctionEmitter,
    part: Sequence[tree.Statement],
    test: ir.Value,
    loop: tree.ForRange | None,
) -> Bounds | None:
    """Run statements where ``test`` holds, and evaluate there the bounds of the loop that follows,
    which is empty in the other threads. None without one, or if it cannot be reached."""
    then, end = emitter.new_block("part"), emitter.new_block("part.end")
    came_from = emitter.builder.block
    emitter.branch_on(test, then, end)
    emitter.start(then)
    emitter.run(part)
    if loop is None or emitter.is_dead:
        emitter.branch(end)
        emitter.start(end)
        return None
    bounds = emit_bounds(emitter, loop)
    leaves = emitter.builder.block
    emitter.branch(end)
    emitter.start(end)
    # The others' loop ends where it starts.
    start, stop = bounds.start, bounds.stop
    nowhere = start if isinstance(start, ir.Constant) else start.type(0)
    start, stop = (_joined(emitter, came_from, nowhere, leaves, bound) for bound in (start, stop))
    return Bounds(start, stop, bounds.step)


def _joined(
    emitter: FunctionEmitter,
    without: ir.Block,
    nowhere: ir.Constant,
    leaves: ir.Block,
    bound: ir.Value,
) -> ir.Value:
    """``bound`` in the threads that come from ``leaves``, ``nowhere`` in those that come from
    ``without``."""
    if bound is nowhere:
        return bound
    phi = emitter.builder.phi(bound.type)
    phi.add_incoming(nowhere, without)
    phi.add_incoming(bound, leaves)
    return phi
