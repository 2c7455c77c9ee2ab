"""Loops that the threads of a warp share (``frontend.shared_loops`` says which can be).

A whole warp that comes to such a loop counts the iterations of its threads. Where sharing them
takes fewer rounds than the longest of the loops has iterations, thread by thread takes the next
iteration of all, whoever's it is: a prefix sum of the counts tells whose, and what the iteration
needs is fetched from that thread's registers. Values that are reduced are combined among the
threads of one owner, and then by the owner. Threads that do not come as a whole warp, or whose
loops are of equal length, run the loop as it is written.

Idea: nested parallelism within warps, as CUDA-NP (Yang and Zhou, PPoPP 2014) has it; the balance
among lists of unequal length is that of load-balancing search (Baxter, moderngpu).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from dispatch.dataclass import dataclass

from ..errors import InternalError
from ..ir.core import Operation, Region, Value, live_ins, operations_in
from ..ir.operations import kind_of
from ..ir.passes.shared_loops import Combination, only_indexed
from ..model.scalars import ScalarType
from ..targets.warp import Warp
from .abi import build_struct
from .emitter import FunctionEmitter, Join, Loop
from .types import F32, F64, I32, I64, llvm_type

_MOST_ITERATIONS = 1 << 26
"""Of one thread's loop that is shared; the sum of a warp's fits 32 bits."""
COST = 2
"""What a round of a shared loop costs, in iterations of a thread's own."""
TOGETHER = 4
"""Rounds that are run together where the loop's body has at most so many operations."""
_MOST_OPERATIONS = 60
_NOWHERE = 0x7FFFFFFF


def emit_shared(
    emitter: FunctionEmitter,
    operation: Operation,
    start: ir.Value,
    stop: ir.Value,
    first: Sequence[ir.Value],
    alone: Callable[[], list[ir.Value]],
) -> list[ir.Value]:
    """The loop that ``operation`` is; ``alone`` emits it as it is written."""
    warp = _warp(emitter)
    builder = emitter.builder
    count = _emit_count(builder, start, stop)
    decide, share = emitter.new_block("shared.decide"), emitter.new_block("shared")
    otherwise, end = emitter.new_block("shared.alone"), Join(emitter, "shared.end")
    everyone = builder.icmp_unsigned("==", warp.active(builder), I32(-1))
    emitter.branch_on(everyone, decide, otherwise)
    emitter.start(decide)
    longest = warp.reduce(builder, "umax", count)
    total = warp.reduce(builder, "add", count)
    rounds = builder.lshr(builder.add(total, I32(warp.width - 1)), I32(warp.width.bit_length() - 1))
    pays = builder.icmp_unsigned("<", builder.mul(rounds, I32(COST)), longest)
    fits = builder.icmp_unsigned("<", longest, I32(_MOST_ITERATIONS))
    emitter.branch_on(builder.and_(pays, fits), share, otherwise)
    emitter.start(share)
    warp.synchronize(builder)
    together = _Sharing(emitter, operation, start, count, total).emit(first)
    warp.synchronize(builder)
    end.branch(together)
    emitter.start(otherwise)
    end.branch(alone())
    return end.start()


def _warp(emitter: FunctionEmitter) -> Warp:
    warp = emitter.program.target.warp
    if warp is None:
        raise InternalError(f"{emitter.program.target.name} shares no loops")
    return warp


def _emit_count(builder: ir.IRBuilder, start: ir.Value, stop: ir.Value) -> ir.Value:
    """i32: the number of iterations, at most ``_MOST_ITERATIONS``."""
    most = start.type(_MOST_ITERATIONS)
    # The difference of two numbers may need a bit more, which without a sign it has.
    length = builder.sub(stop, start)
    length = builder.select(builder.icmp_unsigned("<", length, most), length, most)
    goes_on = builder.icmp_signed("<", start, stop)
    length = builder.select(goes_on, length, start.type(0))
    return length if length.type == I32 else builder.trunc(length, I32)


