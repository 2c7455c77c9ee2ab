"""A launch as fusion sees it: what its threads do, and to which memory.

Which memory a parameter leads to is known from the arguments: where an array lies, and which
objects an array refers to if they are a run, of which no two are the same. What is known holds for
as long as the arguments and the populations are those that it was found for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from dispatch.dataclass import dataclass, field

from ...ir.operations import Effects
from ...ir.roles import Role, may_meet
from ...ir.thread_accesses import Field, Reach, ThreadAccesses
from ...location import Location
from ...model.classes import ClassType
from ...model.types import ArrayType, ReferenceType
from ..geometry import Geometry
from ..launch import Program
from ..population_plan import PopulationCall
from ..vectorised import receiver_programs

Distinct = Callable[[ClassType, Field], bool]
"""Whether no two objects of a class refer to the same one by a field, for as long as launches that
are looked at have not run."""


class Memory(NamedTuple):
    """Elements, or objects, of which each thread has its own. ``place`` and the stretch from
    ``start`` to ``stop`` say which they are, ``stride`` how far one is from the next; of
    *references*, ``place`` says which objects refer to them, and by which field."""

    kind: Literal["elements", "objects", "population", "references"]
    place: Any
    start: int = 0
    stop: int = 0
    stride: int = 0

    def is_apart(self, other: Memory) -> bool:
        """Whether it is certain that they have nothing in common."""
        if self.kind != other.kind or self.kind in ("population", "references"):
            return False
        is_elsewhere = self.place != other.place
        return is_elsewhere or self.stop <= other.start or other.stop <= self.start


def may_be_same(one: Role, other: Role) -> bool:
    """``may_meet`` of accesses in two launches: what has elements of one type in one of them may
    have those of another type in the next, as sorts take floats for unsigned numbers and as other
    libraries lend memory."""
    return may_meet(one, other) or one[:1] == other[:1] == ("element",)


@dataclass(eq=False)
class Part:
    """One launch. ``arrays``, ``objects``: by parameter of the kernel, its elements, and what they
    refer to if no two are the same. ``calls``: on which population, if it is a call of a method."""

    label: str
    found: ThreadAccesses
    arrays: Mapping[int, Memory]
    objects: Mapping[int, Memory]
    geometry: Geometry | None
    calls: ClassType | None = None
    programs: tuple[Program, ...] = ()
    #: Why it can be no part, whatever stands beside it.
    refusal: str = ""
    #: Of which class the objects of a parameter are.
    classes: Mapping[int, ClassType] = field(default_factory=dict)
    is_distinct: Distinct = lambda cls, field: False

    def memory(self, reach: Reach) -> Memory | None:
        """What an access goes to, if that is known."""
        if reach.parameter is None:
            return None
        if reach.via == "own object":
            return self.objects.get(reach.parameter)
        if reach.via == "own reference":
            return self._referred(reach.parameter, reach.field)
        return self.arrays.get(reach.parameter)

    def _referred(self, parameter: int, field: Field | None) -> Memory | None:
        own, cls = self.objects.get(parameter), self.classes.get(parameter)
        if own is None or cls is None or field is None or not self.is_distinct(cls, field):
            return None
        return Memory("references", (own, field))


def part_of_launch(
    program: Program,
    geometry: Geometry,
    arguments: tuple[Any, ...],
    on_device: bool,
    populated: Collection[int] | None,
    knows_objects: bool,
    is_distinct: Distinct,
) -> Part:
    """A launch of a kernel, with arguments as users give them. ``knows_objects``: when it begins,
    arrays refer to the same objects as now."""
    arrays, objects = _memory(program.source.signature.types, arguments)
    if not knows_objects:
        objects = {}
    found = _accesses(program, on_device, populated)
    part = Part(program.source.name, found, arrays, objects, geometry, programs=(program,))
    part.is_distinct = is_distinct
    part.classes = {
        number: argument._cls for number, argument in enumerate(arguments) if number in objects
    }
    if geometry.threads[1] != 1:
        part.refusal = "it is launched along two axes"
    elif program.source.add_to is None:
        part.refusal = "it is one of the runtime's own"
    elif program.source.calls_all and 0 not in objects:
        part.refusal = "its objects are not known to be different ones"
    return part


def part_of_call(
    call: PopulationCall,
    classes: Iterable[ClassType],
    on_device: bool,
    populated: Collection[int] | None,
    is_distinct: Distinct,
) -> Part:
    """A method of ``oa.all(C)``, of which objects of exactly these classes live."""
    cls = call.objects._cls
    programs = tuple(receiver_programs(call.objects, call.method, classes))
    every = [_accesses(program, on_device, populated) for program in programs]
    arrays, _ = _memory(call.method.signature.types, call.given)
    # Before the method's arguments stands the array of the objects.
    shifted = {number + 1: memory for number, memory in arrays.items()}
    objects = {0: Memory("population", cls)}
    label = f"oa.all({cls.name}).{call.method.name}"
    part = Part(label, _together(every), shifted, objects, None, cls, programs)
    part.classes, part.is_distinct = {0: cls}, is_distinct
    return part


def _together(every: Iterable[ThreadAccesses]) -> ThreadAccesses:
    found = ThreadAccesses()
    for each in every:
        for access, at in each.accesses.items():
            found.accesses.setdefault(access, at)
        for effect, at in each.effects.items():
            found.effects.setdefault(effect, at)
        found.constants |= each.constants
        found.tested |= each.tested
        found.inexact = found.inexact or each.inexact
        found.uses_tiles = found.uses_tiles or each.uses_tiles
        found.tells = found.tells or each.tells
    return found


def _accesses(
    program: Program, on_device: bool, populated: Collection[int] | None
) -> ThreadAccesses:
    uses = program.uses()
    met = None if populated is None else frozenset(uses.classes_met.intersection(populated))
    return uses.thread_accesses(on_device, met)


def _memory(
    types: Iterable[Any], arguments: Iterable[Any]
) -> tuple[dict[int, Memory], dict[int, Memory]]:
    arrays: dict[int, Memory] = {}
    objects: dict[int, Memory] = {}
    for number, (type, given) in enumerate(zip(types, arguments, strict=True)):
        if not isinstance(type, ArrayType):
            continue
        run = getattr(given, "_run", None)
        if isinstance(type.element, ReferenceType) and run is not None:
            first, length = run.slot, len(given)
            objects[number] = Memory("objects", run.place.start, first, first + length)
        address = getattr(given, "_address", None)
        if address is not None:
            stride = given._dtype.itemsize
            arrays[number] = Memory(
                "elements", None, address, address + len(given) * stride, stride
            )
    return arrays, objects


def effect_reason(effects: Mapping[Effects, Location]) -> tuple[str, Location] | None:
    """Why launches with these effects stay alone."""
    for effect, reason in _REASONS.items():
        if effect in effects:
            return reason, effects[effect]
    return None


_REASONS = {
    Effects.UNKNOWN: "nobody declared what an operation does",
    Effects.LIVES: "it makes or ends objects, or asks which live",
    Effects.WAITS: "its threads wait for each other",
    Effects.REPORTS: "it prints or reports, in the order of launches",
}
