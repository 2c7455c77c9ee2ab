"""``oa.Object``: a Python class whose instances live in memory that CPU and GPU share.

A Python instance is a *proxy*: a reference and the heap that it points into. Fields read and write
that memory; methods are the user's own functions, run by CPython on the proxy. The same functions
are what kernels compile.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, _ProtocolMeta

from ..errors import ArgumentError, ClassError, HeapError, UnresolvedNameError
from . import lazy_annotations
from .annotations import OWN_CLASS, Scope, declare, local_names, refuse_grid, refuse_list, resolve
from .class_body import (
    check_members,
    check_unordered,
    field_annotations,
    refuse_ignored,
    take_defaults,
)
from .classes import LAYOUTS, ClassType, Method, Signature, attribute_name, setter_name
from .deleted import DeletedReference
from .field_access import FieldAccess, InlineField
from .frozen import check_frozen
from .functions import is_abstract_body, refuse_lambda, stand_in, user_function
from .members import (
    MemberKind,
    member_of,
    mixed_in,
    pass_over_protocols,
    setter_of,
    split_bases,
    wrapped,
)
from .shown import shown, shown_fields, shown_row
from .signatures import resolve_signature, scope_of
from .source_text import remember_source
from .types import VOID, ArrayType, InlineType, ReferenceType, TupleType, Type
from .values import convert
from .world import World

#: ``C(*arguments, **fields)``: ``heap.interface`` installs it, as heaps rest on this.
construct: Callable[[ClassType, tuple[Any, ...], dict[str, Any]], Any] | None = None
#: ``node.grad``, likewise.
grad_of: Callable[[Object], Any] | None = None


class ObjectMeta(_ProtocolMeta):
    """Turns a class statement into a ``ClassType``; watches methods that are replaced later.

    It is a subclass of what ABCs and protocols are made by for bases that are such, and no more:
    which methods are abstract is said by ``ClassType``, also when they are replaced, and asking for
    a class takes no longer.
    """

    __sharedoa__: ClassType | None
    __instancecheck__, __subclasscheck__ = type.__instancecheck__, type.__subclasscheck__

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> ObjectMeta:
        frame = sys._getframe(1)
        local = local_names(frame)
        is_root = not any(isinstance(base, ObjectMeta) for base in bases)
        if is_root:
            return type.__new__(mcls, name, bases, namespace, **options)
        base = split_bases(name, bases, lambda each: isinstance(each, ObjectMeta))
        defaults = take_defaults(base, namespace, lazy_annotations.of_class_body(namespace))
        annotations = field_annotations(name, base, namespace)
        check_members(name, base, annotations, namespace)
        namespace["__slots__"] = ()
        layout = options.pop("layout", None)
        known = getattr(base, "__sharedoa__", None)
        frozen = check_frozen(name, options.pop("frozen", None), known, namespace)
        unordered = check_unordered(name, options.pop("unordered", ()), annotations)
        cls = type.__new__(mcls, name, bases, namespace, **options)
        pass_over_protocols(cls)
        members = {**mixed_in(cls, base), **namespace}
        _declare_class(cls, base, annotations, defaults, members, frame.f_globals, local)
        assert cls.__sharedoa__ is not None
        cls.__sharedoa__.unordered, cls.__sharedoa__.frozen = unordered, frozen
        if layout is not None:
            _ask_for_layout(cls, layout)
        return cls

    def register(cls, subclass: type) -> Any:
        raise ClassError(
            f"{cls.__name__}.register({subclass!r}): objects of shared classes are of no others",
            f"subclass it: class C({cls.__name__})",
        )

    def __init__(cls, name: str, bases: Any, namespace: Any, **options: Any) -> None:
        super().__init__(name, bases, namespace)

    if not TYPE_CHECKING:  # to a checker C(...) is a C, which this would hide

        def __call__(cls, *arguments: Any, **fields: Any) -> Any:
            """``C(**fields)``: one new object in the current heap."""
            shared = cls.__sharedoa__
            if shared is None:
                raise ClassError(
                    "oa.Object itself cannot be instantiated", "subclass it: class C(oa.Object)"
                )
            assert construct is not None
            return construct(shared, arguments, fields)

    def __setattr__(cls, name: str, value: Any) -> None:
        shared = cls.__dict__.get("__sharedoa__")
        if shared is None or (name.startswith("__") and name not in shared.slots):
            refuse_ignored(cls.__name__, name)
            super().__setattr__(name, value)
            if shared is not None and name == "__init__":
                _note_initialiser(shared, value, None)
            return
        known = shared.find_method(name) if name in shared.slots else None
        if not inspect.isfunction(value) or known is None or known.kind != "method":
            raise ClassError(
                f"{cls.__name__}.{name} cannot be set: the class is already laid out",
                "a method that exists may be replaced by a function; for anything else define the "
                "class again",
            )
        method = _make_method(shared, name, value, _scope_of_set(value, cls))
        _check_replacement(method)
        World.about_to_change()
        with World.changing:
            _install_method(cls, method)
            World.advance()

    def __delattr__(cls, name: str) -> None:
        shared = cls.__dict__.get("__sharedoa__")
        inherited = shared is not None and shared.base and name in shared.base.slots
        if shared is None or name not in shared.methods or not inherited:
            raise ClassError(
                f"{cls.__name__}.{name} cannot be deleted",
                "only an override can, which brings the inherited method back",
            )
        World.about_to_change()
        with World.changing:
            for each in name, setter_name(name):
                if each in shared.methods:
                    shared.uninstall(each)
            super().__delattr__(name)
            World.advance()


def _ask_for_layout(cls: ObjectMeta, layout: Any) -> None:
    shared = cls.__sharedoa__
    assert shared is not None
    if layout not in LAYOUTS:
        shared.withdraw()
        raise ClassError(
            f"class {cls.__name__} asks for layout {layout!r}", f"layouts are {', '.join(LAYOUTS)}"
        )
    if shared.base is not None:
        shared.withdraw()
        root = shared.family.root.name
        raise ClassError(
            f"class {cls.__name__} cannot have a layout of its own: references to {root} reach its "
            "fields, too",
            f"give it to the first class: class {root}(oa.Object, layout={layout!r})",
        )
    shared.family.layout = layout


class Object(metaclass=ObjectMeta):
    """Base of all shared classes. Fields are annotated; a method with the body ``...`` is abstract.

    ``class C(oa.Object, layout="aos")`` says how objects of C and its subclasses lie where the heap
    leaves it open (layout auto, which on GPUs looks at what launches touch): ``aos`` one after
    another, ``tile`` 32 side by side with a row for each field, for good.

    ``class C(oa.Object, unordered=("a", "b"))`` says of fields that it is all the same in which
    order threads of a launch read and write them: debug mode takes no races there for mistakes.

    ``class C(oa.Object, frozen=True)`` says that objects of C and its subclasses stay as they are
    made: nobody can write to their fields, so code of kernels may know what they hold.

    Two objects are equal when they are the same object.
    """

    __slots__ = ("__weakref__", "_heap", "_reference", "_stable_hash")
    __sharedoa__: ClassVar[Any] = None
    #: Once somebody has asked for it.
    _stable_hash: int
    _heap: Any
    #: Of a deleted object a DeletedReference.
    _reference: Any

    if TYPE_CHECKING:
        # Not by dataclass_transform: fields that are not named are zero, which it has no word for,
        # and it would put one of its own in place of an inherited __init__.
        def __init__(self, *arguments: Any, **fields: Any) -> None: ...

    else:  # for a checker classes could have no field of that name

        @property
        def grad(self) -> Any:
            """The adjoints of each field of floats: ``node.grad.pos`` (``oa.tape``)."""
            return grad_of(self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Object)
            and self._reference == other._reference
            and self._heap is other._heap
        )

    def __hash__(self) -> int:
        # Sets and dictionaries find an object that has moved: while one holds its proxy, it has no
        # other. The first reference, and not an address, keeps their order from run to run.
        try:
            return self._stable_hash
        except AttributeError:
            self._stable_hash = hash(self._reference)
            return self._stable_hash

    def __reduce__(self) -> Any:
        raise TypeError(
            f"an object of {type(self).__name__} lies in the memory of its heap and cannot be "
            "copied or pickled by itself; make another one with oa.new, or keep the heap with "
            "oa.dump"
        )

    def _shown_reference(self) -> str:
        if isinstance(self._reference, DeletedReference):
            return f"<{type(self).__name__} at {self._reference!r}>"
        address = self._heap.encoding.address(self._reference)
        return f"<{type(self).__name__} at {address:#x}>"

    def __repr__(self) -> str:
        short, fields = self._shown_reference(), type(self).__sharedoa__.fields
        if isinstance(self._reference, DeletedReference) or not fields:
            return short
        if self._heap.is_recorded:
            return short
        names, more = shown_fields(fields)
        parts = [f"{name}={shown_field(self, name)}" for name in names]
        rest = [f"{more} more"] if more else []
        return f"{short[:-1]}: {', '.join(parts + rest)}>"


def shown_field(obj: Object, name: str) -> str:
    """A field of one object for a prompt."""
    try:
        value = getattr(obj, name)
        return shown_row(value) if isinstance(value, InlineField) else shown(value)
    except HeapError:  # what it refers to was deleted
        return "deleted"


def make_proxy(cls: ClassType, heap: Any, reference: int) -> Any:
    """The Python instance for an object of ``cls`` that exists in ``heap``."""
    proxy: Any = object.__new__(cls.python_class)
    proxy._heap = heap
    proxy._reference = reference
    return proxy


def bury_proxy(proxy: Any) -> None:
    """The object of ``proxy`` was deleted: whatever is done with it is refused from now on."""
    reference = proxy._reference
    address = proxy._heap.encoding.address(reference)
    proxy._reference = DeletedReference(reference, address, type(proxy).__name__)


def _refuse_deleted(proxy: Any, name: str, *_: Any) -> Any:
    if name.startswith("__"):  # which Python asks any object for
        raise AttributeError(name)
    raise proxy._reference.error()


def _refuse_class(proxy: Any) -> Any:
    """``isinstance`` and ``match`` ask, where the type that it has is no answer."""
    raise proxy._reference.error()


def _set_unless_deleted(proxy: Any, name: str, value: Any) -> None:
    if name not in Object.__slots__:
        _refuse_deleted(proxy, name)
    object.__setattr__(proxy, name, value)


#: Of objects of which nobody knows any more which class they had; no shared class itself.
_Deleted: Any = type.__new__(
    ObjectMeta, "object", (Object,),
    {
        "__slots__": (), "__repr__": Object._shown_reference,
        "__getattr__": _refuse_deleted, "__setattr__": _set_unless_deleted,
        "__class__": property(_refuse_class),
    },
)  # fmt: skip


def buried_proxy(heap: Any, reference: int) -> Any:
    """The Python instance for a reference to what was deleted."""
    proxy: Any = object.__new__(_Deleted)
    proxy._heap = heap
    proxy._reference = reference
    bury_proxy(proxy)
    return proxy


def shared_type(python_class: Any) -> ClassType:
    """The ``ClassType`` of a shared class. Raises ClassError for anything else."""
    found = getattr(python_class, "__sharedoa__", None)
    if isinstance(found, ClassType) and isinstance(python_class, type):
        return found
    raise ClassError(f"{python_class!r} is not a shared class", "subclass oa.Object to make one")


def has_init(cls: ClassType) -> bool:
    """Whether the class, or one above it, says how its objects begin."""
    return cls.python_class.__init__ is not object.__init__  # type: ignore[misc]


def require_concrete(cls: ClassType) -> None:
    """Raise ClassError when objects of ``cls`` cannot exist because methods are abstract."""
    if cls.foreign is not None and cls.foreign.is_abstract:
        raise ClassError(
            f"{cls.name} is abstract: it has pure virtual functions",
            "instantiate a class that overrides them",
        )
    missing = cls.abstract_methods
    if missing:
        raise ClassError(
            cls.why_abstract(),
            "instantiate a subclass that overrides " + ("it" if len(missing) == 1 else "them"),
        )


def _declare_class(
    cls: ObjectMeta,
    base_class: type,
    annotations: dict[str, Any],
    defaults: dict[str, Any],
    members: dict[str, Any],
    global_names: dict[str, Any],
    local: dict[str, Any],
) -> None:
    base = base_class.__sharedoa__  # type: ignore[attr-defined]
    # The class's own name means this class, also where it replaces an older one of that name.
    scope = Scope(global_names, cls.__module__, {**local, cls.__name__: cls, OWN_CLASS: cls})

    def resolve_fields() -> dict[str, Type]:
        inherited = base.fields if base else {}
        fields = {}
        for name, annotation in annotations.items():
            where = f"class {cls.__name__}, field {name}"
            if name in inherited:
                instead = f", or for another default leave out its type: {name} = ..."
                raise ClassError(
                    f"{where}: {base.field_owner(name).name} declares it already",
                    f"rename it{instead if name in defaults else ''}",
                )
            fields[name] = resolve(annotation, scope, where)
            refuse_grid(fields[name], where)
            refuse_list(fields[name], where)
            if fields[name] == VOID:
                raise ClassError(f"{where}: None is not a type", "give the field a type")
            if isinstance(fields[name], TupleType):
                raise ClassError(
                    f"{where}: a tuple {fields[name]!r} cannot be stored in memory",
                    "make a field of each part, oa.inline[T, N], or an @oa.value class",
                )
        _check_overrides(shared)
        _convert_defaults(shared, {**inherited, **fields})
        return fields

    try:
        with World.changing:
            shared = ClassType(cls.__name__, cls, base, resolve_fields, own_defaults=defaults)
            type.__setattr__(cls, "__sharedoa__", shared)
            for name, value in members.items():
                member = member_of(name, value)
                if member is not None:
                    kind, function = member
                    method = _make_method(shared, name, function, scope, kind)
                    _install_method(cls, method, value)
                setter = setter_of(name, value)
                if setter is not None:
                    method = _make_method(shared, setter_name(name), setter, scope, "setter")
                    _install_method(cls, method, vars(cls)[name])
                elif base is not None and setter_name(name) in base.slots:
                    _refuse_without_setter(cls.__name__, name)
            _note_initialiser(shared, members.get("__init__"), scope)
            shared.join()
            for name in annotations:
                type.__setattr__(cls, name, FieldAccess(name))
            declare(cls)
            World.advance()
        _check_overrides(shared)
    except UnresolvedNameError:
        pass  # checked again at first use, when the name exists
    except BaseException:
        made = cls.__dict__.get("__sharedoa__")
        if made is not None:
            made.withdraw()
        raise


def _refuse_without_setter(name: str, attribute: str) -> None:
    raise ClassError(
        f"class {name}: {attribute} overrides a property with a setter, and has none for kernels",
        f"write its setter, too, with a type: @{attribute}.setter def {attribute}(self, value: "
        f"f32); or keep that of the base: @Base.{attribute}.getter instead of @property",
    )


def _convert_defaults(shared: ClassType, fields: dict[str, Type]) -> None:
    """Raise ClassError for what a field does not begin with."""
    for name, value in shared.own_defaults.items():
        where = f"class {shared.name}, the default of {name}"
        if isinstance(fields[name], (InlineType, ArrayType)):
            raise ClassError(f"{where}: {fields[name]!r} has none", "set it in an __init__")
        if isinstance(fields[name], ReferenceType) and value is not None:
            raise ClassError(f"{where} is an object", "let references begin with None")
        try:
            shared.own_defaults[name] = convert(fields[name], value, where)
        except ArgumentError as error:
            raise ClassError(error.message, error.help) from None


def _make_method(
    shared: ClassType, name: str, function: Any, scope: Scope, kind: MemberKind = "method"
) -> Method:
    where = f"method {shared.name}.{name}"
    function = user_function(function)
    refuse_lambda(function, where)
    remember_source(function)

    def signature() -> Signature:
        names = scope_of(function, scope.local)
        return resolve_signature(function, names, where, receiver=kind != "static")

    has_body = not is_abstract_body(function)
    is_abstract = not has_body or getattr(function, "__isabstractmethod__", False)
    return Method(name, shared, function, is_abstract, signature, kind, has_body)


def _scope_of_set(function: Any, cls: type) -> Scope:
    """Of a function that becomes a method of a class that exists."""
    return Scope(function.__globals__, function.__module__, {OWN_CLASS: cls})


def _note_initialiser(shared: ClassType, value: Any, scope: Scope | None) -> None:
    """Let kernels run this ``__init__``, if it is one that they can."""
    with World.changing:
        shared.initialiser = None
        if inspect.isfunction(value) and value.__code__.co_name != "<lambda>":
            scope = scope or _scope_of_set(value, shared.python_class)
            shared.initialiser = _make_method(shared, "__init__", value, scope)
        World.advance()


def _install_method(cls: ObjectMeta, method: Method, original: Any = None) -> None:
    shared, name, function = method.owner, method.name, method.function
    shared.install(method)
    if not method.has_body:
        wrapper = _abstract_caller(shared, name, function)
        if method.kind == "property":
            wrapper = property(wrapper, original.fset, original.fdel)
        elif method.kind == "setter":
            wrapper = property(original.fget, wrapper, original.fdel)
    else:
        where = f"method {shared.name}.{name}"
        wrapper = wrapped(method.kind, original, function, lambda: method.signature, where)
    type.__setattr__(cls, attribute_name(name), wrapper)


def change_function(method: Method, function: Any) -> None:
    """Let a method be another function, which is called as the one that it was."""
    cls: Any = method.owner.python_class
    with World.changing:
        method.function = function
        _install_method(cls, method, vars(cls)[attribute_name(method.name)])
        World.advance()


def _abstract_caller(shared: ClassType, name: str, function: Any) -> Any:
    def run(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        whose = f" ({type(arguments[0]).__name__})" if arguments else ""
        raise ClassError(
            f"{shared.name}.{name} is abstract and has no body to run",
            f"override it in the class of the object{whose}, and do not call it through super()",
        )

    return stand_in(function, run)


def _check_overrides(shared: ClassType) -> None:
    """Raise ClassError when a method's parameters or result differ from what it overrides."""
    for name, method in shared.methods.items():
        inherited = shared.base.find_method(name) if shared.base else None
        if inherited is not None and _is_for_kernels(method):
            _check_override(method, inherited)