@dataclass(frozen=True)
class _Item:
    """The iteration that a thread runs in one round."""

    #: Numbers among all iterations of the warp: of the round's first, of the owner's first.
    base: ir.Value
    begin: ir.Value
    #: What the loop's variable is.
    number: ir.Value
    #: Whether there is one for this thread.
    exists: ir.Value
    #: What the owner has for the live-ins that are not the same in all threads.
    captured: dict[Value, ir.Value]


class _Sharing:
    """One shared loop in the making. A *round* is one iteration for each thread of the warp."""

    def __init__(
        self,
        emitter: FunctionEmitter,
        operation: Operation,
        start: ir.Value,
        count: ir.Value,
        total: ir.Value,
    ) -> None:
        self._emitter, self._body = emitter, operation.regions[0]
        combined: Sequence[Combination] = operation["shared"]
        self._reductions = [
            Reduction(combination, _scalar(result))
            for combination, result in zip(combined, operation.results, strict=True)
        ]
        self._captured = [
            value for value in live_ins([self._body]) if not is_uniform(emitter, value)
        ]
        self._indexed = only_indexed(operation, self._captured)
        self._warp = _warp(emitter)
        self._start, self._total = start, total
        builder = emitter.builder
        self._lane = self._warp.lane(builder)
        self._end = self._emit_prefix_sum(count)
        #: Number of the first of this thread's iterations among those of the warp.
        self._begin = builder.sub(self._end, count)
        self._has_any = builder.icmp_unsigned("!=", count, I32(0))
        self._owners = self._emit_owners()

    def emit(self, first: Sequence[ir.Value]) -> list[ir.Value]:
        """The rounds; what this thread's own iterations give, that begin with ``first``."""
        emitter, builder = self._emitter, self._emitter.builder
        head, rounds, done = (emitter.new_block(f"shared.{n}") for n in ("head", "rounds", "done"))
        before = builder.block
        emitter.branch(head)
        emitter.start(head)
        carried = [builder.phi(value.type) for value in (I32(0), I32(-1), *first)]
        for phi, value in zip(carried, (I32(0), I32(-1), *first), strict=True):
            phi.add_incoming(value, before)
        base, rank, *given = carried
        emitter.branch_on(builder.icmp_unsigned("<", base, self._total), rounds, done)
        emitter.start(rounds)
        together = []
        for place in range(_together(self._body)):
            found, rank = self._emit_owner(builder.add(base, I32(place * self._warp.width)), rank)
            together.append(found)
        following = builder.add(base, I32(len(together) * self._warp.width))
        results = [self._emit_iteration(found) for found in together]
        own: list[ir.Value] = list(given)
        for found, values in zip(together, results, strict=True):
            for number, (reduction, value) in enumerate(zip(self._reductions, values, strict=True)):
                scanned = self._emit_segmented_scan(reduction, value, found)
                own[number] = self._give_back(reduction, own[number], scanned, found)
        for phi, value in zip(carried, (following, rank, *own), strict=True):
            phi.add_incoming(value, builder.block)
        emitter.branch(head)
        emitter.start(done)
        return given

    def _emit_owner(self, base: ir.Value, rank: ir.Value) -> tuple[_Item, ir.Value]:
        """Which iteration this thread runs in the round that begins with ``base``. ``rank`` is that
        of the owner of the last iteration before, among the threads that have any; with it comes
        that of the last one of this round."""
        builder, warp = self._builder, self._warp
        # Threads whose first iteration is in this round, by the thread that runs it.
        first = builder.select(self._has_any, builder.sub(self._begin, base), I32(_NOWHERE))
        begins = builder.icmp_unsigned("<", first, I32(self._warp.width))
        bit = builder.select(begins, builder.shl(I32(1), builder.and_(first, I32(31))), I32(0))
        heads = warp.reduce(builder, "or", bit)
        upto = builder.and_(heads, warp.up_to_this(builder))
        owner = warp.shuffle(builder, self._owners, builder.add(rank, builder.ctpop(upto)))
        begin = warp.shuffle(builder, self._begin, owner)
        item = builder.add(base, self._lane)
        exists = builder.icmp_unsigned("<", item, self._total)
        # Threads for which nothing is left run the last one again, which changes nothing: a branch
        # would keep the loads of rounds that are together apart.
        item = builder.select(exists, item, builder.sub(self._total, I32(1)))
        number = self._emit_number(owner, builder.sub(item, begin))
        captured = {value: self._fetch_live_in(value, owner) for value in self._captured}
        found = _Item(base, begin, number, exists, captured)
        return found, builder.add(rank, builder.ctpop(heads))

    def _emit_iteration(self, item: _Item) -> list[ir.Value]:
        """Run the loop's body; what it has for each reduction."""
        emitter, builder = self._emitter, self._builder
        identities = [_identity(reduction) for reduction in self._reductions]
        with emitter.rebound(item.captured):
            emitter.bind_all(self._body.arguments, [item.number, *identities])
            end = Join(emitter, "shared.next")
            emitter.loops.append(Loop(end, end))
            emitter.run(self._body)
            emitter.loops.pop()
            values = end.start()
        return [
            builder.select(item.exists, value, identity)
            for value, identity in zip(values, identities, strict=True)
        ]

    def _emit_number(self, owner: ir.Value, place: ir.Value) -> ir.Value:
        """i64: what the loop's variable is in the owner's iteration ``place``."""
        builder, start = self._emitter.builder, self._start
        if not isinstance(start, ir.Constant):
            start = self._fetch(start, owner)
        if start.type == I64:
            return builder.add(start, builder.zext(place, I64))
        return builder.sext(builder.add(start, place, flags=("nsw",)), I64)

    # ------------------------------------------------------------ whose iteration it is

    def _emit_prefix_sum(self, count: ir.Value) -> ir.Value:
        builder = self._emitter.builder
        total = count
        for distance in _doubling(self._warp):
            other = self._warp.shuffle_up(builder, total, distance)
            exists = builder.icmp_unsigned(">=", self._lane, I32(distance))
            total = builder.add(total, builder.select(exists, other, I32(0)))
        return total

    def _emit_owners(self) -> ir.Value:
        """In the n-th thread of the warp, the number of the n-th one that has iterations: the
        place of a set bit, found by halving."""
        builder = self._emitter.builder
        bits = self._warp.ballot(builder, self._has_any)
        place, left = I32(0), self._lane
        for half in reversed(_doubling(self._warp)):
            low = builder.and_(builder.lshr(bits, place), I32((1 << half) - 1))
            count = builder.ctpop(low)
            is_higher = builder.icmp_unsigned("<=", count, left)
            left = builder.select(is_higher, builder.sub(left, count), left)
            place = builder.select(is_higher, builder.add(place, I32(half)), place)
        return place

    # ------------------------------------------------------------ values of other threads

    def _fetch(self, value: ir.Value, lane: ir.Value) -> ir.Value:
        """The value that thread ``lane`` has for ``value``."""
        return self._by_words(value, lambda word: self._warp.shuffle(self._builder, word, lane))

    def _fetch_live_in(self, live_in: Value, lane: ir.Value) -> ir.Value:
        value = self._emitter.value(live_in)
        if live_in not in self._indexed:
            return self._fetch(value, lane)
        address = self._fetch(self._builder.extract_value(value, 0), lane)
        return build_struct(self._builder, value.type, [address, I64(ir.Undefined)])

    @property
    def _builder(self) -> ir.IRBuilder:
        return self._emitter.builder

    def _by_words(self, value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """``value`` with each of its 32-bit words put through ``move``."""
        builder, type = self._builder, value.type
        if isinstance(type, ir.BaseStructType):
            for place in range(len(type.elements)):
                part = self._by_words(builder.extract_value(value, place), move)
                value = builder.insert_value(value, part, place)
            return value
        if type == F32:
            return builder.bitcast(move(builder.bitcast(value, I32)), F32)
        if type == F64:
            return builder.bitcast(self._by_words(builder.bitcast(value, I64), move), F64)
        if type == I64:
            low = move(builder.trunc(value, I32))
            high = move(builder.trunc(builder.lshr(value, I64(32)), I32))
            wide = builder.shl(builder.zext(high, I64), I64(32))
            return builder.or_(wide, builder.zext(low, I64))
        if type == I32:
            return move(value)
        return builder.trunc(move(builder.zext(value, I32)), type)

    # ------------------------------------------------------------ reductions

    def _emit_segmented_scan(self, reduction: Reduction, value: ir.Value, item: _Item) -> ir.Value:
        """What the threads up to this one that have iterations of the same owner have, combined."""
        builder = self._builder
        # The number of such threads before this one.
        behind = builder.sub(item.begin, item.base)
        behind = builder.select(builder.icmp_signed("<", behind, I32(0)), I32(0), behind)
        place = builder.sub(self._lane, behind)
        for distance in _doubling(self._warp):
            other = self._shifted(value, distance)
            is_same = builder.icmp_signed(">=", place, I32(distance))
            value = builder.select(is_same, _combine(builder, reduction, value, other), value)
        return value

    def _shifted(self, value: ir.Value, distance: int) -> ir.Value:
        return self._by_words(
            value, lambda word: self._warp.shuffle_up(self._builder, word, distance)
        )

    def _give_back(
        self, reduction: Reduction, now: ir.Value, value: ir.Value, item: _Item
    ) -> ir.Value:
        """This thread's own number, with what the last of those that had its iterations in this
        round have together."""
        builder = self._builder
        behind = builder.sub(self._end, item.base)
        is_longer = builder.icmp_signed(">", behind, I32(self._warp.width))
        last = builder.sub(builder.select(is_longer, I32(self._warp.width), behind), I32(1))
        given = self._fetch(value, builder.and_(last, I32(self._warp.width - 1)))
        begun = builder.icmp_signed("<", builder.sub(self._begin, item.base), I32(self._warp.width))
        has_some = builder.and_(builder.icmp_signed(">", behind, I32(0)), begun)
        has_some = builder.and_(has_some, self._has_any)
        then = _combine(builder, reduction, now, given)
        return builder.select(has_some, then, now)


def _together(body: Region) -> int:
    """How many rounds are run together, so that loads of one do not wait for those of another."""
    inside = list(operations_in(body))
    is_short = len(inside) <= _MOST_OPERATIONS and not any(
        (kind := kind_of(each)) is None or kind.is_loop for each in inside
    )
    return TOGETHER if is_short else 1


@dataclass(frozen=True)
class Reduction:
    """How a number is combined, and the integer type that it has."""

    operator: Combination
    type: ScalarType


def _scalar(value: Value) -> ScalarType:
    assert isinstance(value.type, ScalarType)
    return value.type


def _doubling(warp: Warp) -> list[int]:
    return [1 << step for step in range(warp.width.bit_length() - 1)]


def _identity(reduction: Reduction) -> ir.Constant:
    low, high = reduction.type.range
    values: dict[Combination, int] = {
        "add": 0, "or": 0, "xor": 0, "and": -1, "min": high, "max": low,
    }  # fmt: skip
    return ir.Constant(llvm_type(reduction.type), values[reduction.operator])


def _combine(
    builder: ir.IRBuilder, reduction: Reduction, one: ir.Value, other: ir.Value
) -> ir.Value:
    match reduction.operator:
        case "add":
            return builder.add(one, other)
        case "and":
            return builder.and_(one, other)
        case "or":
            return builder.or_(one, other)
        case "xor":
            return builder.xor(one, other)
    is_signed = reduction.type.kind == "int"
    compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
    is_first = compare("<" if reduction.operator == "min" else ">", one, other)
    return builder.select(is_first, one, other)


def is_uniform(emitter: FunctionEmitter, value: Value) -> bool:
    """Whether a value is the same in all threads of a launch: a constant, or an argument of the
    kernel."""
    if isinstance(emitter.value(value), ir.Constant):
        return True
    return emitter.function.kind == "kernel" and value in emitter.function.parameters
