"""The types that fields, parameters and locals of the compiled subset have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Union

from .scalars import ScalarType as ScalarType

if TYPE_CHECKING:
    from .classes import ClassType


@dataclass(frozen=True)
class ReferenceType:
    """A reference to an object of ``cls`` or of a subclass, or null."""

    cls: ClassType

    def __repr__(self) -> str:
        return self.cls.name


@dataclass(frozen=True)
class ArrayType:
    """``oa.Array[T]``: address and length of elements that lie one after another."""

    element: Type

    def __repr__(self) -> str:
        return f"Array[{self.element!r}]"


@dataclass(frozen=True)
class InlineType:
    """``oa.inline[T, N]``: N elements inside the object itself."""

    element: Type
    length: int

    def __repr__(self) -> str:
        return f"inline[{self.element!r}, {self.length}]"


@dataclass(frozen=True, eq=False)
class ValueType:
    """A value struct (``@oa.value``): immutable, copied, with methods but without identity.

    ``fields`` may hold scalars, references and other value structs. Equality is identity: a
    redefined struct is another type. ``dtype`` is how it lies in memory where another compiler has
    laid it out, None for C alignment.
    """

    name: str
    python_class: type
    fields: dict[str, Type] = field(repr=False)
    methods: dict[str, Callable[..., Any]] = field(repr=False)
    dtype: Any = field(default=None, repr=False)
    #: Whether memory can hold such values; else they are arguments only.
    in_memory: ClassVar[bool] = True

    def __repr__(self) -> str:
        return self.name

    def accept(self, value: Any, what: str) -> Any:
        """``value`` as an argument ``what`` of a type that memory cannot hold. Raises ArgumentError
        for what is none, HeapError for what can no longer be used."""
        raise NotImplementedError


@dataclass(frozen=True)
class TupleType:
    """Several values together; exists only in locals and results."""

    items: tuple[Type, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


@dataclass(frozen=True)
class NullType:
    """The type of ``None`` where a reference is expected."""

    def __repr__(self) -> str:
        return "None"


@dataclass(frozen=True)
class VoidType:
    """The result of a function that returns nothing."""

    def __repr__(self) -> str:
        return "None"


Type = Union[
    ScalarType, ReferenceType, ArrayType, InlineType, ValueType, TupleType, NullType, VoidType
]

NULL = NullType()
VOID = VoidType()
