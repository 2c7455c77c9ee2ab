"""Races: two threads of a launch at one scalar, with nothing that says who comes first (debug).

Every access to memory that the program writes to is noted in the shadow table (``dispatch.shadow``)
and compared with those of other threads. Only what the order of the two can change is a race: a
write of what is there already takes nothing from a reader, and two writes of the same value leave
it, whoever comes last. Two atomic accesses are none, nor is an atomic one with a read. A barrier
parts what the threads of a block do before and after it.

Entries are locked. Threads of a warp take their turns, so that none waits for one that cannot go on
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from dispatch import shadow, state
from dispatch.errors import RECORD_DTYPE, ErrorCode

from ..ir.roles import describe, is_unordered
from ..targets.base import as_word, declare
from .emitter import FunctionEmitter, ProgramEmitter, integer
from .report import report_function
from .types import I32, I64, VOID

if TYPE_CHECKING:
    from .memory import Lvalue

NOTE = "sharedoa_note_access"
_READ, _WRITE, _ATOMIC = shadow.READS, shadow.WRITES, shadow.ATOMICS
_SAME = 3
"""A write of what is there already."""
_TRIES = 1 << 16
"""How often a lock is tried before an access goes unnoted."""
_MIX = 0x9E3779B97F4A7C15
_INDEX_BITS = shadow.ENTRIES.bit_length() - 1
#: Of ``sharedoa_note_access``: address, site, subject, value, kind.
_ACCESS = [I64, I64, I64, I64, I32]
#: What its callees know besides: thread, block, phase.
_WHO = [I64, I64, I32]


def note_read(emitter: FunctionEmitter, lvalue: Lvalue, pointer: ir.Value) -> None:
    """Before a scalar is read (debug)."""
    _note(emitter, lvalue, pointer, integer(0), I32(_READ))


def note_write(
    emitter: FunctionEmitter, lvalue: Lvalue, pointer: ir.Value, stored: ir.Value, align: int
) -> None:
    """Before a scalar is written (debug); ``stored`` is what memory is to hold."""
    if not _is_noted(emitter, lvalue):
        return
    builder = emitter.builder
    value = as_word(builder, stored)
    before = as_word(builder, builder.load(pointer, align=align, typ=stored.type))
    is_same = builder.icmp_unsigned("==", before, value)
    _note(emitter, lvalue, pointer, value, builder.select(is_same, I32(_SAME), I32(_WRITE)))


def note_atomic(emitter: FunctionEmitter, lvalue: Lvalue, pointer: ir.Value) -> None:
    """Before an atomic operation (debug)."""
    _note(emitter, lvalue, pointer, integer(0), I32(_ATOMIC))


def _is_noted(emitter: FunctionEmitter, lvalue: Lvalue) -> bool:
    # What nobody writes to cannot be raced for.
    if lvalue.location is None or not emitter.program.roles.is_stored(lvalue.role):
        return False
    # Blocks have memory of their own at the same addresses.
    return lvalue.space is None and lvalue.stack is None and not is_unordered(lvalue.role)


def _note(
    emitter: FunctionEmitter, lvalue: Lvalue, pointer: ir.Value, value: ir.Value, kind: ir.Value
) -> None:
    if not _is_noted(emitter, lvalue):
        return
    assert lvalue.location is not None
    program, builder = emitter.program, emitter.builder
    site = program.site_number(lvalue.location, describe(lvalue.role))
    subject = integer(0) if lvalue.subject is None else lvalue.subject
    address = builder.ptrtoint(pointer, I64)
    note = declare(program.module, NOTE, VOID, _ACCESS, "noinline", "cold")
    builder.call(note, [address, integer(site), subject, value, kind])


def define_notes(program: ProgramEmitter) -> None:
    """Complete ``sharedoa_note_access``, if anything calls it; all code has been written."""
    function = program.module.globals.get(NOTE)
    if function is None:
        return
    function.linkage = "internal"
    target, builder = program.target, ir.IRBuilder(function.append_basic_block("entry"))
    table = state.load(builder, target.constant_space, state.SHADOW)
    record = state.load(builder, target.constant_space, state.ERRORS)
    nothing = integer(0)
    is_off = builder.or_(
        builder.icmp_unsigned("==", table, nothing), builder.icmp_unsigned("==", record, nothing)
    )
    with builder.if_then(is_off):
        builder.ret_void()
    thread = _pair(builder, [target.emit_current_thread(builder, axis) for axis in (0, 1)])
    block, phase = nothing, I32(0)
    if program.uses_barrier:
        block = _pair(builder, [target.emit_block(builder, axis) for axis in (0, 1)])
        phase = builder.trunc(builder.load(target.emit_phase(builder), typ=I64), I32)
    visit = _Visit(program).function
    arguments = [table, record, *function.args, thread, block, phase]
    if target.lanes == 1:
        builder.call(visit, arguments)
    else:
        lane = target.emit_lane(builder)

        def turn(number: ir.Value) -> None:
            with builder.if_then(builder.icmp_unsigned("==", number, lane)):
                builder.call(visit, arguments)

        visit.attributes.add("convergent")
        function.attributes.add("convergent")
        _repeat(builder, target.lanes, turn)
    builder.ret_void()


def _pair(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    x, y = parts
    return builder.or_(x, builder.shl(y, I64(32)))


def _repeat(builder: ir.IRBuilder, times: int, action: Callable[[ir.Value], None]) -> None:
    """``action`` with the numbers (i32) from 0 on."""
    before = builder.block
    body, end = (builder.append_basic_block(name) for name in ("repeat", "repeat.end"))
    builder.branch(body)
    builder.position_at_end(body)
    number = builder.phi(I32)
    action(number)
    following = builder.add(number, I32(1))
    builder.cbranch(builder.icmp_unsigned("<", following, I32(times)), body, end)
    number.add_incoming(I32(0), before)
    number.add_incoming(following, builder.block)
    builder.position_at_end(end)


class _Visit:
    """``sharedoa_visit_entry(table, record, access..., who...)``: find the scalar's entry, compare
    with what it knows, and note the access."""

    def __init__(self, program: ProgramEmitter) -> None:
        self._program = program
        types = [I64, I64, *_ACCESS, *_WHO]
        self.function = ir.Function(
            program.module, ir.FunctionType(VOID, types), "sharedoa_visit_entry"
        )
        self.function.linkage = "internal"
        # Loops written out would take LLVM longer than the rest of a kernel.
        for attribute in ("nounwind", "noinline", "cold", "minsize", "optsize"):
            self.function.attributes.add(attribute)
        (
            self._table, self._record, self._address, self._site, self._subject, self._value,
            self._kind, self._thread, self._block, self._phase,
        ) = self.function.args  # fmt: skip
        self._builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._emit()

    def _emit(self) -> None:
        builder = self._builder
        assert RECORD_DTYPE.fields is not None
        at = builder.add(self._record, integer(RECORD_DTYPE.fields["launch"][1]))
        self._launch = self._load(at, I64)
        mixed = builder.mul(builder.lshr(self._address, I64(1)), I64(_MIX))
        first = builder.lshr(mixed, I64(64 - _INDEX_BITS))
        _repeat(builder, shadow.PROBES, lambda probe: self._probe(first, probe))
        builder.ret_void()

    def _probe(self, first: ir.Value, probe: ir.Value) -> None:
        builder = self._builder
        index = builder.add(first, builder.zext(probe, I64))
        index = builder.and_(index, I64(shadow.ENTRIES - 1))
        entry = builder.add(self._table, builder.mul(index, I64(shadow.ENTRY_BYTES)))
        self._lock(entry)
        keys = {"owner": self._record, "launch": self._launch, "address": self._address}
        owner, launch, address = (
            builder.icmp_unsigned("==", self._load(self._key(entry, name), I64), value)
            for name, value in keys.items()
        )
        is_in_use = builder.and_(owner, launch)
        is_mine = builder.and_(is_in_use, address)
        with builder.if_then(builder.or_(is_mine, builder.not_(is_in_use))):
            with builder.if_then(builder.not_(is_mine)):
                for name, value in keys.items():
                    self._store(value, self._key(entry, name))
                for number in range(3 * shadow.ACCESSES):
                    self._store(I32(0), self._part(entry, I32(number), "site"))
            _repeat(builder, 3 * shadow.ACCESSES, lambda number: self._compare(entry, number))
            self._note(entry)
            self._unlock(entry)
            builder.ret_void()
        self._unlock(entry)

    # ------------------------------------------------------------------ entries

    def _lock(self, entry: ir.Value) -> None:
        """Take the lock, or return."""
        builder = self._builder
        names = ("lock", "lock.again", "lock.failed", "locked")
        test, again, failed, locked = (builder.append_basic_block(name) for name in names)
        before = builder.block
        builder.branch(test)
        builder.position_at_end(test)
        tries = builder.phi(I32)
        # Not 0, and what no other kernel takes.
        own = builder.trunc(builder.lshr(self._record, I64(6)), I32)
        taken = builder.cmpxchg(self._pointer(entry), I32(0), own, "acquire", "monotonic")
        is_taken = builder.extract_value(taken, 1)
        if self._program.target.lanes == 1:
            # One thread runs at a time: a launch that was cut has left the lock.
            left = builder.icmp_unsigned("==", builder.extract_value(taken, 0), own)
            is_taken = builder.or_(is_taken, left)
        builder.cbranch(is_taken, locked, again)
        builder.position_at_end(again)
        more = builder.add(tries, I32(1))
        builder.cbranch(builder.icmp_unsigned("<", more, I32(_TRIES)), test, failed)
        tries.add_incoming(I32(0), before)
        tries.add_incoming(more, again)
        builder.position_at_end(failed)
        builder.ret_void()
        builder.position_at_end(locked)

    def _unlock(self, entry: ir.Value) -> None:
        self._store(I32(0), entry, "release")

    def _key(self, entry: ir.Value, name: str) -> ir.Value:
        assert shadow.ENTRY_DTYPE.fields is not None
        return self._builder.add(entry, integer(shadow.ENTRY_DTYPE.fields[name][1]))

    def _part(self, entry: ir.Value, number: ir.Value, name: str) -> ir.Value:
        """The address of a part of an entry's access (i32)."""
        builder, size = self._builder, shadow.ACCESS_DTYPE.itemsize
        assert shadow.ACCESS_DTYPE.fields is not None
        distance = builder.mul(builder.zext(number, I64), I64(size))
        access = builder.add(self._key(entry, "accesses"), distance)
        return builder.add(access, integer(shadow.ACCESS_DTYPE.fields[name][1]))

    # Other threads look at an entry too, if not at once: its words must not stay in a cache.

    def _load(self, address: ir.Value, type: ir.Type) -> ir.Value:
        align = type.width // 8
        return self._builder.load_atomic(self._pointer(address), "monotonic", align, typ=type)

    def _store(self, value: ir.Value, address: ir.Value, ordering: str = "monotonic") -> None:
        pointer, block = self._pointer(address), self._builder.block
        align = value.type.width // 8
        # The builder's own function knows no pointers without a type.
        store = ir.instructions.StoreAtomicInstr(block, value, pointer, ordering, align)
        self._builder._insert(store)

    def _pointer(self, address: ir.Value) -> ir.Value:
        return self._builder.inttoptr(address, self._program.object_pointer)

    # ------------------------------------------------------------------ accesses

    def _compare(self, entry: ir.Value, number: ir.Value) -> None:
        """Report this access and one that the entry knows, if they are a race."""
        builder = self._builder
        site = self._load(self._part(entry, number, "site"), I32)
        thread = self._load(self._part(entry, number, "thread"), I64)
        is_other = builder.and_(
            builder.icmp_unsigned("!=", site, I32(0)),
            builder.icmp_unsigned("!=", thread, self._thread),
        )
        kind = builder.udiv(number, I32(shadow.ACCESSES))
        phase = self._load(self._part(entry, number, "phase"), I32)
        matters = builder.and_(is_other, self._matters(entry, number, kind, phase))
        if self._program.uses_barrier:
            block = self._load(self._part(entry, number, "block"), I64)
            is_unordered = builder.or_(
                builder.icmp_unsigned("!=", block, self._block),
                builder.icmp_unsigned("==", builder.lshr(phase, I32(1)), self._phase),
            )
            matters = builder.and_(matters, is_unordered)
        with builder.if_then(matters):
            kinds = builder.or_(
                builder.zext(self._own_kind(), I64), builder.shl(builder.zext(kind, I64), I64(32))
            )
            other_site = builder.zext(builder.sub(site, I32(1)), I64)
            builder.call(
                report_function(self._program, of_all=True),
                [I32(ErrorCode.RACE), self._site, self._subject, kinds, other_site, thread],
            )

    def _matters(
        self, entry: ir.Value, number: ir.Value, kind: ir.Value, phase: ir.Value
    ) -> ir.Value:
        """Whether the order of this access and another thread's, of ``kind``, can show."""
        builder = self._builder

        def own(which: int) -> ir.Value:
            return builder.icmp_unsigned("==", self._kind, I32(which))

        def other(which: int) -> ir.Value:
            return builder.icmp_unsigned("==", kind, I32(which))

        value = self._load(self._part(entry, number, "value"), I64)
        differs = builder.icmp_unsigned("!=", value, self._value)
        has_changed = builder.trunc(phase, ir.IntType(1))
        with_write = builder.select(own(_READ), has_changed, builder.or_(own(_ATOMIC), differs))
        writes = builder.or_(own(_WRITE), own(_SAME))
        found = builder.and_(other(_READ), own(_WRITE))
        found = builder.or_(found, builder.and_(other(_WRITE), with_write))
        return builder.or_(found, builder.and_(other(_ATOMIC), writes))

    def _own_kind(self) -> ir.Value:
        """That of ``dispatch.shadow``."""
        is_same = self._builder.icmp_unsigned("==", self._kind, I32(_SAME))
        return self._builder.select(is_same, I32(_WRITE), self._kind)

    def _note(self, entry: ir.Value) -> None:
        """In the first lvalue of the kind, or if that has another thread's access in the second."""
        builder = self._builder
        first = builder.mul(self._own_kind(), I32(shadow.ACCESSES))
        is_free = self._is_my_turn(entry, first)
        number = builder.select(is_free, first, builder.add(first, I32(1)))
        changes = builder.icmp_unsigned("==", self._kind, I32(_WRITE))
        changed = builder.or_(builder.zext(changes, I32), self._has_changed(entry, number))
        phase = builder.or_(builder.shl(self._phase, I32(1)), changed)
        site = builder.add(builder.trunc(self._site, I32), I32(1))
        for name, value in (
            ("thread", self._thread), ("block", self._block), ("value", self._value),
            ("phase", phase), ("site", site),
        ):  # fmt: skip
            self._store(value, self._part(entry, number, name))

    def _is_my_turn(self, entry: ir.Value, number: ir.Value) -> ir.Value:
        builder = self._builder
        site = self._load(self._part(entry, number, "site"), I32)
        thread = self._load(self._part(entry, number, "thread"), I64)
        found = builder.or_(
            builder.icmp_unsigned("==", site, I32(0)),
            builder.icmp_unsigned("==", thread, self._thread),
        )
        if self._program.uses_barrier:
            # What the block did before a barrier races with nothing that it does now.
            block = self._load(self._part(entry, number, "block"), I64)
            phase = self._load(self._part(entry, number, "phase"), I32)
            is_past = builder.icmp_unsigned("<", builder.lshr(phase, I32(1)), self._phase)
            is_own = builder.icmp_unsigned("==", block, self._block)
            found = builder.or_(found, builder.and_(is_own, is_past))
        return found

    def _has_changed(self, entry: ir.Value, number: ir.Value) -> ir.Value:
        """i32: 1 if what is noted there is a change by this thread in this phase."""
        builder = self._builder
        site = self._load(self._part(entry, number, "site"), I32)
        thread = self._load(self._part(entry, number, "thread"), I64)
        phase = self._load(self._part(entry, number, "phase"), I32)
        is_own: Any = builder.and_(
            builder.icmp_unsigned("!=", site, I32(0)),
            builder.icmp_unsigned("==", thread, self._thread),
        )
        now = builder.icmp_unsigned("==", builder.lshr(phase, I32(1)), self._phase)
        is_own = builder.and_(is_own, now)
        return builder.select(is_own, builder.and_(phase, I32(1)), I32(0))
