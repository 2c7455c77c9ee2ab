"""The state of code generation, and the table by which operations find their emitters.

``ProgramEmitter`` is what all functions of one module share, ``FunctionEmitter`` what one function
needs while its body is written. A file of this package registers an emitter for each kind of
operation with ``emits``; ``FunctionEmitter.run`` looks them up. An emitter answers what the
operation's results are: nothing, an LLVM value, an ``Lvalue``, or a list with one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from llvmlite import ir

from dispatch.dataclass import dataclass, field
from ptxpass.ir import Lowering, VirtualCall

from ..context_managers import contextmanager
from ..errors import InternalError
from ..ir.core import Function, Operation, ParameterFact, Region, Value
from ..location import Location
from ..model.classes import ClassType
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from ..model.types import Type
from ..targets.base import EmitTurns, Target
from .roles import RoleMetadata
from .types import I1, I64, llvm_type, zero

if TYPE_CHECKING:
    from .line_table import LineTable
    from .neighbours import Member

Emitter = TypeVar("Emitter", bound=Callable[..., Any])
_EMITTERS: dict[str, Callable[[FunctionEmitter, Operation], Any]] = {}


def emits(*kinds: str) -> Callable[[Emitter], Emitter]:
    """Register the emitter of kinds of operations: ``(emitter, operation) -> results``."""

    def register(emitter: Emitter) -> Emitter:
        _EMITTERS.update(dict.fromkeys(kinds, emitter))
        return emitter

    return register


@dataclass
class ProgramEmitter:
    """One module in the making."""

    target: Target
    layout: Layout
    encoding: ReferenceEncoding
    debug: bool
    module: ir.Module
    roles: RoleMetadata
    #: Whether floating-point arithmetic may be approximate.
    fastmath: bool = False
    #: Where places in the source are noted, if they are.
    lines: LineTable | None = None
    #: The functions of the program but the kernel, by symbol.
    functions: dict[str, ir.Function] = field(default_factory=dict)
    #: What is known of their parameters.
    known: dict[str, Mapping[int, ParameterFact]] = field(default_factory=dict)
    #: Where in the source something is reported from, by its number in error records.
    source_sites: list[Location] = field(default_factory=list)
    #: What the assertions among ``source_sites`` say, by the same number.
    assertion_texts: dict[int, str] = field(default_factory=dict)
    #: What is known of each virtual call, and who writes them.
    calls: dict[Operation, VirtualCall] = field(default_factory=dict)
    dispatch: Lowering = field(init=False)
    uses_barrier: bool = False
    #: Whether threads of a warp meet in some function: LLVM must not move calls into branches.
    is_convergent: bool = False
    #: Where threads may stand in another order within their blocks.
    turns: EmitTurns | None = None
    #: Whether a thread of a device is one of the launch after another, and notes which one.
    notes_thread: bool = False
    _site_numbers: dict[tuple[Location, str | None], int] = field(default_factory=dict)
    _alignments: dict[ClassType, int] = field(default_factory=dict)
    #: The block that was written to last, and addresses that were computed there, by the identity
    #: of their references.
    _block: ir.Block | None = None
    _addresses: dict[int, tuple[ir.Value, ir.Value]] = field(default_factory=dict)

    def emit_address(self, builder: ir.IRBuilder, reference: ir.Value) -> ir.Value:
        """i64: the address of the object that a reference names; ``builder`` stands at the end of a
        block. Computed once in a block: what LLVM would find to be the same takes longest to
        write."""
        if builder.block is not self._block:
            self._block = builder.block
            self._addresses.clear()
        known = self._addresses.get(id(reference))
        if known is None:
            space = self.target.constant_space
            address = self.encoding.emit_address(builder, reference, space)
            known = self._addresses[id(reference)] = reference, address
        return known[1]

    def emit_address_or_null(self, builder: ir.IRBuilder, reference: ir.Value) -> ir.Value:
        """The same, and 0 for null."""
        address = self.emit_address(builder, reference)
        is_null = builder.icmp_unsigned("==", reference, integer(0))
        return builder.select(is_null, integer(0), address)

    def object_alignment(self, cls: ClassType) -> int:
        """``Layout.object_alignment``, asked once a class."""
        found = self._alignments.get(cls)
        if found is None:
            found = self._alignments[cls] = self.layout.object_alignment(cls)
        return found

    def site_number(self, location: Location, assertion: str | None = None) -> int:
        """The number that stands in error records for a place in the source, or for an assertion
        there and what it says. The text itself is no part of the code, nor of its cache's keys."""
        key = location, assertion
        number = self._site_numbers.get(key)
        if number is None:
            number = self._site_numbers[key] = len(self.source_sites)
            self.source_sites.append(location)
            if assertion is not None:
                self.assertion_texts[number] = assertion
        return number

    @cached_property
    def object_pointer(self) -> ir.Type:
        """Pointer to memory of the heap."""
        return ir.PointerType(None, self.target.object_space)

    @cached_property
    def stack_pointer(self) -> ir.Type:
        """Pointer to the stack; its address space is the data layout's (AMDGPU: 5)."""
        parts = str(self.module.data_layout).split("-")
        spaces = [int(part[1:]) for part in parts if part[:1] == "A" and part[1:].isdigit()]
        return ir.PointerType(None, spaces[0] if spaces else 0)


