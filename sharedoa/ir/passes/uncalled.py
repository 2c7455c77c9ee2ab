"""Drops functions that nothing calls."""

from __future__ import annotations

from ..core import Program
from .calls import called_by


def drop_uncalled(program: Program, keeps_gradients: bool = False) -> None:
    """Keep the kernel and what it reaches; with ``keeps_gradients`` also the ways back that were
    written for these functions, and what they reach."""
    kept = {program.kernel.symbol}
    pending = [program.kernel]
    while pending:
        function = pending.pop()
        called = [*called_by(function)]
        if keeps_gradients and function.gradient is not None:
            called.append(function.gradient)
        for symbol in called:
            if symbol not in kept:
                kept.add(symbol)
                pending.append(program.functions[symbol])
    for symbol in [*program.functions]:
        if symbol not in kept:
            del program.functions[symbol]
