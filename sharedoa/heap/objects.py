"""What arrays of objects and populations have in common: fields and methods of many objects."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from ..errors import InternalError
from ..model import lazy_annotations
from ..model.classes import ClassType, setter_name
from ..model.frozen import refuse_frozen
from ..model.type_names import T_co
from ..model.types import ReferenceType
from . import hooks
from .conversion import column
from .field_view import FieldView, changes_now
from .placement import FieldPath, References, Selection

if TYPE_CHECKING:
    from .adjoints import AdjointFields
    from .arrays import Array
    from .heap import Heap


class _GivesWay:
    """An attribute of arrays, where the class of the objects declares none of that name."""

    def __init__(self, name: str, own: Any) -> None:
        self._name, self._own = name, own
        self.__doc__ = own.__doc__

    def __get__(self, instance: ManyObjects | None, owner: type) -> Any:
        if instance is not None and instance._declares(self._name):
            return instance._declared(self._name)
        return self._own.__get__(instance, owner)


class _MethodOfEach(partial[Any]):
    # ``objects.method``: a prompt shows the signature and docstring of the method itself.
    __slots__ = ()

    @property
    def _function(self) -> Any:
        objects, name = self.func.__self__, self.args[0]  # type: ignore[attr-defined]
        return objects._cls.find_method(name).function

    @property
    def __signature__(self) -> inspect.Signature:
        signature = lazy_annotations.signature(self._function)
        return signature.replace(parameters=[*signature.parameters.values()][1:])

    __doc__ = property(lambda self: self._function.__doc__)

    def __repr__(self) -> str:
        objects, name = self.func.__self__, self.args[0]  # type: ignore[attr-defined]
        return f"<{objects._cls.name}.{name} of each of {objects!r}>"


class ManyObjects(Generic[T_co]):
    """``objects.field`` is a view of the field of each, ``objects.method(...)`` calls it on each.

    Declared fields and methods come before attributes that arrays themselves have. That is why this
    package uses names with an underscore, which classes cannot declare (``keep_names_of``).
    """

    __slots__ = ()
    _heap: Heap

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            own = inspect.getattr_static(cls, name)
            if not name.startswith("_") and not isinstance(own, _GivesWay):
                setattr(cls, name, _GivesWay(name, own))

    @property
    def heap(self) -> Heap:
        return self._heap

    @property
    def cls(self) -> ClassType:
        """The declared class: every element is of it or of a subclass."""
        return self._cls

    @property
    def grad(self) -> AdjointFields:
        """The adjoints of each field of floats: ``objects.grad.pos`` (``oa.tape``)."""
        from .adjoints import AdjointFields

        return AdjointFields(self)

    def references(self) -> References:
        """One a object, u64 of shape (objects,)."""
        self._heap.upkeep.is_known_outside = True
        return self._references()

    def selection(self) -> Selection:
        """The objects ready for access. Raises HeapError if one is null or was deleted."""
        self._heap.upkeep.is_known_outside = True
        return self._selection()

    def field(self, name: str) -> Any:
        """A ``FieldView``; for a field that refers to objects, an array of these."""
        return self._field(name)

    @property
    def _cls(self) -> ClassType:
        raise NotImplementedError

    def _references(self) -> References:
        raise NotImplementedError

    def _selection(self) -> Selection:
        raise NotImplementedError

    def _field(self, name: str) -> Any:
        cls = self._cls
        type = cls.fields.get(name)
        if type is None:
            raise AttributeError(self._unknown(name))
        if isinstance(type, ReferenceType):
            from .field_references import FieldReferences

            return FieldReferences.of(self, name, type)
        # Nothing is read yet: who reads waits.
        since, selection = changes_now(self._heap), self._selection()
        return FieldView(self._heap, cls, selection, FieldPath(name), since, self)

    def _set_field(self, name: str, value: Any) -> None:
        """Assign one value to the field of every object, or to each its own.

        Raises ArgumentError for values that do not convert.
        """
        if isinstance(value, FieldView) and value.source is self and str(value.path) == name:
            return  # the end of an in-place operator, which has written already
        if self._cls.frozen:
            refuse_frozen(self._cls, name)
        self._heap.before_change()
        selection = self._selection()
        what = f"{self._cls.name}.{name}"
        type = self._cls.fields[name]
        if selection.count:
            values = column(type, value, selection.count, what, self._heap)
            selection.write(FieldPath(name), values)

    if TYPE_CHECKING:

        def __len__(self) -> int: ...

        def _description(self) -> str: ...

        # As of an array of objects.
        def __getattr__(self, name: str) -> Array: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name[:2] == "__":
                raise AttributeError(name)
            method = self._cls.methods.get(name)
            if method is not None and method.kind == "method":
                return _MethodOfEach(self._call, name)  # as most often: no field has this name
            if not self._declares(name):
                raise AttributeError(self._unknown(name))
            return self._declared(name)

    def _declares(self, name: str) -> bool:
        return name in self._cls.slots or name in self._cls.fields

    def _declared(self, name: str) -> Any:
        """The field or method of every object."""
        cls = self._cls
        if name in cls.fields:
            return self._field(name)
        method = cls.find_method(name)
        assert method is not None
        kind = method.kind
        if kind == "static" or kind == "class":
            raise AttributeError(f"{name} is of the class: call {cls.name}.{name}(...)")
        return self._call(name) if kind == "property" else _MethodOfEach(self._call, name)

    def __dir__(self) -> list[str]:
        """Fields and methods of the objects, and what arrays have themselves."""
        own = (name for name in super().__dir__() if name[:1] != "_" or name[:2] == "__")
        return sorted({*self._cls.fields, *self._cls.method_names, *own})

    def _repr_html_(self) -> str | None:
        from .tables import table_of_objects

        return table_of_objects(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._cls.fields:
            self._set_field(name, value)
        elif setter_name(name) in self._cls.slots:
            self._call(setter_name(name), value)
        else:
            raise AttributeError(self._not_assigned(name))

    def _not_assigned(self, name: str) -> str:
        cls = self._cls
        method = cls.find_method(name)
        if method is None:
            return self._unknown(name)
        if method.kind != "property":
            return f"{cls.name}.{name} is a method, and is called: objects.{name}(...)"
        if getattr(cls.python_class, name).fset is None:
            return f"{cls.name}.{name} is a property without a setter: write @{name}.setter"
        return (
            f"the setter of {cls.name}.{name} runs on the host only: give its parameter a type "
            "that kernels know, or assign to one object after another"
        )

    def _call(self, name: str, /, *arguments: Any, **named: Any) -> Any:
        if hooks.vectorised_call is None:
            raise InternalError("no runtime has been loaded that could call methods")
        return hooks.vectorised_call(self, name, arguments, named)

    def _unknown(self, name: str) -> str:
        cls = self._cls
        if inspect.isfunction(getattr(cls.python_class, name, None)) and name not in cls.slots:
            return f"{cls.name}.{name} runs on the host only: call it of one object after another"
        return (
            f"{cls.name} has no field or method {name!r}; fields: "
            f"{', '.join(cls.fields) or 'none'}; methods: {', '.join(cls.method_names) or 'none'}"
        )
