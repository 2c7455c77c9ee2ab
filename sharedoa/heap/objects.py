"""What arrays of objects and populations have in common: fields and methods of many objects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, InternalError
from ..model.classes import ClassType
from ..model.types import ReferenceType
from . import hooks
from .conversion import column
from .field_view import FieldView
from .placement import FieldPath, References, Selection

if TYPE_CHECKING:
    from .heap import Heap


class ManyObjects:
    """``objects.field`` is a view of the field of each, ``objects.method(...)`` calls it on each.

    A field with the name of an attribute that arrays themselves have is reached by
    ``objects.field(name)``.
    """

    __slots__ = ()
    heap: Heap

    @property
    def cls(self) -> ClassType:
        """The declared class: every element is of it or of a subclass."""
        raise NotImplementedError

    def references(self) -> References:
        """One a object, u64 of shape (objects,)."""
        raise NotImplementedError

    def selection(self) -> Selection:
        """The objects ready for access. Raises HeapError if one is null or was deleted."""
        raise NotImplementedError

    def field(self, name: str) -> Any:
        """A ``FieldView``; for a field that refers to objects, an array of these."""
        if name not in self.cls.fields:
            raise AttributeError(self._unknown(name))
        type = self.cls.fields[name]
        if isinstance(type, ReferenceType):
            from .arrays import FieldReferences

            return FieldReferences.of(self, name, type)
        self.heap.wait()
        return FieldView(self.heap, self.cls, self.selection(), FieldPath(name), self)

    def set_field(self, name: str, value: Any) -> None:
        """Assign one value to the field of every object, or to each its own.

        Raises ArgumentError for values that do not convert.
        """
        if isinstance(value, FieldView) and value.source is self and str(value.path) == name:
            return  # the end of an in-place operator, which has written already
        self.heap.wait()
        selection = self.selection()
        what = f"{self.cls.name}.{name}"
        type = self.cls.fields[name]
        if selection.count:
            values = column(type, value, selection.count, what, self.heap)
            selection.write(FieldPath(name), values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.cls.fields:
            return self.field(name)
        if name in self.cls.slots:
            return partial(self._call, name)
        raise AttributeError(self._unknown(name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.cls.fields:
            raise AttributeError(self._unknown(name))
        self.set_field(name, value)

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        if named:
            raise ArgumentError(
                f"{self.cls.name}.{name} is called on many objects with named arguments",
                "pass them by position",
            )
        if hooks.vectorised_call is None:
            raise InternalError("no runtime has been loaded that could call methods")
        return hooks.vectorised_call(self, name, arguments)

    def _unknown(self, name: str) -> str:
        cls = self.cls
        return (
            f"{cls.name} has no field or method {name!r}; fields: "
            f"{', '.join(cls.fields) or 'none'}; methods: {', '.join(cls.slots) or 'none'}"
        )
