"""``dispatch.emitter.Emitter`` over PTX text: writes what comes in the place of one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dispatch.dataclass import dataclass
from dispatch.emitter import Candidate
from dispatch.identify.bits import TAG_SHIFT
from dispatch.range_table import NO_TYPE
from dispatch.vtable_record import TYPE_INDEX_OFFSET

from .code import DIRECT_CALL, Names, Registers
from .lookup import lookup_lines
from .sequences import CallSequence
from .syntax import PtxError
from .tables import RowTables
from .vtables import SLOT_BYTES

ADDRESS_MASK = (1 << TAG_SHIFT) - 1


@dataclass(frozen=True)
class TextCandidate:
    """``vtable`` and ``symbol`` are symbols of the module."""

    type_index: int
    vtable: str
    symbol: str


@dataclass(frozen=True)
class Held:
    """A value of the code being written: in ``register``. ``identity`` tells it from others; what
    is computed from equal identities is equal."""

    register: str
    identity: object


@dataclass(frozen=True)
class Setting:
    """What holds for a whole module. ``certain``: every receiver lies in the heap and is of a class
    of the module, so that no call needs the way through the header. ``misplaced``: the
    vtables of classes whose objects may lie in places of others."""

    tagged: bool
    certain: bool
    misplaced: frozenset[str]
    debug: bool
    rows: RowTables
    names: Names


class Memory:
    """Results known at a place, by what was computed: those of blocks that dominate it."""

    def __init__(self, dominates: Callable[[int, int], bool]) -> None:
        self._dominates = dominates
        self._known: dict[object, list[tuple[int, Held]]] = {}

    def find(self, key: object, block: int) -> Held | None:
        for where, held in self._known.get(key, ()):
            if self._dominates(where, block):
                return held
        return None

    def keep(self, key: object, block: int, held: Held) -> None:
        self._known.setdefault(key, []).append((block, held))


class TextEmitter:
    """Stands before a call sequence in ``block``. ``lines`` is what it has written."""

    def __init__(
        self,
        setting: Setting,
        sequence: CallSequence,
        receiver: Held,
        slot: int,
        candidates: Sequence[TextCandidate],
        registers: Registers,
        memory: Memory,
        block: int,
    ) -> None:
        self._setting = setting
        self._sequence = sequence
        self._receiver = receiver
        self._slot = slot
        self._candidates = candidates
        self._registers = registers
        self._memory = memory
        self._block = block
        # What is written under a predicate is known to nobody else.
        self._conditional = sequence.call.predicate is not None
        self.lines: list[str] = []

    @property
    def debug(self) -> bool:
        return self._setting.debug

    def address(self, reference: Held) -> Held:
        if not self._setting.tagged:
            return reference

        def emit(register: str) -> None:
            self._write(f"and.b64 {register}, {reference.register}, {ADDRESS_MASK};")

        return self._once(("address", reference.identity), "b64", emit)

    def load(self, address: Held, offset: int, bits: int) -> Held:
        # Where only the heap makes objects, a class does not change during a launch, and is read
        # once. Else another object may be made in the same place between two calls.
        def emit(register: str) -> None:
            self._write(f"ld.b{bits} {register}, [{address.register}+{offset}];")

        if not self._setting.certain:
            register = self._registers.new(f"b{bits}")
            emit(register)
            return Held(register, register)
        return self._once(("load", address.identity, offset, bits), f"b{bits}", emit)

    def vtable_pointer(self, address: Held) -> Held:
        return self.load(address, 0, 64)

    def type_tag(self, address: Held) -> Held:
        """C++ objects have no room for a tag: it stands in the table, before the functions."""
        return self.load(self.vtable_pointer(address), TYPE_INDEX_OFFSET, 32)

    def upper_bits(self, reference: Held, shift: int) -> Held:
        def emit(register: str) -> None:
            wide = self._registers.new("b64")
            self._write(f"shr.u64 {wide}, {reference.register}, {shift};")
            self._write(f"cvt.u32.u64 {register}, {wide};")

        return self._once(("bits", reference.identity, shift), "b32", emit)

    def look_up(self, reference: Held) -> Held:
        address = self.address(reference)

        def emit(register: str) -> None:
            setting = self._setting
            verify = not setting.certain or setting.debug
            self.lines += lookup_lines(
                address.register, register, self._registers, setting.names, verify
            )

        return self._once(("look_up", address.identity), "b32", emit)

    def prefetch(self, offset: int) -> None:
        """Start to fetch what lies ``offset`` bytes into the receiver."""
        address = self.address(self._receiver)
        self._write(f"prefetch.global.L2 [{address.register}+{offset}];")

    def unless_zero(self, value: Held, otherwise: Callable[[], Held]) -> Held:
        result, is_set = self._registers.new("b32"), self._registers.new("pred")
        end = self._setting.names.label()
        self._write(f"mov.b32 {result}, {value.register};")
        self._write(f"setp.ne.u32 {is_set}, {value.register}, 0;")
        self._write(f"@{is_set} bra {end};")
        before, self._conditional = self._conditional, True
        other = otherwise()
        self._conditional = before
        self._write(f"mov.b32 {result}, {other.register};")
        self._write(f"{end}:")
        return Held(result, result)

    def confirm(self, value: Held, expected: Held) -> Held:
        result, same = self._registers.new("b32"), self._registers.new("pred")
        self._write(f"setp.eq.u32 {same}, {value.register}, {expected.register};")
        self._write(f"selp.b32 {result}, {value.register}, {NO_TYPE}, {same};")
        return Held(result, result)

    def require_type(self, type_index: Held, candidates: Sequence[Candidate]) -> None:
        known, end = self._registers.new("pred"), self._setting.names.label()
        for candidate in candidates:
            self._write(f"setp.eq.u32 {known}, {type_index.register}, {candidate.type_index};")
            self._write(f"@{known} bra {end};")
        if not self._setting.certain:
            self._write(f"setp.eq.u32 {known}, {type_index.register}, {NO_TYPE};")
            self._write(f"@{known} bra {end};")
        self._write("trap;")
        self._write(f"{end}:")

    def function_of_entry(self, entry: Held) -> Held:
        raise PtxError("the vtables of C++ hold functions, not entries of a function table")

    def function_of_type(self, type_index: Held, slot: int) -> Held:
        pairs = [(candidate.vtable, candidate.symbol) for candidate in self._candidates]
        table, first, last = self._setting.rows.row(pairs)
        function, place = (self._registers.new("b64") for _ in range(2))
        index = type_index.register
        load = [
            f"mov.b64 {place}, {table};",
            f"mad.wide.u32 {place}, {index}, {SLOT_BYTES}, {place};",
            f"ld.global.nc.b64 {function}, [{place}+{-SLOT_BYTES * first}];",
        ]
        if self._setting.certain:
            self.lines += load
            return Held(function, function)
        row = self._registers.new("b32")
        outside, found = (self._registers.new("pred") for _ in range(2))
        other, end = (self._setting.names.label() for _ in range(2))
        self._write(f"sub.u32 {row}, {index}, {first};")
        self._write(f"setp.gt.u32 {outside}, {row}, {last - first};")
        self._write(f"@{outside} bra {other};")
        self.lines += load
        self._write(f"setp.ne.u64 {found}, {function}, 0;")
        self._write(f"@{found} bra {end};")
        self._write(f"{other}:")
        self._write(f"mov.b64 {function}, {self._function_of_header().register};")
        self._write(f"{end}:")
        return Held(function, function)

    def call(self, function: Held) -> None:
        self._write(self._sequence.with_target(function.register))

    def call_directly(self, symbol: str) -> None:
        self._write(f"{self._setting.names.label(DIRECT_CALL)}:")
        self._write(self._sequence.with_function(symbol))

    def switch(self, type_index: Held, cases: Sequence[tuple[Sequence[int], str]]) -> None:
        if self.debug:
            self.require_type(type_index, self._candidates)
        names = self._setting.names
        end = names.label()
        labels = {symbol: names.label() for _, symbol in cases}
        ranges = _ranges(cases, close_gaps=self._setting.certain)
        if self._setting.certain and len(labels) == 1:
            self.call_directly(next(iter(labels)))
            return
        other = names.label()
        self._branch(type_index, ranges, labels, other)
        for symbol, label in labels.items():
            self._write(f"{label}:")
            self.call_directly(symbol)
            self._write(f"bra {end};")
        if not self._setting.certain:
            self._write(f"{other}:")
            self.call(self._function_of_header())
        self._write(f"{end}:")

    # ------------------------------------------------------------ parts

    def _branch(
        self,
        type_index: Held,
        ranges: Sequence[tuple[int, int, str]],
        labels: Mapping[str, str],
        other: str,
    ) -> None:
        """A balanced tree of comparisons over (first, last, symbol), sorted."""
        test = self._registers.new("pred")
        if len(ranges) > 1:
            middle = len(ranges) // 2
            upper = self._setting.names.label()
            self._write(f"setp.ge.u32 {test}, {type_index.register}, {ranges[middle][0]};")
            self._write(f"@{test} bra {upper};")
            self._branch(type_index, ranges[:middle], labels, other)
            self._write(f"{upper}:")
            self._branch(type_index, ranges[middle:], labels, other)
            return
        ((first, last, symbol),) = ranges
        if not self._setting.certain:
            row = self._registers.new("b32")
            self._write(f"sub.u32 {row}, {type_index.register}, {first};")
            self._write(f"setp.gt.u32 {test}, {row}, {last - first};")
            self._write(f"@{test} bra {other};")
        self._write(f"bra {labels[symbol]};")

    def _function_of_header(self) -> Held:
        """The way that the program had: table, function."""
        before, self._conditional = self._conditional, True
        address = self.address(self._receiver).register
        self._conditional = before
        vtable, function = (self._registers.new("b64") for _ in range(2))
        self._write(f"ld.b64 {vtable}, [{address}];")
        self._write(f"ld.b64 {function}, [{vtable}+{SLOT_BYTES * self._slot}];")
        return Held(function, function)

    def _once(self, key: object, type: str, emit: Callable[[str], None]) -> Held:
        """The result of ``emit``, or of an earlier equal one on every way here."""
        known = self._memory.find(key, self._block)
        if known is not None:
            return known
        register = self._registers.new(type)
        emit(register)
        held = Held(register, key)
        if not self._conditional:
            self._memory.keep(key, self._block, held)
        return held

    def _write(self, line: str) -> None:
        self.lines.append(line)


def _ranges(
    cases: Sequence[tuple[Sequence[int], str]], close_gaps: bool
) -> list[tuple[int, int, str]]:
    """(first, last, symbol) of neighbouring type indices that run the same function, sorted."""
    found: list[tuple[int, int, str]] = []
    for number, symbol in sorted(
        (number, symbol) for numbers, symbol in cases for number in numbers
    ):
        if found and found[-1][2] == symbol and (close_gaps or found[-1][1] == number - 1):
            found[-1] = (found[-1][0], number, symbol)
        else:
            found.append((number, number, symbol))
    return found
