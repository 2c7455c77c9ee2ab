"""Loads a module into memory and runs its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any

import numpy as np

from ptxpass.text import Module, read_module
from ptxpass.text.syntax import Function, Instruction, SymbolValue, Variable, names_in, type_size

from .builtin_functions import BUILTINS
from .collectives import Collective
from .errors import PtxFault
from .frames import BARRIER, EXIT, RETURN, Code, Frame, Invocation, Stretch, Thread
from .fused import Fused
from .grid import WARP, Grid, indices
from .memory import UNWRITTEN, WINDOWS, AccessFault, Memory, from_generic
from .scopes import Names, Register
from .translate import translate
from .warps import Choose, all_of_them, groups

_FUNCTION_BYTES = 128
_MEMORY_ALIGNMENT = 16
MOST_STEPS = 1_000_000
MOST_FRAMES = 200
OFTEN = 400
"""Runs of a stretch that are worth making one function of it."""


class Addresses:
    """Where variables and functions lie, by name. Modules that share one agree about those that
    they have in common, so that pointers in memory mean the same to both."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._known: dict[tuple[str, str, int], int] = {}

    def of(self, window: str, name: str, size: int, alignment: int) -> int:
        key = (window, name, size)
        if key not in self._known:
            self._known[key] = self._memory.reserve(window, size, alignment)
        return self._known[key]


@dataclass
class Counts:
    """What a launch did."""

    steps: int = 0
    indirect_calls: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    #: Groups of threads that came together to a collective, by its name.
    collectives: dict[str, int] = field(default_factory=dict)


