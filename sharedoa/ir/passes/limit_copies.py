"""How often compilers may copy (unroll) loops in methods that run side by side.

Threads of a warp whose objects have different classes run one method after the other, and other
warps are in other methods meanwhile. What all of these repeat should fit into the cache of
instructions of a multiprocessor. ptxas, which sees one loop of 256 rounds, writes out all of them:
8 methods take twice as long as they must then, 32 methods 15 times (docs/lab-notes.md).
Loops that are to be limited get the attribute ``copies``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core import Operation, Program, Region, operations_in, rounds_of
from ..operations import cost_of, kind_of
from .calls import callees

INSTRUCTIONS = 1024
"""Of all methods side by side, in what they repeat. It is half of what an H200 keeps close to a
multiprocessor, as ptxas writes the first round of a loop apart."""
_LLVM_INSTRUCTIONS, _LLVM_COPIES, _PTXAS_COPIES = 75, 8, 4
"""A loop whose rounds nobody knows LLVM copies up to so many instructions, at most so many times;
ptxas makes so many copies of that."""


def limit_copies(program: Program) -> None:
    """Numbers of instructions are estimates by what the operations cost."""
    if not any(operation.kind == "for" for operation in operations_in(program)):
        return
    sizes = _Sizes(program)
    for symbol, count in _side_by_side(program).items():
        if count > 1:
            sizes.room = INSTRUCTIONS // count
            sizes.of_region(program.functions[symbol].body)


def _side_by_side(program: Program) -> dict[str, int]:
    """How many methods a warp may be in where it runs each function: as many as the calls on the
    way to it choose among."""
    found: dict[str, int] = {}
    pending = [(program.kernel.symbol, 1)]
    while pending:
        symbol, count = pending.pop()
        if found.get(symbol, 0) >= count:
            continue
        found[symbol] = count
        for operation in operations_in(program.functions[symbol]):
            called = callees(operation)
            if operation.kind == "call_virtual":
                # Recursion would multiply without end.
                together = min(count * len(called), INSTRUCTIONS)
                pending += [(method, together) for method in called]
            else:
                pending += [(callee, count) for callee in called]
    return found


class _Sizes:
    """Instructions of parts of a program, with the copies that are made of loops. Loops of which
    fewer copies than usual fit into ``room`` are limited."""

    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._open: set[str] = set()
        self._known: dict[tuple[str, int], int] = {}
        self.room = INSTRUCTIONS

    def of_region(self, region: Region) -> int:
        return sum(map(self._of, region.operations))

    def _of(self, operation: Operation) -> int:
        if operation.kind == "for":
            return self._of_loop(operation)
        return (
            cost_of(operation)
            + sum(map(self._of_function, callees(operation)))
            + self._of_regions(operation.regions)
        )

    def _of_regions(self, regions: Iterable[Region]) -> int:
        return sum(map(self.of_region, regions))

    def _of_function(self, symbol: str) -> int:
        known = self._known.get((symbol, self.room))
        if known is not None:
            return known
        if symbol in self._open:
            return 0  # it calls itself
        self._open.add(symbol)
        size = self._known[symbol, self.room] = self.of_region(self._functions[symbol].body)
        self._open.remove(symbol)
        return size

    def _of_loop(self, loop: Operation) -> int:
        body, otherwise = loop.regions
        each = max(1, self.of_region(body))
        copies, most = _usual_copies(loop, each)
        if each * copies > self.room:
            copies = min(most, _power_of_two(self.room // each))
            loop.attributes["copies"] = min(copies, loop.attributes.get("copies", copies))
        return self.of_region(otherwise) + each * copies


def _usual_copies(loop: Operation, each: int) -> tuple[int, int]:
    """How many copies of a loop compilers make, and how many at most if it is limited."""
    counted = rounds_of(loop)
    if counted is not None:
        # len refuses numbers that need more than 63 bits.
        rounds = max(0, -((counted.start - counted.stop) // counted.step))
        return rounds, rounds
    if any(
        kind_of(o) is None or o.kind in ("break", "return") for o in operations_in(loop.regions[0])
    ):
        return 1, 1  # LLVM copies it only if it is told to
    by_llvm = min(_LLVM_COPIES, _power_of_two(_LLVM_INSTRUCTIONS // each))
    return _PTXAS_COPIES * by_llvm, by_llvm


def _power_of_two(number: int) -> int:
    """The largest that is not larger, at least 1; most numbers of rounds are multiples of it."""
    return 1 << (max(1, number).bit_length() - 1)
