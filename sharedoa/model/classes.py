"""What the compiler and the heap know of a shared class.

A ``ClassType`` belongs to one Python class. Two numbers tie objects to code and never change:

* ``type_index`` numbers the concrete and abstract classes of the process from 1; an object's
  range, tag or pointer bits give it;
* ``entry_base + slot`` is the place of a method in the *function table* of its family (the classes
  below one direct subclass of ``oa.Object``). A vtable holds these entries, never code addresses,
  because a method has another address in every loaded module.

A method gets a slot where it is first defined; overrides reuse it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dispatch.dataclass import dataclass, field

from ..errors import ClassError, UnresolvedNameError
from ..forks import renew_in_child
from .types import Type
from .world import World

if TYPE_CHECKING:
    from .foreign import ForeignClass
    from .members import MemberKind


class _TypeIndices:
    """Numbers from 1, each given out once."""

    def __init__(self) -> None:
        self._next = 1
        self._lock = renew_in_child(threading.Lock())

    def take(self, count: int) -> range:
        """``count`` numbers that follow one another."""
        with self._lock:
            first = self._next
            self._next += count
        return range(first, first + count)


_type_indices = _TypeIndices()
_by_index: WeakValueDictionary[int, ClassType] = WeakValueDictionary()


def take_type_indices(count: int) -> range:
    """Type indices for classes that are to have consecutive ones."""
    return _type_indices.take(count)


def class_of_index(type_index: int) -> ClassType | None:
    return _by_index.get(type_index)


@dataclass(frozen=True, eq=False)
class Signature:
    """Parameters after the receiver, and the result. The first ``never_named`` are given by
    position alone, the last ``only_named`` by name alone."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    result: Type
    defaults: dict[str, Any] = field(default_factory=dict)
    only_named: int = 0
    never_named: int = 0

    @property
    def most_by_position(self) -> int:
        """As many arguments may be given by position."""
        return len(self.names) - self.only_named

    @property
    def by_name(self) -> tuple[str, ...]:
        """Parameters that may be given by name."""
        return self.names[self.never_named :]

    def parameters(self) -> str:
        """As in a def."""
        found = [
            f"{name}: {type!r}" + (f" = {self.defaults[name]!r}" if name in self.defaults else "")
            for name, type in zip(self.names, self.types, strict=True)
        ]
        if self.only_named:
            found.insert(self.most_by_position, "*")
        if self.never_named:
            found.insert(self.never_named, "/")
        return ", ".join(found)


@dataclass(eq=False)
class Method:
    """A method as written in the class body of ``owner``; ``function`` is the user's own. One that
    is abstract may have a body, which overrides call by ``super()`` (``abc.abstractmethod``)."""

    name: str
    owner: ClassType
    function: Callable[..., Any]
    abstract: bool
    resolve: Callable[[], Signature]
    kind: MemberKind = "method"
    has_body: bool = True
    _signature: Signature | None = None

    @property
    def signature(self) -> Signature:
        """Resolved at first use, so that annotations may refer to classes defined later."""
        if self._signature is None:
            self._signature = self.resolve()
        return self._signature


#: Setters are methods that nobody else can name.
_SETTER = ".setter"


def setter_name(attribute: str) -> str:
    """What the setter of a property is called among the methods of its class."""
    return attribute + _SETTER


def attribute_name(method: str) -> str:
    """The attribute of the class that a method is part of."""
    return method.removesuffix(_SETTER)


#: What a class may ask for, as the heap's setting may.
LAYOUTS = ("aos", "tile")


@dataclass(eq=False)
class Family:
    """The classes below one root. ``entries`` counts places in its function table; ``layout`` is
    the one that the root's definition asks for, if any."""

    root: ClassType
    entries: int = 0
    layout: str | None = None


