"""How much threads keep, counted before they do: the way there without all that it writes."""

from __future__ import annotations

from ..core import Program, operations_in, root_of
from ..operations import Effects, effects_of, kind_of
from ..passes.unused import remove_unused
from ..rewrite import copy_program
from ..roles import may_meet, role_of, stored_roles


def counting(original: Program, forward: Program) -> Program | None:
    """Of ``forward``, the way there of ``original``, a program that only says how many words each
    thread comes to need; None where that depends on what the launch itself writes, or where others
    could notice that it runs."""
    program = copy_program(forward)
    used = program.kernel.parameters[-1]
    results = {each for operation in operations_in(program) for each in operation.operands}
    for function in program.functions.values():
        pending = [function.body]
        while pending:
            region = pending.pop()
            kept = []
            for operation in region.operations:
                pending += operation.regions
                kind = kind_of(operation)
                if kind is None:
                    return None
                if operation.kind == "store":
                    root = root_of(operation.operands[1])
                    is_count = root is not None and root.operands[0] is used
                elif operation.kind == "frame_write":
                    is_count = False
                elif kind.effects & (Effects.WRITES | Effects.ATOMIC):
                    if not results.isdisjoint(operation.results):
                        return None
                    is_count = False
                else:
                    is_count = True
                if is_count:
                    kept.append(operation)
            region.operations = kept
    remove_unused(program, debug=False)
    written = stored_roles(original)
    for operation in operations_in(program):
        if effects_of(operation) & Effects.REPORTS:
            return None
        if operation.kind == "load":
            role = role_of(operation.operands[0])
            if any(may_meet(role, each) for each in written):
                return None
    return program
