"""The state of code generation, and the tables by which tree nodes find their emitters.

``ProgramEmitter`` is what all functions of one module share, ``FunctionEmitter`` what one function
needs while its body is written. A file of this package registers an emitter per node class with
``expression`` or ``statement``; ``FunctionEmitter.evaluate`` and ``run`` look them up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from llvmlite import ir

from dispatch.mode import Mode
from ptxpass.ir import CallSite, TypeQuery

from ..errors import InternalError
from ..frontend import tree
from ..frontend.shared_loops import SharedLoop
from ..model.classes import ClassType, Family
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from ..model.run_form import RunForm
from ..model.types import Type
from ..targets.base import Target
from .job import Facts
from .roles import Role, RoleMetadata
from .types import I1, I64, llvm_type, zero

if TYPE_CHECKING:
    from .neighbours import Member

Emitter = TypeVar("Emitter", bound=Callable[..., Any])
_EXPRESSIONS: dict[type, Callable[[FunctionEmitter, Any], Any]] = {}
_STATEMENTS: dict[type, Callable[[FunctionEmitter, Any], None]] = {}
_PATIENT: dict[type, Callable[[FunctionEmitter, Any], bool]] = {}


def expression(node: type) -> Callable[[Emitter], Emitter]:
    """Register the emitter of an expression class: ``(emitter, node) -> value``."""

    def register(emitter: Emitter) -> Emitter:
        _EXPRESSIONS[node] = emitter
        return emitter

    return register


def statement(node: type) -> Callable[[Emitter], Emitter]:
    """Register the emitter of a statement class: ``(emitter, node) -> None``."""

    def register(emitter: Emitter) -> Emitter:
        _STATEMENTS[node] = emitter
        return emitter

    return register


def lets_stores_wait(node: type) -> Callable[[Emitter], Emitter]:
    """Register what tells of a statement class whether stores may wait while one of it begins:
    ``(emitter, node) -> bool``. They do not for others."""

    def register(patient: Emitter) -> Emitter:
        _PATIENT[node] = patient
        return patient

    return register


#: A function's symbol, and by place what is known of its parameters that are runs, and the lanes of
#: those that are members of a group of neighbours.
Variant = tuple[str, tuple[tuple[int, RunForm], ...], tuple[tuple[int, int], ...]]


@dataclass
class ProgramEmitter:
    """One module in the making."""

    target: Target
    layout: Layout
    encoding: ReferenceEncoding
    mode: Mode
    debug: bool
    module: ir.Module
    roles: RoleMetadata
    #: What the code rests on.
    facts: Facts = field(default_factory=Facts)
    #: Variables that some statement of the program assigns to.
    assigned: frozenset[tree.Variable] = frozenset()
    #: Loops that threads of a warp share (``shared_loops``).
    shared_loops: Mapping[tree.ForRange, SharedLoop] = field(default_factory=dict)
    #: How often loops may be copied that lie in methods side by side (``loop_copies``).
    loop_copies: Mapping[tree.ForRange, int] = field(default_factory=dict)
    #: Functions that threads on different ways should run together (``common_functions``).
    common_functions: frozenset[str] = frozenset()
    #: Whether floating-point arithmetic may be approximate.
    fastmath: bool = False
    functions: dict[str, ir.Function] = field(default_factory=dict)
    sites: list[CallSite] = field(default_factory=list)
    queries: list[TypeQuery] = field(default_factory=list)
    #: Places in the source, by their number in error records.
    source_sites: list[tree.Location] = field(default_factory=list)
    #: What the assertions among ``source_sites`` say, by the same number.
    assertion_texts: dict[int, str] = field(default_factory=dict)
    #: The number in error records of each of ``sites``.
    call_sites: list[int] = field(default_factory=list)
    #: Symbols that each function may call, directly or through a vtable.
    calls: dict[str, set[str]] = field(default_factory=dict)
    #: The families of the receivers of ``sites`` and ``queries``, by name.
    families: dict[str, Family] = field(default_factory=dict)
    uses_barrier: bool = False
    #: Functions that are called, by symbol and what is known of their parameters.
    variants: dict[Variant, ir.Function] = field(default_factory=dict)
    _site_numbers: dict[tuple[tree.Location, str | None], int] = field(default_factory=dict)
    _alignments: dict[ClassType, int] = field(default_factory=dict)

    def emit_address(self, builder: ir.IRBuilder, reference: ir.Value) -> ir.Value:
        """i64: the address of the object that a reference names."""
        space = self.target.constant_space
        address: ir.Value = self.encoding.emit_address(builder, reference, space)
        return address

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

    def site_number(self, location: tree.Location, assertion: str | None = None) -> int:
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

    def variant(
        self, symbol: str, runs: Mapping[int, RunForm], members: Mapping[int, int]
    ) -> ir.Function:
        """The function for parameters of which these are runs, and these members (``neighbours``);
        ``lower`` writes its body."""
        known_runs = tuple(sorted(runs.items(), key=itemgetter(0)))
        key = symbol, known_runs, tuple(sorted(members.items()))
        found = self.variants.get(key)
        if found is None:
            found = self.functions[symbol]
            if runs or members:
                name = f"{symbol}.{'runs' if runs else 'lane'}.{len(self.variants)}"
                found = ir.Function(self.module, found.function_type, name)
                found.linkage = "internal"
                found.attributes = copy(self.functions[symbol].attributes)
            self.variants[key] = found
        return found

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

    next: ir.Block
    end: ir.Block


@dataclass(frozen=True)
class PendingStore:
    """A store that has been evaluated: where to, how much, and what writes it."""

    path: Role
    bytes: int
    write: Callable[[], None]


class FunctionEmitter:
    """One function in the making; ``builder`` stands where the next instruction goes.

    When the current block is terminated the code that follows is dead, and ``run`` drops it.
    """

    def __init__(
        self, program: ProgramEmitter, function: tree.Function, llvm_function: ir.Function
    ) -> None:
        self.program = program
        self.function = function
        self.llvm_function = llvm_function
        #: The kernel body's x, y, nx, ny.
        self.thread: Sequence[ir.Value] = ()
        #: In debug mode, how many barriers the thread has passed.
        self.barriers: ir.Value | None = None
        #: Parameters that are runs, and locals that hold what comes out of one (``runs``).
        self.runs: dict[tree.Variable, RunForm] = {}
        self.exact: dict[tree.Variable, ClassType] = {}
        #: Parameters that are members of a group of neighbours.
        self.members: dict[tree.Variable, Member] = {}
        self.assigned_once: frozenset[tree.Variable] | None = None
        self.loops: list[Loop] = []
        #: Stores that wait, in order (``pending_stores``).
        self.pending: list[PendingStore] = []
        #: Counters of loops that are written out, while they are.
        self.numbers: dict[tree.Variable, int] = {}
        self._variables: dict[tree.Variable, ir.Value] = {}
        self._bindings: dict[tree.Variable, ir.Value] = {}
        self._reached: set[ir.Block] = set()
        self._entry = ir.IRBuilder(llvm_function.append_basic_block("entry"))
        self._first = llvm_function.append_basic_block("body")
        self.builder = ir.IRBuilder(self._first)

    def finish(self) -> None:
        """Close the entry block, which holds the locals."""
        # Targets put stack slots of their own there.
        self._entry.position_at_end(self._entry.block)
        self._entry.branch(self._first)

    def evaluate(self, node: tree.Expression) -> Any:
        """The value of an expression (None for a void call)."""
        emitter = _EXPRESSIONS.get(type(node))
        if emitter is None:
            raise InternalError(f"no code generation for expression {type(node).__name__}")
        return emitter(self, node)

    def run(self, statements: Sequence[tree.Statement]) -> None:
        for node in statements:
            if self.is_dead:
                return
            self.run_one(node)
        self.settle()

    def run_one(self, node: tree.Statement) -> None:
        """Run a statement. Stores before it, and it itself if it is one, may be left pending."""
        emitter = _STATEMENTS.get(type(node))
        if emitter is None:
            raise InternalError(f"no code generation for statement {type(node).__name__}")
        patient = _PATIENT.get(type(node))
        if not (patient and patient(self, node)):
            self.settle()
        emitter(self, node)

    def settle(self) -> None:
        """Make the stores that wait."""
        waiting, self.pending = self.pending, []
        for each in waiting:
            each.write()

    # ------------------------------------------------------------ variables

    def slot(self, type: ir.Type, name: str) -> ir.Value:
        """A new stack slot, zero at the start of the function."""
        block = self._entry.block
        alloca = _Alloca(block, type, self.program.stack_pointer, name)
        block.instructions.append(alloca)
        self._entry.position_at_end(block)
        self._entry.store(zero(type), alloca)
        return alloca

    def assign(self, variable: tree.Variable, value: ir.Value) -> None:
        require_type(value, variable.type)
        self.builder.store(value, self._slot_of(variable))

    def take(self, variable: tree.Variable, value: ir.Value) -> None:
        """Begin with ``value`` in a parameter; one that keeps it needs no slot."""
        if variable in self.program.assigned:
            self.assign(variable, value)
        else:
            require_type(value, variable.type)
            self.bind(variable, value)

    def bind(self, variable: tree.Variable, value: ir.Value) -> None:
        """Name a value that never changes; it needs no slot."""
        self._bindings[variable] = value

    def read(self, variable: tree.Variable) -> ir.Value:
        bound = self._bindings.get(variable)
        if bound is not None:
            return bound
        slot = self._slot_of(variable)
        return self.builder.load(slot, variable.name, typ=llvm_type(variable.type))

    def _slot_of(self, variable: tree.Variable) -> ir.Value:
        slot = self._variables.get(variable)
        if slot is None:
            slot = self._variables[variable] = self.slot(llvm_type(variable.type), variable.name)
        return slot

    @contextmanager
    def standing_in(
        self, values: Mapping[tree.Variable, ir.Value], renewed: Sequence[tree.Variable]
    ) -> Iterator[list[ir.Value]]:
        """For a while these variables name other values, and ``renewed`` have new slots, which it
        gives."""
        slots = [self.slot(llvm_type(v.type), f"{v.name}.part") for v in renewed]
        own = {variable: self._slot_of(variable) for variable in renewed}
        bindings = self._bindings
        self._bindings = {**bindings, **values}
        self._variables.update(zip(renewed, slots, strict=True))
        yield slots
        self._bindings = bindings
        self._variables.update(own)

    # --------------------------------------------------------- control flow

    @property
    def is_dead(self) -> bool:
        return bool(self.builder.block.is_terminated)

    def new_block(self, name: str) -> ir.Block:
        """A block that becomes part of the function by ``start`` or ``join``."""
        return ir.Block(self.llvm_function, name)

    def start(self, block: ir.Block) -> None:
        """Continue in ``block``."""
        self.llvm_function.blocks.append(block)
        self.builder.position_at_end(block)

    def join(self, block: ir.Block) -> None:
        """Continue in ``block`` if anything branches to it; if not, what follows is dead."""
        if block in self._reached:
            self.start(block)

    def branch(self, block: ir.Block) -> None:
        """Go to ``block``, unless the current code is dead."""
        if not self.is_dead:
            self.builder.branch(block)
            self._reached.add(block)

    def branch_on(self, test: ir.Value, then: ir.Block, otherwise: ir.Block) -> None:
        self._reached |= {then, otherwise}
        inverse = _INVERSE.get(getattr(test, "op", ""))
        if isinstance(test, ir.instructions.FCMPInstr) and inverse:
            # GPU targets make a strict comparison that picks one of its own operands a max or min
            # instruction, which takes 0.0 for larger than -0.0; Python keeps the first of the two.
            test = self.builder.fcmp_unordered(inverse, *test.operands)
            then, otherwise = otherwise, then
        self.builder.cbranch(test, then, otherwise)

    def choose(
        self,
        test: ir.Value,
        then: Callable[[], Any],
        otherwise: Callable[[], Any],
        name: str = "choice",
    ) -> Any:
        """The value of ``then()`` or of ``otherwise()``; only code of the one chosen runs."""
        blocks = [self.new_block(f"{name}.{part}") for part in ("then", "else", "end")]
        self.branch_on(test, blocks[0], blocks[1])
        incoming = []
        for block, produce in zip(blocks[:2], (then, otherwise), strict=True):
            self.start(block)
            value = produce()
            incoming.append((value, self.builder.block))
            self.branch(blocks[2])
        self.start(blocks[2])
        if incoming[0][0] is None:
            return None
        phi = self.builder.phi(incoming[0][0].type, name)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    def when(self, test: ir.Value, action: Callable[[], Any], name: str = "when") -> None:
        """Run ``action`` if ``test`` holds."""
        then, end = self.new_block(name), self.new_block(f"{name}.end")
        self.branch_on(test, then, end)
        self.start(then)
        action()
        self.branch(end)
        self.start(end)


def require_type(value: ir.Value, type: Type) -> None:
    """Refuse a value that is not of ``type``: LLVM would store any value through any pointer."""
    if value.type != llvm_type(type):
        raise InternalError(f"a value of LLVM type {value.type} is used as {type!r}")


def integer(value: int, type: ir.Type = I64) -> ir.Constant:
    return ir.Constant(type, value)


#: Comparisons that hold exactly where the strict, ordered one does not.
_INVERSE = {"ogt": "<=", "olt": ">="}
TRUE, FALSE = ir.Constant(I1, 1), ir.Constant(I1, 0)
