"""Arrays and objects as tables of HTML, which notebooks show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import HeapError
from ..model.object import shown_field
from ..model.shown import shown, shown_fields, shown_row
from ..model.types import InlineType, ValueType
from .recording import is_recorded

if TYPE_CHECKING:
    from .array2 import Array2
    from .arrays import Array
    from .field_view import FieldView
    from .objects import ManyObjects

_MOST_ROWS = 10
_ENDS = 5
#: Says what each cell of a row is.
Row = Callable[[Any], list[str]]


def table_of_values(values: Array | FieldView) -> str | None:
    """Elements of numbers, inline arrays or value structs; None where nobody may look."""
    if is_recorded(values._heap):
        return None
    type = values._item
    heading, more = [repr(type)], 0
    one = shown_row if isinstance(type, InlineType) else shown
    row: Row = lambda value: [one(value)]  # noqa: E731
    if isinstance(type, ValueType):
        heading, more = shown_fields(type.fields)
        names = heading
        row = lambda value: [shown(getattr(value, name)) for name in names]  # noqa: E731
    return _table(values._description(), values, heading, more, row)


def table_of_rows(array: Array2) -> str | None:
    """Rows and columns, of which the first ones; None where nobody may look."""
    if is_recorded(array._heap):
        return None
    heading, more = shown_fields(map(str, range(array.shape[1])))
    row: Row = lambda found: [shown(found[place]) for place in range(len(heading))]  # noqa: E731
    return _table(array._description(), array, heading, more, row)


def table_of_objects(objects: ManyObjects) -> str | None:
    """A row an object, with the fields of the declared class; None where nobody may look."""
    if is_recorded(objects._heap):
        return None
    cls = objects._cls
    names, more = shown_fields(cls.fields)

    def row(one: Any) -> list[str]:
        if one is None:
            return ["None", *[""] * len(names)]
        return [type(one).__name__, *(shown_field(one, name) for name in names)]

    return _table(objects._description(), objects, ["class", *names], more, row)


def _table(title: str, values: Any, heading: Sequence[str], more: int, row: Row) -> str:
    count = len(values)
    few = count <= _MOST_ROWS
    places = [*range(count)] if few else [*range(_ENDS), -1, *range(count - _ENDS, count)]
    columns = ["", *heading, *(["..."] if more else [])]
    rows = [_cells("th", columns)]
    for place in places:
        if place < 0:
            rows.append(_cells("td", ["..."] * len(columns)))
            continue
        try:
            found = row(values[place])
        except HeapError as error:  # deleted
            found = [error.message]
        rows.append(_cells("td", [str(place), *found, *(["..."] if more else [])]))
    text = "".join(f"<tr>{cells}</tr>" for cells in rows)
    return f"<div>{escape(title)} of {count}</div><table>{text}</table>"


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
