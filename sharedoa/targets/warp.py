"""What threads that run in step can do together; ``Target.warp`` emits it. All values are i32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from llvmlite import ir


class Lanes(Protocol):
    """``width`` threads in step, or one. Every thread comes to each of these operations."""

    width: int

    def lane(self, builder: ir.IRBuilder) -> ir.Value:
        """This thread's number in the warp."""
        ...

    def up_to_this(self, builder: ir.IRBuilder) -> ir.Value:
        """The bits of this thread and of all before it."""
        ...

    def ballot(self, builder: ir.IRBuilder, test: ir.Value) -> ir.Value:
        """The bits of the threads in which ``test``, an i1, holds."""
        ...

    def shuffle(self, builder: ir.IRBuilder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """The value of thread ``lane``."""
        ...

    def reduce(
        self, builder: ir.IRBuilder, operator: Literal["add", "or", "umax"], value: ir.Value
    ) -> ir.Value:
        """The values of all threads combined, the same in each."""
        ...


class Warp(Lanes, Protocol):
    """Threads of which some may be on other ways; ``width`` is a power of two."""

    def active(self, builder: ir.IRBuilder) -> ir.Value:
        """The threads of the warp that come here together, a bit each. It may differ from one
        call to the next; those that get it from one call are together until they branch."""
        ...

    def alike(self, builder: ir.IRBuilder, mask: ir.Value, value: ir.Value) -> ir.Value:
        """Those of the threads in ``mask``, all of which come here, that have the same value, of 64
        bits."""
        ...

    def alike_in_bits(
        self, builder: ir.IRBuilder, value: ir.Value, first: int, count: int
    ) -> ir.Value:
        """Those of all threads that have the same ``count`` bits of an i32 from bit ``first`` on.
        All come here, which makes them as many steps."""
        ...

    def last_of(self, builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
        """The number of the last of some threads."""
        ...

    def add_by_one(
        self, builder: ir.IRBuilder, is_one: ir.Value, pointer: ir.Value, value: ir.Value
    ) -> ir.Value:
        """What lies at an address in shared memory, which may differ between threads; one of those
        with the same address adds its value to it. All come here."""
        ...

    def ballot_of(self, builder: ir.IRBuilder, mask: ir.Value, test: ir.Value) -> ir.Value:
        """``ballot`` of the threads in ``mask``, all of which come here."""
        ...

    def shuffle_of(
        self, builder: ir.IRBuilder, mask: ir.Value, value: ir.Value, lane: ir.Value
    ) -> ir.Value:
        """``shuffle`` among the threads in ``mask``, all of which come here."""
        ...

    def synchronize(self, builder: ir.IRBuilder) -> None:
        """What threads of the warp wrote before it, all of them see after it."""
        ...

    def shuffle_up(self, builder: ir.IRBuilder, value: ir.Value, distance: int) -> ir.Value:
        """The value of the thread so many before this one; its own where there is none."""
        ...

    def opaque(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        """The same number, of which no compiler knows that: it would lead each way past the place
        where threads meet."""
        ...

    def together(
        self, builder: ir.IRBuilder, value: ir.Value, others: Sequence[ir.Value]
    ) -> ir.Value:
        """The same value, which no compiler takes to be known before the others are: all of them
        are then under way at once. Numbers, of up to 64 bits."""
        ...
