"""How often compilers may copy (unroll) loops in methods that run side by side.

Threads of a warp whose objects have different classes run one method after the other, and other
warps are in other methods meanwhile. What all of these repeat should fit into the cache of
instructions of a multiprocessor. ptxas, which sees one loop of 256 rounds, writes out all of them:
8 methods take twice as long as they must then, 32 methods 15 times (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from . import tree
from .effects import is_known
from .walk import methods_met, nodes_of, part_names, statements_in

INSTRUCTIONS = 1024
"""Of all methods side by side, in what they repeat. It is half of what an H200 keeps close to a
multiprocessor, as ptxas writes the first round of a loop apart."""
_LLVM_INSTRUCTIONS, _LLVM_COPIES, _PTXAS_COPIES = 75, 8, 4
"""A loop whose rounds nobody knows LLVM copies up to so many instructions, at most so many times;
ptxas makes so many copies of that."""
_CALL_THROUGH_CLASS = 4
_LONG_OPERATORS = frozenset({"truediv", "floordiv", "mod", "pow"})
_LONG = 16
_INSTRUCTIONS = (
    tree.Unary, tree.Binary, tree.Compare, tree.Logical, tree.Conditional, tree.Load, tree.Store,
    tree.AugmentedStore, tree.TypeTest, tree.Atomic, tree.If,
)  # fmt: skip


def loop_copies(
    program: tree.Program, populated: Collection[int] | None = None
) -> dict[tree.ForRange, int]:
    """The loops that must not be copied as often as compilers would, and how often they may be.

    ``populated``: type indices of the classes that receivers can have, None for all. Numbers of
    instructions are estimates by what the typed tree computes.
    """
    if not any(_loops(program)):
        return {}
    sizes = _Sizes(program, populated)
    for symbol, count in _side_by_side(program, populated).items():
        if count > 1:
            sizes.room = INSTRUCTIONS // count
            sizes.of(program.functions[symbol].body)
    return sizes.limited


def _side_by_side(program: tree.Program, populated: Collection[int] | None) -> dict[str, int]:
    """How many methods a warp may be in where it runs each function: as many as the calls on the
    way to it choose among."""
    found: dict[str, int] = {}
    pending = [(program.kernel.symbol, 1)]
    while pending:
        symbol, count = pending.pop()
        if found.get(symbol, 0) >= count:
            continue
        found[symbol] = count
        for node in nodes_of(program.functions[symbol]):
            if isinstance(node, tree.DirectCall):
                pending.append((node.symbol, count))
            elif isinstance(node, tree.VirtualCall):
                methods = methods_met(node, populated)
                # Recursion would multiply without end.
                together = min(count * len(methods), INSTRUCTIONS)
                pending += [(method, together) for method in methods]
    return found


class _Sizes:
    """Instructions of parts of a program, with the copies that are made of loops.

    ``limited`` are the loops met so far of which fewer copies than usual fit into ``room``.
    """

    def __init__(self, program: tree.Program, populated: Collection[int] | None) -> None:
        self._functions = program.functions
        self._populated = populated
        self._open: set[str] = set()
        self._known: dict[tuple[str, int], int] = {}
        self.room = INSTRUCTIONS
        self.limited: dict[tree.ForRange, int] = {}

    def of(self, part: Any) -> int:
        """Instructions of a node, or of a list of them, with all that lies below."""
        if isinstance(part, list):
            return sum(map(self.of, part))
        names = part_names(part.__class__)
        if names is None:
            return 0
        if isinstance(part, tree.ForRange):
            return self._of_loop(part)
        return self._of_node(part) + sum(self.of(getattr(part, name)) for name in names)

    def _of_node(self, node: Any) -> int:
        if isinstance(node, tree.DirectCall):
            return self._of_function(node.symbol)
        if isinstance(node, tree.VirtualCall):
            return _CALL_THROUGH_CLASS + sum(
                map(self._of_function, methods_met(node, self._populated))
            )
        is_long = isinstance(node, tree.Binary) and node.operator in _LONG_OPERATORS
        if is_long or isinstance(node, tree.MathCall):
            return _LONG
        if not is_known(node):
            return INSTRUCTIONS
        return int(isinstance(node, _INSTRUCTIONS))

    def _of_function(self, symbol: str) -> int:
        known = self._known.get((symbol, self.room))
        if known is not None:
            return known
        if symbol in self._open:
            return 0  # it calls itself
        self._open.add(symbol)
        size = self._known[symbol, self.room] = self.of(self._functions[symbol].body)
        self._open.remove(symbol)
        return size

    def _of_loop(self, loop: tree.ForRange) -> int:
        around = self.of([loop.start, loop.stop, loop.step, loop.otherwise])
        each = max(1, self.of(loop.body))
        copies, most = self._usual_copies(loop, each)
        if each * copies > self.room:
            copies = min(most, _power_of_two(self.room // each))
            self.limited[loop] = min(copies, self.limited.get(loop, copies))
        return around + each * copies

    def _usual_copies(self, loop: tree.ForRange, each: int) -> tuple[int, int]:
        """How many copies of a loop compilers make, and how many at most if it is limited."""
        rounds = _rounds(loop)
        if rounds is not None:
            return rounds, rounds
        if any(isinstance(s, (tree.Break, tree.Return)) for s in statements_in(loop.body)):
            return 1, 1  # LLVM copies it only if it is told to
        by_llvm = min(_LLVM_COPIES, _power_of_two(_LLVM_INSTRUCTIONS // each))
        return _PTXAS_COPIES * by_llvm, by_llvm


def _loops(program: tree.Program) -> Iterator[tree.ForRange]:
    for function in program.functions.values():
        for statement in statements_in(function.body):
            if isinstance(statement, tree.ForRange):
                yield statement


def _power_of_two(number: int) -> int:
    """The largest that is not larger, at least 1; most numbers of rounds are multiples of it."""
    return 1 << (max(1, number).bit_length() - 1)


def _rounds(loop: tree.ForRange) -> int | None:
    """How many rounds a loop has, if that is known."""
    bounds = [loop.start, loop.stop, loop.step]
    numbers = [bound.value for bound in bounds if isinstance(bound, tree.Constant)]
    if len(numbers) < len(bounds) or not numbers[2]:
        return None
    start, stop, step = map(int, numbers)
    # len(range(...)) refuses numbers that need more than 63 bits.
    return max(0, -((start - stop) // step))
