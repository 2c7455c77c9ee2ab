"""The quick way to launch: one function written for one program's parameters.

A launch is a few comparisons, packing and the driver's call; calling one function for each of them
takes longer than all of them together. So the checks that usual arguments pass, and what a launch
does where nothing changed since the last one, become the source of one function. Whatever is not as
usual goes to the careful way, which converts, complains, records, or makes code ready.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..heap.heap import current_heap
from ..heap.recording import own, recording, taping
from ..ir.number_parts import number_parts
from ..model.array2_type import Array2Type
from ..model.grid_type import GridType
from ..model.layout import ARRAY_DTYPE
from ..model.scalars import ScalarType
from ..model.types import ArrayType, ReferenceType, Type, ValueType
from ..model.world import World
from .binding import FITS, HOLDS

if TYPE_CHECKING:
    from .geometry import Geometry
    from .launch import Program

Launch = Callable[..., None]
#: What usual checks or ``struct`` raise for an argument that is not as usual.
_UNUSUAL = (AttributeError, ValueError, OverflowError, struct.error)
_ABSENT = object()
_SOURCE = """
def launcher(number, geometry):
    def launch({parameters}*more, mode=None, debug=None, **named):
        taker = recorder()
        if more or named or mode is not None or debug is not None or is_mine():
            pass
        elif taker is None and not taping or taker is own:
            try:
                acquire()
            except BaseException:
                recover(program)
                raise
            try:
                try:
                    heap = {heap}
                    is_usual = {checks}
                    if is_usual:
                        write({leaves})
                except unusual:
                    is_usual = False
                if is_usual:
                    binding = program.binding
                    starts = binding.starts
                    start = starts[number] if number in starts else None
                    memory = heap.memory
                    launching = memory.launching
                    this = object()
                    launching[this] = is_mine
                    try:
                        deferred = memory.deferred
                        if (
                            start is not None
                            and (deferred is None or deferred.is_launching_here())
                            and {holds}{fits}
                            and (not binding.run_places or binding.write_runs(slots, ({places})))
                        ):
                            if heap.residency.on_host:
                                heap.before_launch()
                            if binding.is_noted:
                                heap.note_launch(binding.stores_references, binding.stores_fields)
                            memory.last_launch = this
                            start()
                            memory.last_launch = (this,)
                            return
                    finally:
                        del launching[this]
            finally:
                release()
        elif taker is not None and taker.follow(program, geometry, ({places})):
            return
        given = tuple([each for each in ({places}) if each is not absent])
        launch_carefully(number, geometry, given + more, named, mode, debug)
    return launch
"""
"""Signals are handled after calls and at jumps back. So none comes between the statement
``launching[this] = is_mine`` and the ``try`` that undoes it, but one may come when ``acquire`` has
just returned."""


def _recover(program: Program) -> None:
    """A signal arrived while the program's lock was waited for, or when it had just been taken; the
    launch gives it back. Where launches that this one is part of may hold it, it stays theirs."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        if frame.f_globals.get("__name__") in _HOLDERS:
            return
        frame = frame.f_back
    if program.is_launching():
        program.lock.release()


_HOLDERS = (__name__, "sharedoa.runtime.launch", "sharedoa.runtime.capture")
"""Modules whose functions hold the locks of programs."""


def quick_launcher(
    program: Program, types: Sequence[Type], formats: Sequence[str], elements: dict[str, Any]
) -> Callable[[int, Geometry], Launch]:
    """What makes a function that launches ``program`` with arguments of ``types``, each packed by
    one of ``formats`` (``struct``), from the number under which ``Binding.starts`` has what its
    launches start, and their geometry.

    ``elements`` has, as ``element<n>``, the element type of the array that was argument n last.
    """
    names: dict[str, Any] = elements
    checks: list[str] = []
    leaves = ["slots", "0"]
    heaps: list[str] = []
    whole = ""
    for number, (type, format) in enumerate(zip(types, formats, strict=True)):
        given = f"a{number}"
        if isinstance(type, ArrayType):
            names.setdefault(f"element{number}", type.element)
            checks.append(f"{given}.__sharedoa_element__ is element{number}")
            leaves.append(f"{given}._packed")
            heaps.append(f"{given}._heap")
            whole += f"{ARRAY_DTYPE.itemsize}s"
            continue
        if isinstance(type, GridType):
            names[f"type{number}"] = type
            checks.append(f"{given}._kernel_type is type{number}")
            checks.append(f"{given}._deletions == {given}._heap.placement.deletions")
            leaves.append(f"{given}._packed")
            heaps.append(f"{given}._heap")
            whole += f"{struct.calcsize(f'<{format}')}s"
            continue
        if isinstance(type, Array2Type):
            names[f"type{number}"] = type
            checks.append(f"{given}._kernel_type is type{number}")
            leaves.append(f"{given}._packed_parts")
            heaps.append(f"{given}._heap")
            whole += f"{struct.calcsize(f'<{format}')}s"
            continue
        whole += format
        if isinstance(type, ReferenceType):
            names[f"class{number}"] = type.cls.python_class
            checks.append(f"isinstance({given}, class{number})")
            leaves.append(f"{given}._reference")
            heaps.append(f"{given}._heap")
        elif isinstance(type, ScalarType):
            names[f"classes{number}"] = _usual_classes(type)
            checks.append(f"{given}.__class__ in classes{number}")
            leaves.append(given)
        elif isinstance(type, ValueType) and number_parts(type):
            names[f"class{number}"] = type.python_class
            checks.append(f"{given}.__class__ is class{number}")
            leaves += _numbers_of(type, given)
        else:
            checks.append("False")  # others are taken apart carefully
    first_heap, *others = heaps or ["current_heap()"]
    checks += [f"{other} is heap" for other in others]
    places = [f"a{number}" for number in range(len(types))]
    has_scalars = any(map(_may_be_constant, types))
    source = _SOURCE.format(
        parameters="".join(f"{each}=absent, " for each in places) + ("/, " if places else ""),
        places="".join(f"{each}, " for each in places),
        heap=first_heap,
        checks=" and ".join(checks) or "True",
        leaves=", ".join(leaves),
        holds=HOLDS,
        fits=f" and {FITS}" if has_scalars else "",
    )
    names.update(
        __name__=__name__,
        program=program,
        slots=program.slots,
        write=struct.Struct(f"<{whole}").pack_into,
        acquire=program.lock.acquire,
        release=program.lock.release,
        recover=_recover,
        is_mine=program.is_launching,
        launch_carefully=program.launch_carefully,
        recorder=recording.get,
        own=own,
        taping=taping,
        current_heap=current_heap,
        World=World,
        unusual=_UNUSUAL,
        absent=_ABSENT,
    )
    # Named as part of this package, which looks for the line of the user's that launches.
    exec(compile(source, f"{__file__}:launch", "exec"), names)
    launcher: Callable[[int, Geometry], Launch] = names["launcher"]
    return launcher


def _may_be_constant(type: Type) -> bool:
    """Whether code may come to know an argument of the type."""
    if isinstance(type, ReferenceType):
        return type.cls.frozen
    return isinstance(type, ScalarType) or bool(number_parts(type))


def _numbers_of(type: ValueType, given: str) -> Iterator[str]:
    for name, each in type.fields.items():
        path = f"{given}.{name}"
        yield from _numbers_of(each, path) if isinstance(each, ValueType) else [path]


def _usual_classes(type: ScalarType) -> tuple[Any, ...]:
    """Classes whose values ``struct`` packs as converting them first would, or refuses."""
    if type.kind == "bool":
        return (bool,)
    return (int if type.is_integer else float, type.dtype.type)
