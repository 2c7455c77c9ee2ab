"""Which parameters a kernel uses as objects in every launch, so that None for them is a mistake.

What is uncertain is not claimed: what stands in branches, in loops, behind a ``return`` or an
``assert``. The one branch that is looked into is the usual one around a kernel, ``if i < len(a)``,
which some thread enters if ``a`` has elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..model.types import ReferenceType
from . import tree
from .effects import assigned_by, is_known
from .walk import nodes_in, nodes_of, part_names

#: What of a node is evaluated whenever the node is; of others everything.
_CERTAIN_PARTS: dict[Any, tuple[str, ...]] = {
    tree.Logical: ("left",),
    tree.Conditional: ("test",),
    tree.If: ("test",),
    tree.While: ("test",),
    tree.ForRange: ("start", "stop", "step"),
}
_LEAVES = (tree.Return, tree.Break, tree.Continue, tree.Assert)


def certain_receivers(program: tree.Program) -> dict[int, tuple[int, ...]]:
    """Places of the kernel's parameters that it uses as objects whenever the arrays at the places
    that are the value have elements."""
    kernel = program.kernel
    places = {variable: place for place, variable in enumerate(kernel.parameters)}
    found = _Uses(program.functions).of(kernel)
    return {places[v]: tuple(sorted(places[array] for array in needed)) for v, needed in found}


class _Uses:
    def __init__(self, functions: dict[str, tree.Function]) -> None:
        self._functions = functions
        self._always: dict[str, frozenset[int]] = {}

    def of(self, function: tree.Function) -> list[tuple[tree.Variable, frozenset[tree.Variable]]]:
        """The parameters, and of each the arrays that must have elements."""
        changed = {variable for node in nodes_of(function) for variable in assigned_by(node)}
        given = {v for v in function.parameters if v not in changed}
        threads = _thread_indices(function)
        found: dict[tree.Variable, frozenset[tree.Variable]] = {}
        body: Sequence[tree.Statement] = function.body
        needed: frozenset[tree.Variable] = frozenset()
        pending = [(body, needed)]
        while pending:
            body, needed = pending.pop()
            for node in body:
                for variable in self._used_by(node):
                    if variable in given and isinstance(variable.type, ReferenceType):
                        found.setdefault(variable, needed)
                if isinstance(node, tree.If):
                    array = _guarding(node.test, threads)
                    if array in given:
                        pending.append((node.then, needed | {array}))
                if _may_leave(node):
                    break
        return list(found.items())

    def _used_by(self, node: Any) -> Iterator[tree.Variable]:
        """Variables that are used as objects whenever ``node`` is evaluated."""
        if not is_known(node):
            return
        receiver = _receiver(node)
        if isinstance(receiver, tree.Local):
            yield receiver.variable
        if isinstance(node, tree.DirectCall):
            for place in self._always_used(node.symbol):
                given = _plain(node.arguments[place])
                if isinstance(given, tree.Local):
                    yield given.variable
        for name in _CERTAIN_PARTS.get(node.__class__, part_names(node.__class__) or ()):
            part = getattr(node, name)
            for each in part if isinstance(part, list) else [part]:
                if part_names(each.__class__) is not None:
                    yield from self._used_by(each)

    def _always_used(self, symbol: str) -> frozenset[int]:
        """Places of the parameters that a function uses as objects in every call."""
        known = self._always.get(symbol)
        if known is None:
            self._always[symbol] = frozenset()  # of a function that calls itself nothing is claimed
            function = self._functions[symbol]
            places = {variable: place for place, variable in enumerate(function.parameters)}
            known = frozenset(places[v] for v, needed in self.of(function) if not needed)
            self._always[symbol] = known
        return known


def _receiver(node: Any) -> Any:
    if isinstance(node, tree.VirtualCall):
        return _plain(node.receiver)
    return _plain(node.object) if isinstance(node, tree.FieldPlace) else None


def _plain(node: Any) -> Any:
    while isinstance(node, tree.Convert):
        node = node.value
    return node


def _may_leave(node: tree.Statement) -> bool:
    return any(isinstance(each, _LEAVES) or not is_known(each) for each in nodes_in(node))


def _thread_indices(function: tree.Function) -> set[tree.Variable]:
    """Variables that are the thread's index and nothing else."""
    values: dict[tree.Variable, list[Any]] = {}
    for node in nodes_of(function):
        for variable in assigned_by(node):
            value = node.value if isinstance(node, tree.Assign) else None
            values.setdefault(variable, []).append(_plain(value))
    return {v for v, given in values.items() if all(isinstance(g, tree.ThreadIndex) for g in given)}


def _guarding(test: tree.Expression, threads: set[tree.Variable]) -> Any:
    """The array ``a`` of ``i < len(a)``, where ``i`` is the thread's index; else None."""
    if not isinstance(test, tree.Compare) or test.operator != "lt":
        return None
    left, right = _plain(test.left), _plain(test.right)
    is_index = isinstance(left, tree.ThreadIndex) or (
        isinstance(left, tree.Local) and left.variable in threads
    )
    if is_index and isinstance(right, tree.ArrayLength) and isinstance(right.array, tree.Local):
        return right.array.variable
    return None
