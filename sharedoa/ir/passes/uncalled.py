"""Drops functions that nothing calls."""

from __future__ import annotations

from ..core import Program
from .calls import called_by


def drop_uncalled(program: Program) -> None:
    """Keep the kernel and what it reaches."""
    kept = {program.kernel.symbol}
    pending = [program.kernel]
    while pending:
        for symbol in called_by(pending.pop()):
            if symbol not in kept:
                kept.add(symbol)
                pending.append(program.functions[symbol])
    for symbol in [*program.functions]:
        if symbol not in kept:
            del program.functions[symbol]