class _Alloca(ir.AllocaInstr):  # type: ignore[misc]
    """An alloca that says its address space, which llvmlite's does not."""

    def __init__(self, block: ir.Block, type: ir.Type, pointer: ir.Type, name: str) -> None:
        super().__init__(block, type, None, name)
        self.type = pointer

    def descr(self, buffer: list[str]) -> None:
        space = f", addrspace({self.type.addrspace})" if self.type.addrspace else ""
        buffer.append(f"alloca {self.allocated_type}{space}\n")


@dataclass
class Loop:
    """Where ``continue`` and ``break`` of the innermost loop go."""

    next: Join
    end: Join


class Join:
    """A block that several ways lead to, each with its own values."""

    def __init__(self, emitter: FunctionEmitter, name: str) -> None:
        self._emitter = emitter
        self.block = ir.Block(emitter.llvm_function, name)
        self._ways: list[tuple[Sequence[ir.Value], ir.Block]] = []

    def branch(self, values: Sequence[ir.Value] = ()) -> None:
        """Go there from where code is written now, unless that is dead."""
        if not self._emitter.is_dead:
            self.comes(values)
            self._emitter.builder.branch(self.block)

    def comes(self, values: Sequence[ir.Value] = ()) -> None:
        """Note that the branch which is written next may lead there."""
        self._ways.append((values, self._emitter.builder.block))

    def take(self, values: Sequence[Value]) -> None:
        """Go there with these values of the IR."""
        self.branch(self._emitter.values(values))

    def start(self) -> list[ir.Value]:
        """Continue there, if any way leads there; what the values are."""
        if not self._ways:
            return []
        self._emitter.start(self.block)
        return [self._merged(values) for values in zip(*(v for v, _ in self._ways), strict=True)]

    def _merged(self, values: Sequence[ir.Value]) -> ir.Value:
        if all(value is values[0] for value in values):
            return values[0]
        phi = self._emitter.builder.phi(values[0].type)
        for value, (_, block) in zip(values, self._ways, strict=True):
            phi.add_incoming(value, block)
        return phi


@dataclass(frozen=True)
class Way:
    """A block that a branch may lead to, and the values that it brings there."""

    join: Join
    values: Sequence[ir.Value] = ()

    def comes(self) -> None:
        self.join.comes(self.values)


class Yields(Protocol):
    """What takes the values that a region yields, and goes on with them."""

    def take(self, values: Sequence[Value]) -> None: ...


