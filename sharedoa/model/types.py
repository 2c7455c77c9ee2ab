"""The types that fields, parameters and locals of the compiled subset have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Union

from dispatch.dataclass import dataclass, field

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
    """``oa.inline[T, N]``: N elements inside the object itself; with several lengths, elements in
    rows (``oa.inline[T, 3, 3]``)."""

    element: Type
    shape: tuple[int, ...]

    @property
    def length(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def item(self) -> Type:
        """What one index gives: an element, or a row."""
        rest = self.shape[1:]
        return InlineType(self.element, rest) if rest else self.element

    def __repr__(self) -> str:
        return f"inline[{self.element!r}, {', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, eq=False)
class ValueType:
    """A value struct (``@oa.value``): immutable, copied, with methods but without identity.

    ``fields`` may hold scalars, references, inline arrays and other value structs. Equality is
    identity: a redefined struct is another type. ``dtype`` is how it lies in memory where another
    compiler has laid it out, None for C alignment; of a vector or a matrix it is an array of its
    components. ``forms``: by method, others that do the same for other arguments.
    ``constructors``: functions that make a value of so many arguments. ``defaults``: of fields that
    a program need not give. ``properties``: methods that are called where they are named. ``made``:
    what was made for it and goes with it.
    """

    name: str
    python_class: type
    fields: dict[str, Type] = field(repr=False)
    methods: dict[str, Callable[..., Any]] = field(repr=False)
    dtype: Any = field(default=None, repr=False)
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    constructors: dict[int, Any] = field(default_factory=dict, repr=False)
    defaults: dict[str, Any] = field(default_factory=dict, repr=False)
    properties: frozenset[str] = frozenset()
    made: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    #: Whether memory can hold such values; else they are arguments only.
    in_memory: ClassVar[bool] = True

    def __repr__(self) -> str:
        return self.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the components of a vector or a matrix, which to NumPy is an array; else empty."""
        return () if self.dtype is None else self.dtype.shape

    @property
    def component(self) -> ScalarType:
        """The type of each component of a vector, or a matrix, whose fields are rows."""
        found = next(iter(self.fields.values()))
        if isinstance(found, ValueType):
            return found.component
        assert isinstance(found, ScalarType)
        return found

    def accept(self, value: Any, what: str) -> Any:
        """``value`` as an argument ``what`` of a type that memory cannot hold. Raises ArgumentError
        for what is none, HeapError for what can no longer be used."""
        raise NotImplementedError


@dataclass(frozen=True)
class ListType:
    """A list of a fixed length, which only the thread that made it can reach: exists only in locals
    and as an argument of functions. Values of it are references: assigning one copies nothing."""

    element: Type

    def __repr__(self) -> str:
        return f"list[{self.element!r}]"


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
    ScalarType, ReferenceType, ArrayType, InlineType, ValueType, ListType, TupleType, NullType,
    VoidType,
]  # fmt: skip

NULL = NullType()
VOID = VoidType()


def array_form(type: Type) -> tuple[Type, tuple[int, ...]]:
    """What NumPy sees of a value of ``type``: the type of each item, and the shape of an inline
    array, a vector or a matrix; empty for everything else."""
    if isinstance(type, InlineType):
        item, shape = array_form(type.element)
        return item, (*type.shape, *shape)
    if isinstance(type, ValueType) and type.shape:
        return type.component, type.shape
    return type, ()