class Machine:
    """One loaded module, its memory and its heap, which it may share with others: ``heap``."""

    def __init__(
        self,
        module: str | Module,
        addresses: Addresses | None = None,
        heap: Memory | None = None,
    ) -> None:
        self.module = read_module(module) if isinstance(module, str) else module
        self.memory = Memory(heap)
        self._heap = heap or self.memory
        self.counts = Counts()
        self.grid = Grid()
        #: Which of the lanes at an ``activemask`` are together.
        self.choose: Choose = all_of_them
        #: What a register holds that nobody has written; None, which faults where it is computed
        #: with. Compilers compute ahead of a branch with what is there on some ways only.
        self.unwritten: Callable[[], int | None] = _nothing
        self._addresses = addresses or Addresses()
        self._codes: dict[str, Code] = {}
        self._symbols: dict[str, int] = {}
        self._functions: dict[int, str] = {}
        self._shared: list[tuple[int, int, str]] = []
        self._dynamic_shared: dict[str, int] = {}
        self._functions_defined = self.module.functions
        self._place_symbols()

    # ------------------------------------------------------------ for the host

    def allocate(self, size: int, name: str = "an allocation", data: bytes = b"") -> int:
        """Global memory; the address of ``size`` bytes, or of ``data``."""
        size = size or len(data)
        start = self._heap.reserve("heap", size, _MEMORY_ALIGNMENT)
        contents = bytearray(data.ljust(size, bytes([UNWRITTEN])))
        self._heap.add(start, contents, "global", name)
        return start

    def free(self, address: int) -> None:
        block = self._heap.at(address)
        if block is None or not block.writable or address < WINDOWS["heap"]:
            raise AccessFault(f"free of {address:#x}, which malloc did not give")
        self._heap.remove(block)

    def address_of(self, name: str) -> int:
        """The generic address of a variable or function."""
        space = self._space(name)
        address = self._symbols[name]
        return address + WINDOWS[space] if space in ("const", "shared") else address

    def function_at(self, address: int) -> str:
        """The function that an indirect call with this address reaches."""
        if address is None:
            raise PtxFault("a call through a register that was never written")
        if address not in self._functions:
            raise PtxFault(f"a call of {address:#x}, where no function is")
        self.counts.indirect_calls += 1
        return self._functions[address]

    def launch(
        self,
        kernel: str,
        arguments: Sequence[int | bytes],
        blocks: int | tuple[int, int, int] = 1,
        threads: int | tuple[int, int, int] = 1,
        shared: int = 0,
    ) -> None:
        """Run all threads. Integers are arguments of any type's width; floats come as bytes."""
        function = self._functions_defined[kernel]
        if len(arguments) != len(function.parameters):
            count = len(function.parameters)
            raise TypeError(f"{kernel} has {count} parameters, got {len(arguments)} arguments")
        data = [
            a if isinstance(a, bytes) else _bytes(a, p.size)
            for a, p in zip(arguments, function.parameters, strict=True)
        ]
        self.grid.begin(blocks, threads)
        with np.errstate(all="ignore"):
            for block in indices(self.grid.blocks):
                self.grid.block = block
                self._run_block(kernel, data, shared)

    # ------------------------------------------------------------ for operations

    def symbol(self, name: str) -> int:
        """The address of a variable or function in its own state space."""
        if name in self._dynamic_shared:
            return self._dynamic_shared[name]
        if name not in self._symbols:
            raise PtxFault(f"there is no {name}")
        return self._symbols[name]

    # ------------------------------------------------------------ loading

    def _space(self, name: str) -> str:
        return self.module.variables[name].space if name in self.module.variables else "code"

    def _place_symbols(self) -> None:
        for function in self._functions_defined.values():
            address = self._addresses.of("code", function.name, _FUNCTION_BYTES, _FUNCTION_BYTES)
            self._symbols[function.name] = address
            self._functions[address] = function.name
        variables = [v for v in self.module.variables.values() if v.linkage != ".extern"]
        for variable in variables:
            size, alignment = _size(variable), _alignment(variable)
            generic = self._addresses.of(variable.space, variable.name, max(size, 1), alignment)
            self._symbols[variable.name] = from_generic(variable.space, generic)
            if variable.space == "shared":
                self._shared.append((generic, size, variable.name))
        for variable in self.module.variables.values():
            if variable.linkage == ".extern" and variable.space == "shared":
                generic = self._addresses.of("shared", variable.name, 1 << 20, 16)
                self._dynamic_shared[variable.name] = from_generic("shared", generic)
        for variable in variables:
            if variable.space in ("global", "const"):
                generic = self.address_of(variable.name)
                writable = variable.space == "global"
                data = self._initial(variable)
                self.memory.add(generic, data, variable.space, variable.name, writable)

    def _initial(self, variable: Variable) -> bytearray:
        if variable.has_initialiser and variable.initial is None:
            raise PtxFault(f"the initialiser of {variable.name} is not understood")
        width = type_size(variable.type)
        data = bytearray(_size(variable))
        for place, value in enumerate(variable.initial or []):
            if isinstance(value, SymbolValue):
                # The address of a global variable is its generic one.
                known = self.address_of(value.name) if value.generic else self.symbol(value.name)
                value = known + value.offset
            data[place * width : (place + 1) * width] = _bytes(value, width)
        return data

    def _code(self, name: str) -> Code:
        if name not in self._codes:
            self._codes[name] = translate(self._functions_defined[name], self)
        return self._codes[name]

    # ------------------------------------------------------------ running

    def _run_block(self, kernel: str, data: list[bytes], dynamic: int) -> None:
        shared = [
            self.memory.add(start, bytearray([UNWRITTEN]) * size, "shared", name)
            for start, size, name in self._shared
        ]
        for name, address in self._dynamic_shared.items():
            start = address + WINDOWS["shared"]
            shared.append(self.memory.add(start, bytearray(dynamic), "shared", name))
        code, threads = self._code(kernel), []
        for number, index in enumerate(indices(self.grid.threads)):
            frame = self._frame(code)
            # Nobody writes to arguments of a kernel, so that all threads have the same.
            frame.buffers[: len(data)] = data
            if code.addressed:
                self._give_addresses(frame)
            threads.append(Thread(index, number % WARP, [frame]))
        warps = [threads[start : start + WARP] for start in range(0, len(threads), WARP)]
        # Each thread to its end or barrier, until none is left.
        while warps:
            warps = [left for warp in warps if (left := self._run_warp(warp))]
        for block in shared:
            self.memory.remove(block)

    def _frame(self, code: Code) -> Frame:
        names: Names = code.names
        registers: list[int | None] = [None] * names.registers
        if self.unwritten is not _nothing:
            registers = [self.unwritten() for _ in registers]
        frame = Frame(code, registers, [None] * len(names.buffers))
        for variable in names.variables:
            if variable.space == "shared":
                name = f"{code.function.name}:{variable.name}"
                start = self._addresses.of("shared", name, variable.size, variable.alignment)
                if self.memory.at(start) is None:
                    data = bytearray([UNWRITTEN]) * variable.size
                    self.memory.add(start, data, "shared", variable.name)
            else:
                start = self.memory.reserve("local", variable.size, variable.alignment)
                data = bytearray([UNWRITTEN]) * variable.size
                frame.blocks.append(self.memory.add(start, data, "local", variable.name))
            frame.bits[variable.place] = from_generic(variable.space, start)
        return frame

    def _give_addresses(self, frame: Frame) -> None:
        """Addresses of the parameters that the function treats as memory."""
        for buffer in frame.code.names.parameters:
            data = frame.buffers[buffer.place]
            if buffer.place in frame.code.addressed and data is not None:
                start = self.memory.reserve("param", len(data), _MEMORY_ALIGNMENT)
                writable = isinstance(data, bytearray)
                block = self.memory.add(start, data, "param", "a parameter", writable)
                frame.blocks.append(block)
                frame.bits[buffer.address] = from_generic("param", start)

    def _run_warp(self, threads: list[Thread]) -> list[Thread]:
        """Run the threads of a warp; those that wait at a barrier now, the others have ended."""
        runnable = threads
        while runnable:
            for thread in runnable:
                thread.waits_at = self._run(thread)
            runnable = self._released(threads)
        return [thread for thread in threads if thread.waits_at is BARRIER]

    def _released(self, threads: list[Thread]) -> list[Thread]:
        """The threads of a warp that have been together at a collective and may go on."""
        waiting = {
            thread.lane: thread for thread in threads if thread.waits_at.__class__ is Collective
        }
        released: list[Thread] = []
        if not waiting:
            return released
        try:
            for collective, lanes in groups(waiting, self.choose):
                collective.run({lane: waiting[lane].frames[-1] for lane in lanes})
                known = self.counts.collectives
                known[collective.name] = known.get(collective.name, 0) + 1
                released += [waiting[lane] for lane in lanes]
        except (PtxFault, TypeError) as error:
            raise _placed(error, next(iter(waiting.values())), self.grid.block) from error
        return released

    def _run(self, thread: Thread) -> Any:
        """BARRIER or the ``Collective`` that the thread waits at; None if it has ended."""
        self.grid.thread = thread.index
        frame, steps = thread.frames[-1], thread.steps
        try:
            while True:
                code = frame.code
                stretch = code.stretches.get(frame.at) or code.stretch(frame.at)
                steps += stretch.following - frame.at
                run = _run_one_by_one if stretch.runs < OFTEN else _run_fused
                signal = run(stretch, frame)
                if signal is None:
                    if steps > MOST_STEPS:
                        raise PtxFault(f"more than {MOST_STEPS} instructions: it does not end")
                elif signal is BARRIER or signal.__class__ is Collective:
                    return signal
                elif signal is EXIT or (signal is RETURN and len(thread.frames) == 1):
                    while thread.frames:
                        self._leave(thread.frames.pop())
                    self.counts.steps += steps
                    return None
                else:
                    is_back = signal is RETURN
                    frame = self._return(thread) if is_back else self._enter(thread, signal)
        except (PtxFault, TypeError) as error:
            raise _placed(error, thread, self.grid.block) from error
        finally:
            thread.steps = steps

    def _enter(self, thread: Thread, invocation: Invocation) -> Frame:
        caller = thread.frames[-1]
        self.counts.calls[invocation.name] = self.counts.calls.get(invocation.name, 0) + 1
        function = self._functions_defined[invocation.name]
        _check_signature(function, invocation)
        passed = [give(caller) for give in invocation.passed]
        if function.body is None:
            results = self._call_builtin(function, passed)
            for take, result in zip(invocation.fetched, results, strict=True):
                take(caller, result)
            return caller
        if len(thread.frames) == MOST_FRAMES:
            raise PtxFault(f"calls nest more than {MOST_FRAMES} deep")
        frame = self._frame(self._code(function.name))
        frame.fetched = invocation.fetched
        for buffer, data in zip(frame.code.names.parameters, passed, strict=True):
            frame.buffers[buffer.place] = None if data is None else bytearray(data)
        self._give_addresses(frame)
        thread.frames.append(frame)
        return frame

    def _call_builtin(
        self, function: Function, passed: list[bytearray | None]
    ) -> list[bytearray | None]:
        builtin = BUILTINS.get(function.name)
        if builtin is None:
            raise PtxFault(f"{function.name} is not defined in this module")
        values = [None if data is None else int.from_bytes(data, "little") for data in passed]
        result = builtin(self, *values)
        return [bytearray(result.to_bytes(p.size, "little")) for p in function.results]

    def _return(self, thread: Thread) -> Frame:
        callee = thread.frames.pop()
        caller = thread.frames[-1]
        for take, buffer in zip(callee.fetched, callee.code.names.results, strict=True):
            data = callee.buffers[buffer.place]
            take(caller, None if data is None else bytearray(data))
        self._leave(callee)
        return caller

    def _leave(self, frame: Frame) -> None:
        for block in frame.blocks:
            self.memory.remove(block)


