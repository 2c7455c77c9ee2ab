"""Fields of one object, read and written in its region by functions that are written for them.

Where a field lies in an object, and where an object lies in a region, is the same for all objects
of a class in a heap as long as its layout stays. So both become the source of one function, which
looks every time only at what changes: whether launches are to be waited for, whether the region
that it knows is still there, and whether the object lives. Only objects in regions are accessed so,
and only values that need no conversion; all else is ``Heap.read_field`` and ``write_field``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

from dispatch.dataclass import dataclass, field

from ..errors import HeapError
from ..model.arrangement import Arrangement
from ..model.classes import ClassType
from ..model.layout import member_part
from ..model.scalars import ScalarType
from ..model.spelled import Spelled
from ..model.types import ReferenceType, Type, ValueType
from .by_type import ByTypePlacement
from .recording import recording, taping
from .residency import Residency

if TYPE_CHECKING:
    from .heap import Heap

Read = Callable[[Any], Any]
Write = Callable[[Any, Any], None]

_EXACT = 1 << 53
"""Integers up to here become floats of any width in one rounding."""

IS_QUIET = (
    "memory.last_launch is heap._waited_for and not memory.launching"
    " and memory.unsettled is None and recording() is None"
    " and thread() == heap.upkeep.thread"
)
"""Nothing is to be waited for: ``heap.wait()`` and ``heap.settle()`` would do nothing, and nobody
records."""

_READ = """
def reader(placement, memory):
    known = nowhere
    def read(instance):
        nonlocal known
        heap = instance._heap
        if not ({is_quiet}):
            heap.wait()
            heap.settle()
        with placement.access:
            reference, place = instance._reference, known
            if place[0] != placement.layout_epoch or not place[1] <= reference < place[2]:
                known = place = find(placement, reference)
            epoch, low, high, region{views} = place
            offset = {offset}
            slot = {slot}
            lives = region.live[slot]
            if lives:
                {fetch}
                found = {value}
        if lives:
            {result}
        return heap.read_field(instance, cls, name)
    return read
"""

_FOUND = "return found"
_WRAPPED = """try:
                result = heap.wrap(found)
                if placement.moves == moves:
                    return result
            except HeapError:
                if placement.moves == moves:
                    raise"""
"""Objects may have moved once ``found`` was read."""

_WRITE = """
def writer(placement, memory):
    known = nowhere
    def write(instance, value):
        nonlocal known
        heap = instance._heap
        if {is_usual}:
            if taping or not ({is_quiet}):
                heap.before_change()
                heap.settle()
            with placement.access:
                reference, place = instance._reference, known
                if place[0] != placement.layout_epoch or not place[1] <= reference < place[2]:
                    known = place = find(placement, reference)
                epoch, low, high, region{views} = place
                offset = {offset}
                slot = {slot}
                if region.live[slot]:
                    {fetch}
                    {stores}
                    return
        heap.write_field(instance, cls, name, value)
    return write
