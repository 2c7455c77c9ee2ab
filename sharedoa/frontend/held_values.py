"""Values that an expression needs several times, or in another order than the source has them."""

from __future__ import annotations

from ..model.types import TupleType
from . import tree


def items_of_tuple(value: tree.Expression) -> list[tree.Expression]:
    """Those that are written there, or each asked of the ``value``, which has to be held then."""
    if isinstance(value, tree.MakeTuple):
        return value.items
    assert isinstance(value.type, TupleType)
    items = enumerate(value.type.items)
    return [tree.TupleItem(type, value.location, value, place) for place, type in items]


class HeldValues:
    """Each is computed once, in the order in which they come, before what is made of them."""

    def __init__(self) -> None:
        self._bound: list[tuple[tree.Variable, tree.Expression]] = []

    def hold(self, value: tree.Expression) -> tree.Expression:
        """What stands for a value."""
        variable = tree.Variable("", value.type)
        self._bound.append((variable, value))
        return tree.Local(value.type, value.location, variable)

    def hold_unknown(self, value: tree.Expression) -> tree.Expression:
        """The same, but that constants, which may be larger than any variable, stand for
        themselves."""
        return value if isinstance(value, tree.Constant) else self.hold(value)

    def statements(self) -> list[tree.Statement]:
        """What computes them."""
        return [tree.Assign(value.location, variable, value) for variable, value in self._bound]

    def then(self, made: tree.Expression) -> tree.Expression:
        """``made``, after all of them."""
        for variable, value in reversed(self._bound):
            made = tree.Let(made.type, made.location, variable, value, made)
        return made
