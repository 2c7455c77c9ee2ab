"""What an expression of the source can be besides a value: things known at compile time, methods
waiting for their call, and inline arrays, which exist only as places."""

from __future__ import annotations

from typing import Any, Union

from dispatch.dataclass import dataclass

from ..model.classes import ClassType
from ..model.types import InlineType
from . import tree


@dataclass
class Static:
    """A Python object known at compile time: a module, class, function or constant."""

    value: Any
    name: str


@dataclass
class BoundMethod:
    """``receiver.name``, about to be called; of a shared class or a value struct."""

    receiver: tree.Expression
    name: str


@dataclass
class Initialiser:
    """``Class.__init__`` or ``super().__init__``; ``cls`` is None above every shared class."""

    cls: ClassType | None
    receiver: tree.Expression | None = None
    name = "__init__"


@dataclass
class UnboundMethod:
    """``Class.name`` or ``super().name``: exactly that class's method, not virtual."""

    cls: ClassType
    name: str
    receiver: tree.Expression | None = None


@dataclass
class InlineArray:
    """An inline array field, or a row of one: where it lies, or as a part of a value that is not in
    memory."""

    source: tree.Place | tree.Expression

    @property
    def type(self) -> InlineType:
        assert isinstance(self.source.type, InlineType)
        return self.source.type

    @property
    def value(self) -> tree.Expression:
        """All of it."""
        if isinstance(self.source, tree.Expression):
            return self.source
        return tree.Load(self.type, self.source.location, self.source)


@dataclass
class ConstantRow:
    """A tuple or NumPy array known at compile time, or what is in it at ``steps``: an index that is
    known, or an expression, and whether it may be negative."""

    value: Any
    name: str
    steps: list[Union[int, tuple[tree.Expression, bool]]]


Operand = Union[
    tree.Expression, Static, BoundMethod, UnboundMethod, Initialiser, InlineArray, ConstantRow
]
