"""What may happen to a program's objects and arrays, as data that both worlds play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: By object, its class and what its fields hold; by array, its elements.
Observation = tuple[dict[int, tuple[str, dict[str, Any]]], dict[str, list[Any]]]


@dataclass(frozen=True)
class New:
    """Objects of one class at once; ``columns`` are numbers, values and inline arrays by field."""

    cls: str
    ids: tuple[int, ...]
    columns: dict[str, list[Any]]
    name: str


@dataclass(frozen=True)
class NewArray:
    """Numbers, or references by id; from ``source``, an array with the same elements, if any."""

    name: str
    element: str
    values: tuple[Any, ...]
    source: str = ""


@dataclass(frozen=True)
class Slice:
    name: str
    source: str
    start: int
    stop: int


@dataclass(frozen=True)
class Split:
    """Field ``field`` of these objects gets the pieces of an array."""

    source: str
    lengths: tuple[int, ...]
    ids: tuple[int, ...]
    field: str


@dataclass(frozen=True)
class SetReference:
    """``place`` is the element of an inline array or of an array field; -1 is the field."""

    id: int
    field: str
    place: int
    value: int | None


@dataclass(frozen=True)
class SetArray:
    id: int
    field: str
    name: str


@dataclass(frozen=True)
class SetNumber:
    id: int
    field: str
    value: Any


@dataclass(frozen=True)
class SetElement:
    name: str
    place: int
    value: int


@dataclass(frozen=True)
class View:
    """``array[places].field op= values``; all of the array without places."""

    name: str
    places: tuple[int, ...] | None
    field: str
    operator: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Delete:
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Drop:
    name: str


@dataclass(frozen=True)
class Bind:
    name: str
    text: str


@dataclass(frozen=True)
class Dump:
    """To a file, and from there into another heap, of which ``number`` chooses the mode."""

    number: int


@dataclass(frozen=True)
class Launch:
    """Arguments are names of arrays, ids of objects, and numbers, as the parameter's type says."""

    kernel: str
    threads: int
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """``array.method(number, object, array)``"""

    name: str
    method: str
    number: int
    reference: int
    ints: str


@dataclass(frozen=True)
class Nothing:
    """The end, where everything is looked at."""


Operation = (
    New | NewArray | Slice | Split | SetReference | SetArray | SetNumber | SetElement | View
    | Delete | Drop | Bind | Dump | Launch | Call | Nothing
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """An operation, and what should be seen after it."""

    operation: Operation
    results: list[Any] | None
    after: Observation | None
