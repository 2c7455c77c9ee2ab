"""Fields of the object in a slot are loaded with the byte that says whether one lives there.

A thread that looks at the byte of a slot, and calls a method if an object lives there
(``runtime.slot_calls``), would wait for the byte and then for what the method asks of the object
first, with little else to do. So that is loaded with the byte, whatever it says, and the byte is
known when all are there (``together``). In the method it is loaded again, which LLVM knows to be
the same, or finds in the first-level cache; a thread whose slot has no object skips it, as before.

    %b = load (element %bytes, %i)                 %b = load (element %bytes, %i)
    if (%b & 1) {                                  %n = run_element %objects, %i
      %o = run_element %objects, %i          ->    %d = load (field %n <name = "d">)
      call %o, ... <symbol = "f.own">              %k = together %b, %d
      yield } { yield }                            if (%k & 1) { ...

What is read may be of a slot that nobody ever used. Its memory is there all the same, on every
backend: slots are looked at up to the capacity of their region at most
(``runtime.population_sequence``), which is of whole tiles, also where one has grown or several
became one; the region's memory has room for its capacity and is a piece of one slab
(``heap.growing_regions``); and all of a slab is mapped from when it is handed out until nothing is
in it (``heap.provider``; managed memory is on the device from the start, so reading there fetches
nothing). What is found there may be anything, and is not looked at: loads promise nothing of it.
Nobody writes to such a slot meanwhile, as launches that go by slot make no objects; and who writes
to a field of an object that another thread reads in the same launch does so before or after it as
it comes, so that to read it earlier is one of the ways it may come. In debug mode, where slots are
poisoned and each access is checked, everything stays where it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...model.types import ReferenceType
from ..core import Operation, Program, Region, Remark, Value, regions_in
from ..field_loads import FieldLoads, Place
from ..rewrite import make, replace_uses
from .own_bytes import bytes_of_stretches

_MOST_PLACES = 4
"""Loaded with a byte: where there is no object memory moves 32 bytes in vain for each."""
_TEXT = "with the byte that says who lives, what is asked first is loaded: "


class _Look(NamedTuple):
    """A load of the byte of a slot, what gives the object there, and what to load of that."""

    byte: Operation
    element: Operation
    places: list[Place]


def load_with_bytes(program: Program) -> None:
    """Load what objects in slots are asked for first with the bytes of these."""
    objects_of = {bytes: objects for objects, bytes in bytes_of_stretches(program).items()}
    if not objects_of:
        return
    loads = FieldLoads(program)
    for region in regions_in(program.kernel):
        for look in [*_looks(region, objects_of, loads)]:
            _write(program, region, look)


def _looks(region: Region, objects_of: Mapping[Value, Value], loads: FieldLoads) -> Iterator[_Look]:
    for number, byte in enumerate(region.operations):
        place = byte.operands[0].source if byte.kind == "load" else None
        if place is None or place.kind != "element" or place.operands[0] not in objects_of:
            continue
        bytes, slot = place.operands
        for element in _elements(region.operations[number:], objects_of[bytes], slot):
            places = _first_places(region.operations[number:], element.result, loads)
            if 0 < len(places) <= _MOST_PLACES:
                yield _Look(byte, element, places)
                break


def _elements(later: list[Operation], objects: Value, slot: Value) -> Iterator[Operation]:
    """What gives the object of a slot in the first arm of a branch that follows."""
    for choice in later:
        if choice.kind == "if":
            for each in choice.regions[0].operations:
                if each.kind == "run_element" and each.operands == [objects, slot]:
                    yield each


def _first_places(later: list[Operation], object: Value, loads: FieldLoads) -> list[Place]:
    """What is loaded of it whenever that arm is run, by the first who loads anything of it."""
    for choice in later:
        for arm in choice.regions[:1]:
            first = loads.first_in(arm, object)
            if first is not None:
                assert isinstance(object.type, ReferenceType)
                ancestry = {*object.type.cls.ancestry()}
                found = dict.fromkeys(loads.certain(first, object) or ())
                return [place for place in found if place.is_known and place.owner in ancestry]
    return []


def _write(program: Program, region: Region, look: _Look) -> None:
    at = look.byte.location
    element = look.element
    given = make(
        "run_element", [*element.operands], at, [element.result.type], **element.attributes
    )
    made, values = [given], []
    for place in look.places:
        made += place.load(given.result, at)
        values.append(made[-1].result)
    byte = look.byte.result
    together = make("together", [byte, *values], at, [byte.type])
    replace_uses(program.kernel, {byte: together.result})
    together.operands[0] = byte
    where = region.operations.index(look.byte) + 1
    region.operations[where:where] = [*made, together]
    text = ", ".join(f"{p.owner.name}.{'.'.join(map(str, p.steps))}" for p in look.places)
    program.remarks.append(Remark(at, _TEXT + text))