def _run_one_by_one(stretch: Stretch, frame: Frame) -> Any:
    """What the last operation says."""
    stretch.runs += 1
    left = iter(stretch.operations)
    try:
        for operation in left:
            operation(frame)
    except (PtxFault, TypeError):
        frame.at = stretch.following - 1 - length_hint(left)
        raise
    frame.at = stretch.following
    return stretch.last(frame)


def _run_fused(stretch: Stretch, frame: Frame) -> Any:
    if stretch.fused is None:
        stretch.fused = Fused(stretch.operations, stretch.last, stretch.following)
    fused: Fused = stretch.fused
    try:
        return fused.run(frame)
    except (PtxFault, TypeError) as error:
        failing = fused.failing(error)
        operation = (*stretch.operations, stretch.last)[failing]
        frame.at = stretch.following - len(stretch.operations) + failing
        if hasattr(operation, "statement"):
            operation(frame)  # which says better what is wrong
        raise


def _nothing() -> None:
    return None


def _check_signature(function: Function, invocation: Invocation) -> None:
    own = [p.size for p in function.results], [p.size for p in function.parameters]
    if own != invocation.sizes:
        message = f"{function.name} has results and parameters of {own} bytes"
        raise PtxFault(f"{message}, the call of {invocation.sizes}")


