"""The memory that CUPTI writes its records to.

CUPTI asks for buffers and gives them back by calling two functions, from threads of its own too and
holding its locks. They are native code of ours: Python's would wait there for the interpreter's
lock, whose holder may at that time be waiting in the driver for a lock of CUPTI's. LLVM, which is
always there, compiles them; a compiler of C may not be. They only hand out the pieces of memory
that was made before and note how much of each was filled. The records are read later.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from sharedoa.backends.native_code import NativeLibrary, host_target

from . import ending
from .library import INVALID_KIND, MAX_LIMIT_REACHED, SUCCESS, Cupti, CuptiError

#: The memory that records are collected in: ordinary memory takes no space until it is used.
BUFFERS, BUFFER_BYTES = 128, 4 << 20
_FORCED = 1
#: States of a buffer: ours, CUPTI's, given back with what it holds.
_FREE, _TAKEN, _RETURNED = range(3)


class Buffers:
    """Pieces of memory that CUPTI fills; ``requested`` and ``completed`` are the addresses of the
    functions that it calls."""

    def __init__(self, count: int = BUFFERS, size: int = BUFFER_BYTES) -> None:
        self._count, self._size = count, size
        self._memory = np.zeros(count * size, np.uint8)
        #: Of each: its state, and the bytes that it was filled with.
        self._states = (ctypes.c_uint64 * count)()
        self._filled = (ctypes.c_uint64 * count)()
        #: How often there was none to give.
        self._refused = ctypes.c_uint64()
        code = host_target().compile(self._code())["o"]
        assert isinstance(code, bytes)
        self._library = NativeLibrary(code, ("requested", "completed"), {})
        self.requested = self._library.address("requested")
        self.completed = self._library.address("completed")

    def register(self, cupti: Cupti) -> None:
        """Have CUPTI use them, once a process, which from then on has to end as ``ending`` says."""
        ending.keep(self)
        cupti.call("cuptiActivityRegisterCallbacks", self.requested, self.completed)

    def filled(self) -> list[tuple[int, int]]:
        """Address and valid bytes of what was given back, in the order of being handed out."""
        base = self._memory.ctypes.data
        return [
            (base + number * self._size, valid)
            for number, (state, valid) in enumerate(zip(self._states, self._filled, strict=True))
            if state == _RETURNED and valid
        ]

    def reuse(self) -> None:
        """Forget what was given back, and hand it out again. Those that CUPTI still has stay its
        own."""
        self._refused.value = 0
        for number, state in enumerate(self._states):
            if state == _RETURNED:
                self._filled[number] = 0
                # Last: from now on another thread may be given it.
                self._states[number] = _FREE

    @property
    def room(self) -> int:
        """Bytes of records that fit."""
        return self._count * self._size

    @property
    def ran_out(self) -> bool:
        """Whether CUPTI asked for more than there are."""
        return self._refused.value > 0

    def _code(self) -> str:
        def word(variable: ctypes._CData) -> str:
            return f"ptr inttoptr (i64 {ctypes.addressof(variable)} to ptr)"

        base = self._memory.ctypes.data
        return f"""
define void @requested(ptr %buffer, ptr %size, ptr %most_records) {{
entry:
  store i64 0, ptr %most_records
  br label %look
look:
  %number = phi i64 [0, %entry], [%next, %try]
  %is_there = icmp ult i64 %number, {self._count}
  br i1 %is_there, label %try, label %refuse
try:
  %next = add i64 %number, 1
  %state = getelementptr i64, {word(self._states)}, i64 %number
  %exchange = cmpxchg ptr %state, i64 {_FREE}, i64 {_TAKEN} seq_cst seq_cst
  %is_ours = extractvalue {{i64, i1}} %exchange, 1
  br i1 %is_ours, label %give, label %look
give:
  %offset = mul i64 %number, {self._size}
  %place = add i64 %offset, {base}
  %pointer = inttoptr i64 %place to ptr
  store ptr %pointer, ptr %buffer
  store i64 {self._size}, ptr %size
  ret void
refuse:
  %before = atomicrmw add {word(self._refused)}, i64 1 seq_cst
  store ptr null, ptr %buffer
  store i64 0, ptr %size
  ret void
}}
define void @completed(ptr %context, i32 %stream, ptr %buffer, i64 %size, i64 %valid) {{
  %place = ptrtoint ptr %buffer to i64
  %offset = sub i64 %place, {base}
  %number = udiv i64 %offset, {self._size}
  %is_ours = icmp ult i64 %number, {self._count}
  br i1 %is_ours, label %note, label %done
note:
  %filled = getelementptr i64, {word(self._filled)}, i64 %number
  store i64 %valid, ptr %filled
  %state = getelementptr i64, {word(self._states)}, i64 %number
  store atomic i64 {_RETURNED}, ptr %state seq_cst, align 8
  br label %done
done:
  ret void
}}
"""


def flush(cupti: Cupti) -> None:
    """Have CUPTI give all buffers back, also those that are not full. Raises CuptiError."""
    cupti.call("cuptiActivityFlushAll", _FORCED)


def dropped_records(cupti: Cupti) -> int:
    """How many were dropped since this was asked last. Raises CuptiError."""
    dropped = ctypes.c_size_t()
    cupti.call("cuptiActivityGetNumDroppedRecords", None, 0, ctypes.byref(dropped))
    return dropped.value


def records_in(cupti: Cupti, buffer: int, valid: int) -> Iterator[int]:
    """The address of each record of a buffer of ``valid`` bytes.

    Raises CuptiError where CUPTI finds none before the end.
    """
    record = ctypes.c_void_p()
    while True:
        result = cupti.result("cuptiActivityGetNextRecord", buffer, valid, ctypes.byref(record))
        if result == MAX_LIMIT_REACHED:
            return
        if result != SUCCESS:
            reason = "an incomplete record" if result == INVALID_KIND else f"result {result}"
            raise CuptiError(f"reading a buffer ended early: {reason}")
        assert record.value is not None
        yield record.value