"""


@dataclass
class Code:
    """Expressions of Python for the fields of objects of one class, in a heap whose objects lie so;
    ``offset`` there is the distance in bytes of an object from the beginning of its region."""

    cls: ClassType
    arrangement: Arrangement
    encoding: Any
    residency: Residency
    #: What ``Region.flat`` is asked for, and the names of what it gives.
    views: dict[str, str] = field(default_factory=dict)
    #: What else the expressions name.
    names: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(heap: Heap, cls: ClassType) -> Code | None:
        """None if objects of the class lie in no region, or as another compiler says."""
        if not isinstance(heap.books, ByTypePlacement) or cls.foreign is not None:
            return None
        return Code(cls, heap.layout.arrangement(cls), heap.encoding, heap.residency)

    @property
    def slot(self) -> str:
        """The slot of an object."""
        if not self.arrangement.is_tiled:
            return f"offset // {self.arrangement.record.size}"
        return f"(offset // {self.arrangement.block_bytes} << 5) + ((offset & 127) >> 2)"

    def offset_of_slot(self, slot: str) -> str:
        if not self.arrangement.is_tiled:
            return f"{slot} * {self.arrangement.record.size}"
        return f"({slot} >> 5) * {self.arrangement.block_bytes} + (({slot} & 31) << 2)"

    @property
    def offset(self) -> str:
        """The offset of the object that ``reference`` leads to; that of offset 0 is ``low``."""
        unit = self.encoding.unit
        return "reference - low" if unit == 1 else f"(reference - low) * {unit}"

    def leaves(self, name: str) -> list[Leaf] | None:
        """The scalars of a field; None if some need conversions."""
        record = self.arrangement.record
        type = self.cls.fields[name]
        found = _leaves(type, record.offsets[name], record.dtypes[name], ())
        leaves = None if found is None else [*found]
        if leaves is None or not all(map(self._is_aligned, leaves)):
            return None
        return leaves

    def _is_aligned(self, leaf: Leaf) -> bool:
        size = leaf.size
        addressing = self.arrangement.addressing(leaf.offset)
        lanes = range(0, 4 * self.arrangement.lanes, 4)
        return self.arrangement.block_bytes % size == 0 and all(
            addressing.address(lane, leaf.offset, size) % size == 0 for lane in lanes
        )

    def place(self, leaf: Leaf, format: str) -> str:
        """The item of ``Region.flat(format)`` that a scalar is."""
        view = self.views.setdefault(format, f"view{len(self.views)}")
        addressing = self.arrangement.addressing(leaf.offset)
        address = addressing.address(Spelled("offset"), leaf.offset, leaf.size)
        return f"{view}[{(address >> leaf.size.bit_length() - 1).text}]"

    def read(self, type: Type, leaves: Iterator[Leaf]) -> str:
        """The value as users see it, of references the number."""
        if isinstance(type, ValueType):
            name = f"class_{len(self.names)}"
            self.names[name] = type.python_class
            return f"{name}({', '.join(self.read(each, leaves) for each in type.fields.values())})"
        leaf = next(leaves)
        if not isinstance(type, ScalarType):
            return self.place(leaf, leaf.format)
        if type.kind == "bool":
            return f"{self.place(leaf, 'B')} != 0"
        return self.place(leaf, type.dtype.str[1:])

    def is_usual(self, type: Type, given: str) -> str:
        """Whether ``given`` needs no conversion."""
        number = len(self.names)
        if isinstance(type, ReferenceType):
            self.names[f"class_{number}"] = type.cls.python_class
            is_object = f"isinstance({given}, class_{number}) and {given}._heap is heap"
            return f"({given} is None or {is_object})"
        if isinstance(type, ValueType):
            self.names[f"class_{number}"] = type.python_class
            return f"{given}.__class__ is class_{number}"
        assert isinstance(type, ScalarType)
        if type.kind == "bool":
            return f"{given}.__class__ is bool"
        self.names[f"class_{number}"] = type.dtype.type
        is_own = f"{given}.__class__ is class_{number}"
        if type.is_float:
            is_exact = f"{given}.__class__ is int and {-_EXACT} <= {given} <= {_EXACT}"
            return f"({given}.__class__ is float or {is_own} or {is_exact})"
        low, high = type.range
        return f"({given}.__class__ is int and {low} <= {given} <= {high} or {is_own})"

    def stores(self, type: Type, leaves: Sequence[Leaf], given: str) -> list[str]:
        """Statements that write ``given``, which is as usual."""
        found = []
        for leaf in leaves:
            value = ".".join((given, *leaf.members))
            if isinstance(type, ReferenceType):
                value = f"0 if {value} is None else {value}._reference"
            found.append(f"{self.place(leaf, leaf.format)} = {value}")
        return found

    def header(self, header: bytes) -> list[str]:
        """Statements that write what objects of the class begin with."""
        if not header:
            return []
        leaf = Leaf(0, len(header), {4: "I", 8: "Q"}[len(header)], ())
        return [f"{self.place(leaf, leaf.format)} = {int.from_bytes(header, 'little')}"]

    def finder(self) -> Callable[[ByTypePlacement, Any], tuple[Any, ...]]:
        """What looks for the region of a reference: the epoch, the references between which it
        holds, the region, and its views."""
        nowhere = self.nowhere
        cls, encoding, arrangement = self.cls, self.encoding, self.arrangement
        formats = [*self.views]

        def find(placement: ByTypePlacement, reference: Any) -> tuple[Any, ...]:
            try:
                region, _ = placement.locate(encoding.address(reference))
            except HeapError:
                return nowhere
            if region.cls is not cls or region.arrangement is not arrangement:
                return nowhere
            low = encoding.encode(region.start, cls.type_index)
            high = low + (region.end - region.start) // encoding.unit
            views = map(region.flat, formats)
            return placement.layout_epoch, low, high, region, *views

        return find

    @property
    def nowhere(self) -> tuple[Any, ...]:
        """What it finds where there is none: nobody lives there."""
        return -1, 0, 0, _NoRegion, *[None for _ in self.views]

    @property
    def fetch(self) -> str:
        """A statement that brings the object in ``slot`` of ``region`` to the host."""
        if not self.residency.moves:
            return "pass"
        self.names["host_uses"] = self.residency.host_uses
        return "host_uses(region.start, *region.span(slot, slot))"

    @property
    def view_names(self) -> list[str]:
        return [*self.views.values()]


class _Nobody:
    def __getitem__(self, slot: Any) -> bool:
        return False


class _NoRegion:
    live = _Nobody()


@dataclass(frozen=True)
class Leaf:
    """A scalar of a field: where it is in the record, and the members that lead to it."""

    offset: int
    size: int
    format: str
    members: tuple[str, ...]


def _leaves(type: Type, offset: int, dtype: Any, members: tuple[str, ...]) -> Iterator[Leaf] | None:
    if isinstance(type, ValueType):
        if not type.in_memory or (type.dtype is not None and not type.shape):
            return None
        found: list[Leaf] = []
        for name, each in type.fields.items():
            if not isinstance(each, (ScalarType, ValueType)):
                return None
            inside, part = member_part(type, dtype, name)
            more = _leaves(each, offset + inside, part, (*members, name))
            if more is None:
                return None
            found += more
        return iter(found)
    if isinstance(type, ScalarType):
        format = "?" if type.kind == "bool" else dtype.char
        return iter([Leaf(offset, dtype.itemsize, format, members)])
    if isinstance(type, ReferenceType):
        return iter([Leaf(offset, dtype.itemsize, dtype.char, members)])
    return None


def reader(heap: Heap, cls: ClassType, name: str) -> Read:
    """What reads a field of an object of exactly ``cls`` in ``heap``."""
    code = Code.of(heap, cls)
    leaves = None if code is None else code.leaves(name)
    if code is None or leaves is None:
        return lambda instance: instance._heap.read_field(instance, cls, name)
    type = cls.fields[name]
    value = code.read(type, iter(leaves))
    result = _FOUND
    if isinstance(type, ReferenceType):
        value, result = f"{value}; moves = placement.moves", _WRAPPED
    read: Read = _written(heap, code, name, _READ, "reader", value=value, result=result)
    return read


def writer(heap: Heap, cls: ClassType, name: str) -> Write:
    """What writes it."""
    code = Code.of(heap, cls)
    leaves = None if code is None else code.leaves(name)
    type = cls.fields[name]
    is_watched = (cls.field_owner(name), name) in heap.distinct.watched
    if code is None or leaves is None or is_watched:
        return lambda instance, value: instance._heap.write_field(instance, cls, name, value)
    stores = "; ".join(code.stores(type, leaves, "value"))
    is_usual = code.is_usual(type, "value")
    write: Write = _written(heap, code, name, _WRITE, "writer", is_usual=is_usual, stores=stores)
    return write


def _written(heap: Heap, code: Code, name: str, source: str, made: str, **parts: str) -> Any:
    text = source.format(
        is_quiet=IS_QUIET,
        views="".join(f", {each}" for each in code.view_names),
        offset=code.offset,
        slot=code.slot,
        fetch=code.fetch,
        **parts,
    )
    names = code.names
    names.update(
        __name__=__name__,
        recording=recording.get,
        taping=taping,
        thread=get_ident,
        find=code.finder(),
        nowhere=code.nowhere,
        cls=code.cls,
        name=name,
        HeapError=HeapError,
    )
    exec(compile(text, f"{__file__}:{made}", "exec"), names)
    return names[made](heap.books, heap.memory)