@dataclass(eq=False)
class ClassType:
    """A shared class: its place in the hierarchy, fields, methods and vtable slots.

    ``foreign`` is what another compiler's program says of a class that it has laid out;
    ``unordered`` are fields of its own that threads of a launch may access in any order.
    """

    name: str
    python_class: type
    base: ClassType | None
    resolve_fields: Callable[[], dict[str, Type]]
    methods: dict[str, Method] = field(default_factory=dict)
    subclasses: list[ClassType] = field(default_factory=list)
    type_index: int = field(default_factory=lambda: take_type_indices(1)[0])
    foreign: ForeignClass | None = None
    unordered: frozenset[str] = frozenset()
    #: Whether fields are written but once, when an object is made (``model.frozen``).
    frozen: bool = False
    #: Its own ``__init__``, which is not virtual.
    initialiser: Method | None = None
    #: What fields begin with, of its own and of inherited ones that it changes.
    own_defaults: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    entry_base: int = 0
    #: What was made for it and goes with it (``kept_by_class``).
    made: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _own_fields: dict[str, Type] | None = None
    _own_abstract: list[str] | None = None
    _all_fields: dict[str, Type] | None = None

    def __post_init__(self) -> None:
        _by_index[self.type_index] = self
        self.family: Family = self.base.family if self.base else Family(self)

    def __repr__(self) -> str:
        return self.name

    def join(self) -> None:
        """Number the virtual methods and enter the hierarchy; called once, when ``methods`` is
        complete, as other threads compile calls of whatever classes they find there."""
        self.slots = dict(self.base.slots) if self.base else {}
        for name in self.methods:
            self.slots.setdefault(name, len(self.slots))
        self.entry_base = self.family.entries
        self.family.entries += len(self.slots)
        if self.base:
            # Another list, as other threads may be going through it.
            self.base.subclasses = [*self.base.subclasses, self]

    @property
    def own_fields(self) -> dict[str, Type]:
        """Fields that the class itself declares, resolved at first use."""
        if self._own_fields is None:
            try:
                self._own_fields = self.resolve_fields()
            except UnresolvedNameError:
                raise
            except ClassError:
                self.withdraw()
                raise
        return self._own_fields

    @property
    def is_resolved(self) -> bool:
        """Whether all fields are known, without which there are no objects."""
        return all(cls._own_fields is not None for cls in self.ancestry())

    def withdraw(self) -> None:
        """Leave the hierarchy: a class with an error has no objects and must not stand in the way
        of the corrected one."""
        with World.changing:
            if self.base and any(each is self for each in self.base.subclasses):
                self.base.subclasses = [each for each in self.base.subclasses if each is not self]
                World.advance()

    @property
    def fields(self) -> dict[str, Type]:
        """All fields, inherited ones first, in order of declaration."""
        if self._all_fields is None:
            inherited = self.base.fields if self.base else {}
            self._all_fields = {**inherited, **self.own_fields}
        return self._all_fields

    @property
    def defaults(self) -> dict[str, Any]:
        """What fields of new objects begin with that are not zero or null."""
        inherited = self.base.defaults if self.base else {}
        return {**inherited, **self.own_defaults} if self.own_defaults else inherited

    def field_owner(self, name: str) -> ClassType | None:
        return next((cls for cls in self.ancestry() if name in cls.own_fields), None)

    def ancestry(self) -> Iterator[ClassType]:
        """This class, its base, and so on up to the root."""
        cls: ClassType | None = self
        while cls is not None:
            yield cls
            cls = cls.base

    def descendants(self) -> Iterator[ClassType]:
        """This class and everything below it, bases before subclasses."""
        yield self
        for subclass in self.subclasses:
            yield from subclass.descendants()

    def is_subclass_of(self, other: ClassType) -> bool:
        return any(cls is other for cls in self.ancestry())

    def find_method(self, name: str) -> Method | None:
        """The method that an object of exactly this class runs."""
        cls: ClassType | None = self
        while cls is not None:
            method = cls.methods.get(name)
            if method is not None:
                return method
            cls = cls.base
        return None

    def find_initialiser(self) -> Method | None:
        """The ``__init__`` that objects of exactly this class begin with."""
        return next((c.initialiser for c in self.ancestry() if c.initialiser is not None), None)

    def install(self, method: Method) -> None:
        """Add the method, or put it in the place of one of its name."""
        self.methods[method.name] = method
        self._own_abstract = None

    def uninstall(self, name: str) -> None:
        """Take the class's own method of that name away."""
        del self.methods[name]
        self._own_abstract = None

    @property
    def method_names(self) -> list[str]:
        """Methods and properties as programs write them, inherited ones first."""
        return list(dict.fromkeys(map(attribute_name, self.slots)))

    @property
    def abstract_methods(self) -> list[str]:
        """Methods without a body, by name, inherited ones first."""
        if self._own_abstract is None:
            self._own_abstract = [m.name for m in self.methods.values() if m.abstract]
        inherited = self.base.abstract_methods if self.base else []
        return [*(name for name in inherited if name not in self.methods), *self._own_abstract]

    def why_abstract(self) -> str:
        """What complaints say of a class without objects."""
        missing = self.abstract_methods
        methods = [self.find_method(name) for name in missing]
        if any(method is not None and method.has_body for method in methods):
            how = "is an abstract method" if len(missing) == 1 else "are abstract methods"
        else:
            how = "has no body" if len(missing) == 1 else "have no body"
        return f"{self.name} is abstract: {', '.join(missing)} {how}"

    @property
    def is_abstract(self) -> bool:
        if self.foreign is not None:
            return self.foreign.is_abstract
        return bool(self.abstract_methods)

    def concrete(self) -> list[ClassType]:
        """The classes at or below this one that can have objects, by type index."""
        found = [cls for cls in self.descendants() if not cls.is_abstract]
        return sorted(found, key=lambda cls: cls.type_index)

    def is_overridden(self, name: str) -> bool:
        """Whether a subclass defines the method again, or this class leaves it abstract."""
        method = self.find_method(name)
        if method is not None and method.abstract:
            return True
        return any(name in cls.methods for cls in self.descendants() if cls is not self)


def common_base(classes: list[ClassType]) -> ClassType | None:
    """The most derived class that all of ``classes`` are or extend."""
    first, *others = classes
    for cls in first.ancestry():
        if all(other.is_subclass_of(cls) for other in others):
            return cls
    return None