def _placed(error: Exception, thread: Thread, block: tuple[int, int, int]) -> Exception:
    """The error with where it happened. A TypeError is arithmetic with a register that nobody has
    written."""
    frame = thread.frames[-1]
    line, text = frame.code.lines[frame.at - 1]
    way = " > ".join(f.code.function.name for f in thread.frames)
    message = str(error)
    if isinstance(error, TypeError):
        unwritten = _unwritten(frame)
        message = f"a register was never written: {unwritten}" if unwritten else message
    where = f"{way}\n  line {line}: {' '.join(text.split())}"
    kind = type(error) if isinstance(error, PtxFault) else PtxFault
    return kind(f"{message}\n  in {where}\n  thread {thread.index} of block {block}")


def _unwritten(frame: Frame) -> str:
    """The registers that the instruction under way reads and nobody has written."""
    place = -1
    for index, statement in enumerate(frame.code.function.body or []):
        if (
            isinstance(statement, Instruction)
            and (statement.line, statement.text) == (frame.code.lines[frame.at - 1])
        ):
            place = index
    if place < 0:
        return ""
    statement = (frame.code.function.body or [])[place]
    assert isinstance(statement, Instruction)
    scope = frame.code.names.scope_of[place]
    sources = statement.operands[1:]
    names = [name for operand in sources for name in names_in(operand)]
    found = [(name, scope.find(name)) for name in names]
    return ", ".join(
        name for name, m in found if isinstance(m, Register) and frame.bits[m.place] is None
    )


def _bytes(value: int, size: int) -> bytes:
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def _size(variable: Variable) -> int:
    width = type_size(variable.type)
    count = 1 if variable.count is None else variable.count
    return width * max(count, len(variable.initial or [])) if count == 0 else width * count


def _alignment(variable: Variable) -> int:
    words = variable.text.split()
    if ".align" in words:
        return int(words[words.index(".align") + 1])
    return type_size(variable.type)
