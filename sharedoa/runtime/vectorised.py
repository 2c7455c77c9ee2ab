"""``objs.method(...)`` and ``oa.all(C).method(...)``: called on every object.

A call makes a kernel of its own, without source (``vectorised_code``): element i of the receivers
is called with element i of each array argument and with each scalar, and its result is element i of
a new array. For ``oa.all`` calls are direct, and ``stretches`` says which launches there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from threading import get_ident
from typing import Any

import numpy as np

from dispatch.dataclass import dataclass, field

from ..errors import ArgumentError, HeapError
from ..heap.array_memory import ArrayStorage
from ..heap.arrays import Array, FieldView, ObjectArray
from ..heap.heap import Heap
from ..heap.population import Population
from ..heap.recording import (
    OthersError,
    deferrer,
    is_recorded,
    others_since_launched,
    recorder,
    with_listed,
)
from ..heap.run import Run, RunOfObjects
from ..model.array2_type import Array2Type
from ..model.classes import ClassType, Method
from ..model.kept_by_class import kept_by_class
from ..model.scalars import ScalarType
from ..model.types import (
    VOID,
    ArrayType,
    ListType,
    ReferenceType,
    TupleType,
    ValueType,
    array_form,
)
from ..model.values import describe, holds_many
from ..model.world import World
from .arguments import in_order
from .chained_methods import overriding
from .geometry import parse_geometry
from .launch import Program
from .launch_code import Launch
from .stretches import (
    MOST_STRETCHES,
    SharedOut,
    Stretch,
    has_many_small,
    share_out,
    takes_groups,
)
from .vectorised_code import CallForm, as_now, call_arguments, call_program


def call(
    objects: ObjectArray | Population,
    name: str,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    """Call method ``name`` on every object; the results as an ``oa.Array``, None if it has none.

    Raises ArgumentError for wrong arguments, arrays that are not as long as the receivers, or
    receivers that are None.
    """
    method = objects._cls.find_method(name)
    assert method is not None
    given = _in_shared_memory(objects._heap, method, _by_position(method, arguments, named))
    return call_method(objects, method, given)


def call_method(objects: ObjectArray | Population, method: Method, given: list[Any]) -> Any:
    """As ``call``, of a method with an argument for each of its parameters."""
    heap = objects._heap
    upkeep, books = heap.upkeep, heap.books
    if get_ident() != upkeep.thread:
        heap.note_thread()
    if not upkeep.is_shared:
        before = upkeep.listed
        upkeep.listed = books.deletions + books.moves + upkeep.births  # ``changes_of``
        try:
            return _call(objects, method, given)
        except OthersError:
            pass  # another thread has begun to use the heap
        finally:
            upkeep.listed = before
    if is_recorded(heap) or not _are_listed(objects):
        return _call(objects, method, given)
    return with_listed(heap, partial(_call, objects, method, given))


def _are_listed(objects: ObjectArray | Population) -> bool:
    """Whether a call looks where the objects are before it launches: in arrays kernels look."""
    return isinstance(objects, Population) or takes_groups(objects._heap, len(objects))


def _call(objects: ObjectArray | Population, method: Method, given: list[Any]) -> Any:
    cls, name = objects._cls, method.name
    if isinstance(objects, Population):
        if is_recorded(objects._heap):
            _record(objects, method, given)
            return None
        later = deferrer(objects._heap)
        if later is not None and later.defer_population_call(objects, method, tuple(given)):
            return None
        if _call_by_plan(objects, method, given):
            return None
    elif not is_recorded(objects._heap):
        objects._refuse_receivers(cls.name, name)
    stretches = _stretches(objects, method)
    if stretches is not None and _are_too_many(objects, method, stretches):
        objects, stretches = _as_array(objects), None
    count = len(objects) if stretches is None else sum(len(each.objects) for each in stretches)
    elementwise = _elementwise(method, given, count)
    for parameter, type in zip(method.signature.names, method.signature.types, strict=True):
        if isinstance(type, ListType):
            raise ArgumentError(
                f"{method.owner.name}.{name}: {parameter} takes {type!r}, which kernels make",
                "call it in a kernel or a method, or on one object",
            )
    result = method.signature.result
    if isinstance(result, TupleType):
        raise ArgumentError(
            f"{method.owner.name}.{name} returns {result!r}, of which there are no arrays",
            "return an @oa.value struct instead",
        )
    results = None if result == VOID else objects._heap.blank(result, count)
    values = given if results is None else [*given, results]
    if stretches is None:
        program = _program_of_any(objects._cls, method, elementwise)
        program.launcher(geometry_of(count))(objects, *values)
        return results
    is_located = elementwise if results is None else (*elementwise, True)
    located = [value for value, whole in zip(values, is_located, strict=True) if whole]
    has_begun = False
    try:
        for shared in share_out(objects._heap, stretches, located):
            _launch(objects._cls, shared, values, elementwise, is_located)
            has_begun = True
    except OthersError:
        if has_begun:
            raise others_since_launched() from None
        raise
    return results


def _record(objects: Population, method: Method, given: list[Any]) -> None:
    """Each run of a captured step calls the method on those that live then."""
    label = f"oa.all({objects._cls.name}).{method.name}"
    if method.signature.result != VOID:
        raise HeapError(
            f"{label} is called inside a block of oa.capture(), and returns as many results as "
            "objects live in each run",
            "store results in a field, or call it outside of the block",
        )
    taker = recorder()
    assert taker is not None
    taker.record_population_call(objects, method, tuple(given))


@dataclass(frozen=True)
class _Listed:
    """References to objects of many classes."""

    element: ReferenceType
    storage: ArrayStorage


@dataclass(frozen=True, eq=False)
class PlannedLaunch:
    """A launch without what differs from call to call: the arguments of the method. Nothing in here
    refers to the heap, which else would never go."""

    program: Program
    launch: Launch
    receivers: tuple[tuple[Run | _Listed, int], ...]
    first_threads: tuple[int, ...]
    threads: int

    def arrays(self, heap: Heap) -> list[RunOfObjects | ObjectArray]:
        """The objects, as the first arguments."""
        return [_receivers(heap, each, count) for each, count in self.receivers]


def _receivers(heap: Heap, objects: Run | _Listed, count: int) -> RunOfObjects | ObjectArray:
    if isinstance(objects, Run):
        return RunOfObjects(heap, objects, count)
    return ObjectArray(heap, objects.element, objects.storage, objects.storage.address, count)


@dataclass
class _Plans:
    """The launches of ``oa.all(C).method(...)``, as long as ``facts`` are the same."""

    facts: tuple[int, ...]
    launches: dict[tuple[ClassType, str], tuple[PlannedLaunch, ...]] = field(default_factory=dict)


def _call_by_plan(objects: Population, method: Method, given: list[Any]) -> bool:
    """Call ``method`` on all objects, where they are runs or lists that stay, nothing has one
    element an object and nothing is returned: then the launches are those of the last call.
    False if that is not so."""
    heap, signature = objects._heap, method.signature
    types = signature.types
    if not heap.uses_runs or signature.result is not VOID:
        return False
    for value, type in zip(given, types, strict=True):
        if isinstance(value, Array) and not isinstance(type, (ArrayType, Array2Type)):
            return False
    key = objects._cls, method.name
    launches = _planned(heap, key)
    if launches is None:
        facts = _facts(heap)
        plans: _Plans | None = heap.of_classes.plans
        if plans is None or plans.facts != facts:
            # At once: lists of what lived before may go.
            plans = heap.of_classes.plans = _Plans(facts)
        launches = planned_launches(objects, method, (False,) * len(types))
        if launches is None:
            return False
        plans.launches[key] = launches
    has_begun = False
    try:
        for launch in launches:
            launch.launch(*launch.arrays(heap), *launch.first_threads, *given)
            has_begun = True
    except OthersError:
        if has_begun:
            raise others_since_launched() from None
        raise
    return True


def _planned(heap: Heap, key: tuple[ClassType, str]) -> tuple[PlannedLaunch, ...] | None:
    """The launches of the last call, if they are those of this one, too."""
    plans: _Plans | None = heap.of_classes.plans
    launches = plans.launches.get(key) if plans is not None else None
    for planned in launches or ():
        planned.program.look_at_names()  # how objects are shared out rests on what they mean
    return launches if plans is not None and plans.facts == _facts(heap) else None


def _facts(heap: Heap) -> tuple[int, ...]:
    placement = heap.placement
    return placement.population_version, placement.layout_epoch, World.epoch


def planned_again(objects: Population, name: str) -> tuple[PlannedLaunch, ...] | None:
    """The launches of the last call, if they are those of this one, too, whose arguments are
    numbers; None if it has to be looked at."""
    heap, cls = objects._heap, objects._cls
    if heap.upkeep.is_shared or get_ident() != heap.upkeep.thread:
        return None
    return _planned(heap, (cls, name))


def planned_launches(
    objects: Population, method: Method, elementwise: tuple[bool, ...]
) -> tuple[PlannedLaunch, ...] | None:
    """The launches of a call; None if some objects are neither in a run nor in a list that stays as
    long as they do."""
    stretches = _stretches(objects, method) or []
    if not all(_stays(objects._heap, stretch.objects) for stretch in stretches):
        return None
    if _are_too_many(objects, method, stretches):
        return None
    if has_many_small(objects._heap, stretches):
        return (_launch_of_list(objects, method, elementwise),)
    found = []
    for shared in share_out(objects._heap, stretches, []):
        program, threads = _program(objects._cls, shared, elementwise, is_located=False)
        *first_threads, _ = shared.first_threads()
        receivers = tuple((_kept(each.objects), len(each.objects)) for each in shared.stretches)
        launch = program.launcher(geometry_of(threads))
        found.append(PlannedLaunch(program, launch, receivers, tuple(first_threads[1:]), threads))
    return tuple(found)


def _stays(heap: Heap, objects: ObjectArray | RunOfObjects) -> bool:
    """Whether objects of a class are a run, or in a list that stays as long as they do."""
    if isinstance(objects, RunOfObjects):
        return True
    lists = heap.memory.population_lists
    if lists is not None:
        return lists.has(objects._storage)
    return heap.of_classes.has(objects) and not heap.runs_of_classes.is_waiting(objects._cls)


def _kept(objects: ObjectArray | RunOfObjects) -> Run | _Listed:
    if isinstance(objects, RunOfObjects):
        return objects._run
    element, storage = objects.__sharedoa_element__, objects._storage
    assert isinstance(element, ReferenceType) and storage is not None
    return _Listed(element, storage)


def receiver_programs(
    objects: Population, method: Method, classes: Iterable[ClassType]
) -> Iterator[Program]:
    """What calls ``method`` on objects of exactly each of these classes below that of ``objects``:
    a kernel whose parameters are the objects, then the method's. Raises ClassError if that has been
    replaced by one with other types."""
    form = CallForm((False,) * len(method.signature.types), exact=True)
    for cls in classes:
        yield call_program(cls, ((cls, as_now(cls, method)),), form)


def _launch_of_list(
    objects: Population, method: Method, elementwise: tuple[bool, ...]
) -> PlannedLaunch:
    program = _program_of_any(objects._cls, method, elementwise)
    listed = _as_array(objects)
    threads = len(listed)
    launch = program.launcher(geometry_of(threads))
    return PlannedLaunch(program, launch, ((_kept(listed), threads),), (), threads)


def _stretches(objects: ObjectArray | Population, method: Method) -> list[Stretch] | None:
    """The objects as stretches of known classes, where that is of use."""
    if isinstance(objects, Population):
        arrays: Iterable[ObjectArray | RunOfObjects] = objects._stretches()
    else:
        count = len(objects)
        run = objects._run if takes_groups(objects._heap, count) else None
        if run is None:
            return None
        arrays = [RunOfObjects(objects._heap, run, count)]
    found = []
    position = 0
    for array in arrays:
        own = overriding(method, array._cls)
        assert own is not None
        found.append(Stretch(array, position, own))
        position += len(array)
    return found


def _are_too_many(
    objects: ObjectArray | Population, method: Method, stretches: Sequence[Stretch]
) -> bool:
    """Whether a launch cannot take them stretch by stretch, and must take all."""
    if len(stretches) <= MOST_STRETCHES:
        return False
    if objects._heap.backend.name == "python":
        return True
    # Asking each of many classes by itself would translate its method many times.
    elementwise = (False,) * len(method.signature.types)
    return _program_of_any(objects._cls, method, elementwise).uses().births.changes


@kept_by_class
def _program_of_any(cls: ClassType, method: Method, elementwise: tuple[bool, ...]) -> Program:
    """Calls ``method``, or what overrides it, on an array with objects of any class below."""
    return call_program(cls, ((cls, method),), CallForm(elementwise, exact=False))


def _as_array(objects: ObjectArray | Population) -> ObjectArray:
    heap = objects._heap
    made = heap.array_of(heap.reference_type(objects._cls), objects._references())
    assert isinstance(made, ObjectArray)
    return made


def _launch(
    cls: ClassType,
    shared: SharedOut,
    values: list[Any],
    elementwise: tuple[bool, ...],
    is_located: tuple[bool, ...],
) -> None:
    stretches = shared.stretches
    *first_threads, threads = shared.first_threads()
    positions: list[int] = []
    if len(stretches) == 1 and shared.each == 1:
        first = stretches[0].position
        stop = first + threads
        values = [v[first:stop] if e else v for v, e in zip(values, is_located, strict=True)]
    elif any(is_located):
        positions = [stretch.position for stretch in stretches]
    program, threads = _program(cls, shared, elementwise, bool(positions))
    arrays = [stretch.objects for stretch in stretches]
    arguments = call_arguments(arrays, first_threads, positions, values)
    program.launcher(geometry_of(threads))(*arguments)


def _program(
    cls: ClassType, shared: SharedOut, elementwise: tuple[bool, ...], is_located: bool
) -> tuple[Program, int]:
    """What a launch runs, and its threads."""
    stretches = shared.stretches
    if len(stretches) == 1 and shared.each == 1:
        cls = stretches[0].cls
    form = CallForm(
        elementwise,
        exact=True,
        each=shared.each,
        located=is_located,
        whole_warps=shared.warp > 1 and len(stretches) > 1,
    )
    methods = tuple([(stretch.cls, stretch.method) for stretch in stretches])
    return call_program(cls, methods, form), shared.first_threads()[-1]


#: The same object for the same length, so that a program keeps what it has prepared for it.
geometry_of = lru_cache(maxsize=1024)(partial(parse_geometry, axes=1))


def _by_position(method: Method, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
    signature = method.signature
    if len(arguments) == len(signature.names) and not (named or signature.only_named):
        return [*arguments]
    what = f"{method.owner.name}.{method.name}"
    each = ", each as one value or as an array with one an object"
    return [*in_order(signature, what, arguments, named, each)]


def _in_shared_memory(heap: Heap, method: Method, given: list[Any]) -> list[Any]:
    """Lists, NumPy arrays and views with a value an object become arrays that kernels reach."""
    # The signature is asked for only where there are any: usually there are none.
    found = given
    for place, value in enumerate(given):
        if not holds_many(value) or isinstance(value, Array):
            continue
        type = method.signature.types[place]
        if isinstance(type, (ScalarType, ReferenceType)) or (
            isinstance(type, ValueType)
            and isinstance(value, (list, np.ndarray, FieldView))
            and np.ndim(value) > len(array_form(type)[1])
        ):
            if is_recorded(heap):
                name = method.signature.names[place]
                raise ArgumentError(
                    f"{method.owner.name}.{method.name}: {name} takes {type!r}, not "
                    f"{describe(value)}, in a captured step",
                    f"pass oa.array({type!r}, data), made before the step",
                )
            found = [*found[:place], heap.array(type, value), *found[place + 1 :]]
    return found


def _elementwise(method: Method, given: list[Any], count: int) -> tuple[bool, ...]:
    """Which arguments are arrays with one element an object."""
    if not given:
        return ()
    found = []
    for name, type, value in zip(
        method.signature.names, method.signature.types, given, strict=True
    ):
        whole = isinstance(value, Array) and not isinstance(type, (ArrayType, Array2Type))
        if whole and len(value) != count:
            raise ArgumentError(
                f"{method.owner.name}.{method.name}: {name} has {len(value)} elements for "
                f"{count} objects",
                "pass one element an object, or one value for all",
            )
        found.append(whole)
    return tuple(found)