def _is_for_kernels(method: Method) -> bool:
    """Whether it is a plain method, or has types that kernels know."""
    if method.kind == "method":
        return True
    try:
        method.resolve()
    except UnresolvedNameError:
        raise
    except ClassError:
        return False
    return True


def _check_replacement(method: Method) -> None:
    """Raise ClassError when ``method`` would not fit what it overrides or what overrides it."""
    owner, name = method.owner, method.name
    inherited = owner.base.find_method(name) if owner.base else None
    pairs = [(method, inherited)] if inherited is not None else []
    below = [cls for cls in owner.descendants() if cls is not owner]
    pairs += [(cls.methods[name], method) for cls in below if name in cls.methods]
    for mine, theirs in pairs:
        try:
            _check_override(mine, theirs)
        except UnresolvedNameError:
            if mine.owner.is_resolved:
                raise  # else it is checked again at the first use of that class


def _check_override(method: Method, inherited: Method) -> None:
    # Not kept yet: names may still come to mean later definitions.
    mine, theirs = method.resolve(), inherited.resolve()
    pairs = [*zip(mine.types, theirs.types, strict=False)]
    narrower = [(a, b) for a, b in pairs if _is_below(a, b)]
    if len(mine.types) != len(theirs.types) or not (
        all(a == b or _is_below(b, a) for a, b in pairs)
        and (mine.result == theirs.result or _is_below(mine.result, theirs.result))
    ):
        cure = (
            "give both the same parameter types and the same result; a result may be of a "
            "subclass, a parameter of a base class"
        )
        if narrower:
            (one, wider), *_ = narrower
            cure = (
                f"a call through the base may pass any {wider!r}: take that, and ask with "
                f"isinstance whether it is a {one!r}"
            )
    elif method.kind != "setter" and _how_given(mine) != _how_given(theirs):
        cure = (
            "give both the same parameter names and the same defaults: a call uses those of the "
            "class that it knows, whichever method then runs"
        )
    else:
        return
    raise ClassError(
        f"{method.owner.name}.{method.name}({mine.parameters()}) -> {mine.result!r} overrides "
        f"{inherited.owner.name}.{inherited.name}({theirs.parameters()}) -> {theirs.result!r} with "
        "another signature",
        cure,
    )


def _how_given(signature: Signature) -> tuple[object, ...]:
    """How arguments come to parameters."""
    return signature.names, signature.defaults, signature.only_named, signature.never_named


def _is_below(type: Type, other: Type) -> bool:
    """Whether a type's objects are all of the other one's class."""
    if not (isinstance(type, ReferenceType) and isinstance(other, ReferenceType)):
        return False
    return type != other and type.cls.is_subclass_of(other.cls)
