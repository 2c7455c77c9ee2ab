"""``objs.method(...)`` and ``oa.all(C).method(...)``: one thread an element.

A call makes a kernel of its own, without source: element i of the receivers is called with element
i of each array argument and with each scalar, and its result is element i of a new array. For
``oa.all`` there is a launch for each region, whose calls are direct.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache, partial
from typing import Any

from ..errors import ArgumentError, ClassError, HeapError
from ..frontend import Translation, tree
from ..frontend.dependencies import Dependency, MethodDependency, ResolutionDependency
from ..frontend.program import ProgramBuilder, kernel_symbol
from ..heap.arrays import Array, ObjectArray
from ..heap.population import Population
from ..heap.recording import is_recorded
from ..model import intrinsics
from ..model.classes import ClassType, Method, Signature
from ..model.scalars import weak_int
from ..model.types import VOID, ArrayType, ReferenceType, TupleType, Type
from .geometry import parse_geometry
from .launch import Program, Source

_RECEIVERS, _RESULTS = "objects", "results"


def call(objects: ObjectArray | Population, name: str, arguments: tuple[Any, ...]) -> Any:
    """Call method ``name`` on every object; the results as an ``oa.Array``, None if it has none.

    Raises ArgumentError for wrong arguments, or arrays that are not as long as the receivers.
    """
    method = objects.cls.find_method(name)
    assert method is not None
    given = _by_position(method, arguments)
    elementwise = _elementwise(method, given, len(objects))
    result = method.signature.result
    if isinstance(result, TupleType):
        raise ArgumentError(
            f"{method.owner.name}.{name} returns {result!r}, of which there are no arrays",
            "return an @oa.value struct instead",
        )
    if isinstance(objects, Population) and is_recorded(objects.heap):
        raise HeapError(
            f"oa.all({objects.cls.name}).{name} is called inside a block of oa.capture(), whose "
            "launches keep the objects that they were given",
            "call it on an array of objects, or outside of the block",
        )
    results = None if result == VOID else objects.heap.blank(result, len(objects))
    if isinstance(objects, Population):
        start = 0
        of_classes = objects.by_class()
        for part in (part for of_class in of_classes for part in of_class.stretches()):
            stop = start + len(part)
            pieces = [
                value[start:stop] if whole else value
                for value, whole in zip(given, elementwise, strict=True)
            ]
            into = None if results is None else results[start:stop]
            _launch(part, name, pieces, elementwise, into, exact=True)
            start = stop
    else:
        _launch(objects, name, given, elementwise, results, exact=False)
    return results


def _by_position(method: Method, arguments: tuple[Any, ...]) -> list[Any]:
    signature = method.signature
    missing = signature.names[len(arguments) :]
    if len(arguments) > len(signature.names) or any(n not in signature.defaults for n in missing):
        expected = ", ".join(
            f"{n}: {t!r}" for n, t in zip(signature.names, signature.types, strict=True)
        )
        raise ArgumentError(
            f"{method.owner.name}.{method.name} takes {len(signature.names)} arguments, not "
            f"{len(arguments)}",
            f"it takes ({expected}), each as one value or as an array with one an object",
        )
    return [*arguments, *(signature.defaults[name] for name in missing)]


def _elementwise(method: Method, given: list[Any], count: int) -> tuple[bool, ...]:
    """Which arguments are arrays with one element an object."""
    found = []
    for name, type, value in zip(
        method.signature.names, method.signature.types, given, strict=True
    ):
        whole = isinstance(value, Array) and not isinstance(type, ArrayType)
        if whole and len(value) != count:
            raise ArgumentError(
                f"{method.owner.name}.{method.name}: {name} has {len(value)} elements for "
                f"{count} objects",
                "pass one element an object, or one value for all",
            )
        found.append(whole)
    return tuple(found)


def _launch(
    objects: ObjectArray,
    name: str,
    given: Sequence[Any],
    elementwise: tuple[bool, ...],
    results: Array | None,
    exact: bool,
) -> None:
    cls = objects.cls
    method = cls.find_method(name)
    assert method is not None
    program = _program(cls, method, elementwise, exact)
    outputs = () if results is None else (results,)
    program.launch(_geometry(len(objects)), (objects, *given, *outputs))


#: The same object for the same length, so that a program keeps what it has prepared for it.
_geometry = lru_cache(maxsize=1024)(partial(parse_geometry, axes=1))


@cache
def _program(cls: ClassType, method: Method, elementwise: tuple[bool, ...], exact: bool) -> Program:
    signature = _launch_signature(cls, method.signature, elementwise)

    def in_cpython(objects: Any, *values: Any) -> None:
        i = intrinsics.grid(1)
        pieces = [v[i] if e else v for v, e in zip(values, elementwise, strict=False)]
        result = getattr(objects[i], method.name)(*pieces)
        if len(values) > len(elementwise):
            values[-1][i] = result

    return Program(
        Source(
            f"{cls.name}.{method.name}",
            signature,
            lambda: _translate(cls, _as_now(cls, method), signature, elementwise, exact),
            in_cpython,
            uses_barrier=False,
        )
    )


def _as_now(cls: ClassType, method: Method) -> Method:
    """What ``method`` is now; a call that was captured may be of one that was replaced since."""
    found, types = cls.find_method(method.name), _types(method)
    if found is None or _types(found) != types:
        raise ClassError(
            f"{cls.name}.{method.name}, which a captured step calls, is gone or has other types",
            "capture the step again",
        )
    return found


def _types(method: Method) -> tuple[Type, ...]:
    return *method.signature.types, method.signature.result


def _launch_signature(
    cls: ClassType, signature: Signature, elementwise: tuple[bool, ...]
) -> Signature:
    names = [_RECEIVERS, *signature.names]
    types: list[Type] = [ArrayType(ReferenceType(cls))]
    types += [ArrayType(t) if e else t for t, e in zip(signature.types, elementwise, strict=True)]
    if signature.result != VOID:
        names.append(_RESULTS)
        types.append(ArrayType(signature.result))
    return Signature(tuple(names), tuple(types), VOID)


def _translate(
    cls: ClassType,
    method: Method,
    signature: Signature,
    elementwise: tuple[bool, ...],
    exact: bool,
) -> Translation:
    """The kernel ``i = grid(1); results[i] = objects[i].method(values[i] or value, ...)``."""
    code = method.function.__code__
    line = code.co_firstlineno
    location = tree.Location(code.co_filename, line, 0, line, 0, f"{cls.name}.{method.name}")
    parameters = [
        tree.Variable(n, t) for n, t in zip(signature.names, signature.types, strict=True)
    ]
    index = tree.Variable("i", weak_int)

    def element(array: tree.Variable) -> tree.ElementPlace:
        assert isinstance(array.type, ArrayType)
        return tree.ElementPlace(
            array.type.element,
            location,
            tree.Local(array.type, location, array),
            tree.Local(weak_int, location, index),
            may_be_negative=False,
        )

    def value(variable: tree.Variable, at_index: bool) -> tree.Expression:
        if not at_index:
            return tree.Local(variable.type, location, variable)
        place = element(variable)
        return tree.Load(place.type, location, place)

    builder = ProgramBuilder()
    receiver = value(parameters[0], True)
    values = [value(v, e) for v, e in zip(parameters[1:], elementwise, strict=False)]
    called = _call(builder, cls, method, receiver, values, exact)
    body: list[tree.Statement] = [
        tree.Assign(location, index, tree.ThreadIndex(weak_int, location, 0))
    ]
    if called.type == VOID:
        body.append(tree.Evaluate(location, called))
    else:
        body.append(tree.Store(location, element(parameters[-1]), called))
    name = f"{cls.name}.{method.name}"
    kernel = tree.Function(kernel_symbol(name), name, "kernel", parameters, VOID, body, location)
    program = builder.complete(kernel)
    return Translation(program, list(dict.fromkeys(builder.dependencies)))


def _call(
    builder: ProgramBuilder,
    cls: ClassType,
    method: Method,
    receiver: tree.Expression,
    values: list[tree.Expression],
    exact: bool,
) -> tree.Expression:
    name, location, result = method.name, receiver.location, method.signature.result
    if exact or not cls.is_overridden(name):
        symbol = builder.require_method(method)
        owner: Type = ReferenceType(method.owner)
        self = tree.Convert(owner, location, receiver) if owner != receiver.type else receiver
        builder.dependencies.append(_fact(cls, method, exact))
        return tree.DirectCall(result, location, symbol, [self, *values])
    builder.dependencies.append(_fact(cls, method, exact))
    candidates = []
    for concrete in cls.concrete():
        found = concrete.find_method(name)
        assert found is not None
        candidates.append(tree.Candidate(concrete, builder.require_method(found)))
    return tree.VirtualCall(
        result,
        location,
        receiver,
        cls,
        name,
        cls.slots[name],
        list(method.signature.types),
        values,
        candidates,
    )


def _fact(cls: ClassType, method: Method, exact: bool) -> Dependency:
    if exact:
        return MethodDependency(cls, method.name, method)
    return ResolutionDependency.of(cls, method.name)