class FunctionEmitter:
    """One function in the making; ``builder`` stands where the next instruction goes.

    When the current block is terminated the code that follows is dead, and ``run`` drops it.
    """

    def __init__(
        self, program: ProgramEmitter, function: Function, llvm_function: ir.Function
    ) -> None:
        self.program = program
        self.function = function
        self.llvm_function = llvm_function
        #: The kernel body's x, y, nx, ny.
        self.thread: Sequence[ir.Value] = ()
        #: In debug mode, how many barriers the thread has passed.
        self.barriers: ir.Value | None = None
        #: References to objects of which it is known that they are members of a group.
        self.members: dict[Value, Member] = {}
        self.loops: list[Loop] = []
        #: Where the arms of the innermost ``if`` meet, or where a loop ends.
        self.arms: list[Yields] = []
        #: Operations that are tests of an ``if``, and no values (``branches``).
        self.tests: Collection[Operation] = ()
        self._values: dict[Value, Any] = {}
        #: Slots of values that have one, by their identity.
        self._in_slots: dict[int, tuple[ir.Value, ir.Value]] = {}
        self._entry = ir.IRBuilder(llvm_function.append_basic_block("entry"))
        self._first = llvm_function.append_basic_block("body")
        self.builder = ir.IRBuilder(self._first)
        self._subprogram: ir.DIValue | None = None
        if program.lines is not None:
            at = function.location
            self._subprogram = program.lines.subprogram(function.name, at)
            llvm_function.set_metadata("dbg", self._subprogram)
            self.builder.debug_metadata = program.lines.location(self._subprogram, at)

    def finish(self) -> None:
        """Close the entry block, which holds the stack slots; without any there is none."""
        entry = self._entry.block
        if not entry.instructions:
            self.llvm_function.blocks.remove(entry)
            return
        # Targets put stack slots of their own there.
        self._entry.position_at_end(entry)
        self._entry.branch(self._first)

    # -------------------------------------------------------------- values

    def value(self, value: Value) -> Any:
        """The LLVM value of ``value``, or its ``Lvalue``."""
        return self._values[value]

    def values(self, values: Sequence[Value]) -> list[Any]:
        return [self._values[value] for value in values]

    def bind(self, value: Value, made: Any) -> None:
        if isinstance(made, ir.Instruction) and value.name and made.name.startswith("."):
            made.name = value.name
        self._values[value] = made

    def bind_all(self, values: Sequence[Value], made: Sequence[Any]) -> None:
        for value, each in zip(values, made, strict=True):
            self.bind(value, each)

    @contextmanager
    def rebound(self, values: Mapping[Value, ir.Value]) -> Iterator[None]:
        """For the time of the context these values are other ones."""
        own = {value: self._values[value] for value in values}
        self._values.update(values)
        yield
        self._values.update(own)

    def run(self, region: Region) -> None:
        """The operations of a region, up to one after which control does not go on."""
        for operation in region.operations:
            if self.is_dead:
                return
            self._emit(operation)

    def _emit(self, operation: Operation) -> None:
        if operation in self.tests:
            self._values[operation.result] = operation  # what it decides writes it
            return
        emitter = _EMITTERS.get(operation.kind)
        if emitter is None:
            raise InternalError(f"no code generation for the operation {operation.kind}")
        made = (
            emitter(self, operation) if self._subprogram is None else self._at(operation, emitter)
        )
        if self.is_dead:
            return
        if isinstance(made, list):
            self.bind_all(operation.results, made)
        elif operation.results:
            self.bind(operation.result, made)

    def _at(
        self, operation: Operation, emitter: Callable[[FunctionEmitter, Operation], Any]
    ) -> Any:
        """What the emitter makes, all of it at the operation's place in the source."""
        assert self.program.lines is not None
        around = self.builder.debug_metadata
        if operation.location.file:
            at = self.program.lines.location(self._subprogram, operation.location)
            self.builder.debug_metadata = at
        made = emitter(self, operation)
        self.builder.debug_metadata = around
        return made

    def slot(self, type: ir.Type, name: str) -> ir.Value:
        """A new stack slot, zero at the start of the function."""
        alloca = self._new_slot(type, name)
        self._entry.store(zero(type), alloca)
        return alloca

    def _new_slot(self, type: ir.Type, name: str) -> ir.Value:
        block = self._entry.block
        alloca = _Alloca(block, type, self.program.stack_pointer, name)
        block.instructions.append(alloca)
        self._entry.position_at_end(block)
        return alloca

    def room(self, words: int, name: str) -> ir.Value:
        """So many words of the stack, with anything in them, by a pointer of any space."""
        slot = self._new_slot(ir.ArrayType(I64, words), name)
        if slot.type.addrspace:
            slot = self._entry.addrspacecast(slot, ir.PointerType())
        return slot

    def count(self, stop: ir.Value, step: ir.Value, body: Callable[[ir.Value], None]) -> None:
        """Run ``body`` for 0, step, 2 step, ... below ``stop``, which is not 0."""
        before, loop, end = self.builder.block, self.new_block("fill"), self.new_block("filled")
        self.builder.branch(loop)
        self.start(loop)
        number = self.builder.phi(I64)
        number.add_incoming(I64(0), before)
        body(number)
        following = self.builder.add(number, step)
        number.add_incoming(following, self.builder.block)
        self.builder.cbranch(self.builder.icmp_unsigned("<", following, stop), loop, end)
        self.start(end)

    def in_slot(self, value: ir.Value) -> ir.Value:
        """A stack slot that holds a value from where it is made on: its parts may be taken by
        computed indices."""
        known = self._in_slots.get(id(value))
        if known is not None:
            return known[1]
        slot = self._new_slot(value.type, "array")
        self._in_slots[id(value)] = value, slot
        if not isinstance(value, ir.Instruction):
            self._entry.store(value, slot)
            return slot
        block = value.parent
        instructions = block.instructions
        place = instructions.index(value) + 1
        while place < len(instructions) and isinstance(instructions[place], ir.PhiInstr):
            place += 1
        builder = ir.IRBuilder(block)
        if place < len(instructions):
            builder.position_before(instructions[place])
        builder.store(value, slot)
        if block is self.builder.block:
            self.builder.position_at_end(block)
        return slot

    # --------------------------------------------------------- control flow

    @property
    def is_dead(self) -> bool:
        return bool(self.builder.block.is_terminated)

    def new_block(self, name: str) -> ir.Block:
        """A block that becomes part of the function by ``start``."""
        return ir.Block(self.llvm_function, name)

    def start(self, block: ir.Block) -> None:
        """Continue in ``block``."""
        self.llvm_function.blocks.append(block)
        self.builder.position_at_end(block)

    def branch_on(self, test: ir.Value, then: ir.Block, otherwise: ir.Block) -> None:
        inverse = inverse_of(self.builder, test)
        if inverse is not None:
            test, then, otherwise = inverse, otherwise, then
        self.builder.cbranch(test, then, otherwise)

    def choose(
        self,
        test: ir.Value,
        then: Callable[[], Any],
        otherwise: Callable[[], Any],
        name: str = "choice",
    ) -> Any:
        """The value of ``then()`` or of ``otherwise()``; only code of the one chosen runs."""
        blocks = [self.new_block(f"{name}.{part}") for part in ("then", "else")]
        end = Join(self, f"{name}.end")
        self.branch_on(test, *blocks)
        for block, produce in zip(blocks, (then, otherwise), strict=True):
            self.start(block)
            value = produce()
            end.branch([] if value is None else [value])
        found = end.start()
        return found[0] if found else None

    def when(self, test: ir.Value, action: Callable[[], Any], name: str = "when") -> None:
        """Run ``action`` if ``test`` holds."""
        then, end = self.new_block(name), self.new_block(f"{name}.end")
        self.branch_on(test, then, end)
        self.start(then)
        action()
        self.branch(end)
        self.start(end)

    def branch(self, block: ir.Block) -> None:
        """Go to ``block``, unless the current code is dead."""
        if not self.is_dead:
            self.builder.branch(block)


def require_type(value: ir.Value, type: Type) -> None:
    """Refuse a value that is not of ``type``: LLVM would store any value through any pointer."""
    if value.type != llvm_type(type):
        raise InternalError(f"a value of LLVM type {value.type} is used as {type!r}")


def integer(value: int, type: ir.Type = I64) -> ir.Constant:
    return ir.Constant(type, value)


def inverse_of(builder: ir.IRBuilder, test: ir.Value) -> ir.Value | None:
    """What holds exactly where ``test`` does not, if that is a strict comparison of floats: GPU
    targets make one that picks one of its own operands a max or min instruction, which takes 0.0
    for larger than -0.0; Python keeps the first of the two."""
    inverse = _INVERSE.get(getattr(test, "op", ""))
    if not isinstance(test, ir.instructions.FCMPInstr) or inverse is None:
        return None
    return builder.fcmp_unordered(inverse, *test.operands)


#: Comparisons that hold exactly where the strict, ordered one does not.
_INVERSE = {"ogt": "<=", "olt": ">="}
TRUE, FALSE = ir.Constant(I1, 1), ir.Constant(I1, 0)
