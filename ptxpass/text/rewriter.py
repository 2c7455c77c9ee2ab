"""``rewrite``: every virtual call of a PTX module becomes what the mode says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from dispatch.dataclass import dataclass, replace
from dispatch.identify import IDENTIFICATIONS
from dispatch.invoke import INVOCATIONS
from dispatch.mode import Mode

from .code import Names, Registers
from .constructions import constructions
from .emitter import Held, Memory, Setting, TextCandidate, TextEmitter
from .first_field import common_offset, entry_reads
from .flow import FunctionFlow, argument_names, plain_name, uses_of
from .inlining import inline_direct_calls
from .masking import mask_addresses
from .misplaced import misplaced_tables
from .reader import read_module
from .report import LEFT_ALONE, CallReport, Rewriting
from .sequences import CallSequence, call_sequence
from .syntax import Function, Instruction, Module, PtxError, Statement
from .table_stores import TableUses, vtables_in
from .tables import VTABLES, RowTables, add_tables, number_classes
from .uniformity import Uniformity
from .values import FunctionValues
from .virtual_calls import IndirectCall, find_indirect_calls
from .vtables import Vtables
from .writer import print_module

_HEADER = "header"
#: What takes an object for one of the class that its place, or its reference, was given to.
_BY_PLACE = ("range", "bits")
#: What may stand between the load of a vtable and that of a function.
_COPIES = ("mov", "add", "cvta")


def rewrite(
    text: str,
    mode: Mode,
    name: str = "<ptx>",
    type_indices: Mapping[str, int] | None = None,
    owns_state: bool = True,
    debug: bool = False,
    misplaced: Set[str] = frozenset(),
) -> Rewriting:
    """Rewrite a module; ``name`` stands in messages.

    ``type_indices`` gives the type index of vtables by symbol; the others get the next ones. Of
    several modules that are linked together one owns the state block, and all are given the same
    type indices. ``debug``: a receiver of none of a call's classes traps.

    Raises PtxError, with the line, for text that is no PTX or that has been rewritten already.
    """
    module = read_module(text, name)
    if VTABLES in module.variables:
        help = "pass the module as the compiler wrote it"
        raise PtxError("this module has been rewritten already", name, 1, help)
    uses = TableUses(module)
    vtables = Vtables(module, uses)
    made = constructions(module, uses)
    indices = number_classes(vtables.with_objects, type_indices)
    names = Names()
    rows = RowTables(indices)
    setting = Setting(
        tagged=mode.tagged_references,
        certain=not made and not vtables.open_world,
        misplaced=misplaced_tables(module, uses) | misplaced,
        debug=debug,
        rows=rows,
        names=names,
    )
    pass_over = _Pass(module, mode, setting, vtables, indices)
    for function in list(module.functions.values()):
        if function.body is not None:
            pass_over.rewrite(function)
    classes = add_tables(module, vtables, indices, rows, setting.tagged, owns_state)
    if setting.tagged:
        module = read_module(print_module(module), name)
        mask_addresses(module)
    if pass_over.direct_calls:
        module = read_module(print_module(module), name)
        inline_direct_calls(module, names)
    calls = tuple(pass_over.reports)
    return Rewriting(print_module(module), classes, calls, tuple(made))


@dataclass(frozen=True)
class _Site:
    """A call that is rewritten: its sequence, and the register that holds the receiver there."""

    call: IndirectCall
    sequence: CallSequence
    receiver: str
    candidates: tuple[TextCandidate, ...]


class _Pass:
    def __init__(
        self,
        module: Module,
        mode: Mode,
        setting: Setting,
        vtables: Vtables,
        indices: Mapping[str, int],
    ) -> None:
        self._module = module
        self._mode = mode
        self._setting = setting
        self._vtables = vtables
        self._indices = indices
        # Bodies as the compiler wrote them.
        self._originals = {
            name: replace(function, body=function.body and list(function.body))
            for name, function in module.functions.items()
        }
        self._entry_reads: dict[str, Sequence[int]] = {}
        self.reports: list[CallReport] = []
        self.direct_calls = False

    def rewrite(self, function: Function) -> None:
        flow = FunctionFlow(function, self._module.name)
        values = FunctionValues(flow)
        found = list(find_indirect_calls(self._module, values, self._vtables))
        if not found:
            return
        uniformity = Uniformity(values)
        registers = Registers()
        shared = Memory(flow.dominates)
        # The paper's COAL looks up at every call; sharing lookups is ours. A destructor changes the
        # class of its object.
        shares = self._mode.closed_world and not vtables_in(function)
        rewritten: list[tuple[_Site, str]] = []
        for call in found:
            site = self._site(call, flow, values)
            if isinstance(site, str):
                self._leave(call, site)
                continue
            assert call.receiver is not None
            uniform = uniformity.is_uniform(call.receiver, site.sequence.start)
            memory = shared if shares else Memory(flow.dominates)
            text = self._replace(site, uniform, flow, registers, memory)
            if text:
                rewritten.append((site, text))
        _apply(flow, values, rewritten, registers)

    def _site(self, call: IndirectCall, flow: FunctionFlow, values: FunctionValues) -> _Site | str:
        """The site, or why the call is left alone."""
        if call.refusal:
            return call.refusal
        sequence = call_sequence(flow, call.index)
        if sequence is None:
            return "branches are mixed with its call sequence"
        receiver = _register_of(call, sequence, flow, values)
        if receiver is None:
            return "no register holds the receiver before the call sequence"
        candidates = tuple(
            TextCandidate(self._indices[table], table, symbol) for table, symbol in call.candidates
        )
        return _Site(call, sequence, receiver, candidates)

    def _replace(
        self,
        site: _Site,
        uniform: bool,
        flow: FunctionFlow,
        registers: Registers,
        memory: Memory,
    ) -> str:
        """The text in the place of the call sequence; none where it stays."""
        mode, candidates = self._mode, site.candidates
        methods = len({candidate.symbol for candidate in candidates})
        counted = f"{len(candidates)} class{'es' * (len(candidates) > 1)}, " + (
            f"{methods} function{'s' * (methods > 1)}"
        )
        if mode.identify == _HEADER and mode.invoke == "vtable":
            self._report(site, uniform, LEFT_ALONE, f"{counted}; mode {mode.name} reads the header")
            return ""
        if uniform and mode.spare_uniform:
            reason = f"{counted}; one receiver for the whole warp, so one load of its header"
            self._report(site, uniform, LEFT_ALONE, f"uniform receiver: {reason}")
            return ""
        direct = mode.closed_world and methods == 1 and not self._vtables.open_world
        misplaced = sorted({c.vtable for c in candidates} & self._setting.misplaced)
        if misplaced and not direct and mode.identify in _BY_PLACE:
            reason = f"objects of {', '.join(misplaced)} may lie inside of others, or replace them"
            self._leave(site.call, f"place of another object: {reason}")
            return ""
        block = flow.block_of[site.sequence.start]
        reference = Held(site.receiver, site.call.receiver)
        emitter = TextEmitter(
            self._setting, site.sequence, reference, site.call.slot, candidates, registers,
            memory, block,
        )  # fmt: skip
        if direct and not self._setting.debug:
            emitter.call_directly(candidates[0].symbol)
            decision, reason = "direct", f"the only possible target is {candidates[0].symbol}"
        else:
            strategy = IDENTIFICATIONS[mode.identify]
            offset = self._prefetched(candidates)
            if offset is not None:
                emitter.prefetch(offset)
            INVOCATIONS[mode.invoke].emit_call(
                emitter, strategy, reference, site.call.slot, candidates
            )
            decision = f"{mode.identify} + {mode.invoke}"
            parts = [counted, f"mode {mode.name}", strategy.remark(candidates)]
            if not self._setting.certain:
                parts.append("else by the header, as objects may lie elsewhere")
            reason = "; ".join(filter(None, parts))
        self._report(site, uniform, decision, reason)
        self.direct_calls |= mode.invoke == "switch" or decision == "direct"
        return _guarded(site, emitter.lines, self._setting.names)

    def _prefetched(self, candidates: Sequence[TextCandidate]) -> int | None:
        """The offset into the receiver that is worth fetching before a branch to the bodies: where
        the identification has not read the object, which would have the same effect."""
        mode = self._mode
        if not (mode.closed_world and mode.invoke == "switch" and self._setting.certain):
            return None
        if IDENTIFICATIONS[mode.identify].READS_OBJECT:
            return None
        return common_offset([self._reads(symbol) for symbol in {c.symbol for c in candidates}])

    def _reads(self, symbol: str) -> Sequence[int]:
        found = self._entry_reads.get(symbol)
        if found is None:
            found = self._entry_reads[symbol] = entry_reads(self._originals[symbol])
        return found

    def _leave(self, call: IndirectCall, reason: str) -> None:
        self.reports.append(
            CallReport(call.function.name, call.call.line, -1, "", (), False, LEFT_ALONE, reason)
        )

    def _report(self, site: _Site, uniform: bool, decision: str, reason: str) -> None:
        self.reports.append(
            CallReport(
                site.call.function.name,
                site.call.call.line,
                site.call.slot,
                site.receiver,
                tuple(candidate.vtable for candidate in site.candidates),
                uniform,
                decision,
                reason,
            )
        )


def _register_of(
    call: IndirectCall, sequence: CallSequence, flow: FunctionFlow, values: FunctionValues
) -> str | None:
    """A register that holds the receiver where the call sequence starts."""
    passing = flow.body[call.argument]
    assert isinstance(passing, Instruction)
    places = [passing, *(flow.body[load] for load in call.loads)]
    for statement in places:
        assert isinstance(statement, Instruction)
        for operand in statement.operands:
            name = plain_name(operand) or plain_name(getattr(operand, "base", None))
            if name is None or flow.key(name, sequence.start) is None:
                continue
            if values.plain(values.register(name, sequence.start)) is call.receiver:
                return name
    return None


def _guarded(site: _Site, lines: list[str], names: Names) -> str:
    """Lines as text; skipped where the call's predicate does not hold."""
    lines = [*site.sequence.debug_labels(), *lines]
    predicate = site.call.call.predicate
    if predicate is not None:
        end = names.label()
        mark = "" if predicate.negated else "!"
        lines = [f"@{mark}{predicate.text} bra {end};", *lines, f"{end}:"]
    return "\n\t".join(lines)


def _apply(
    flow: FunctionFlow,
    values: FunctionValues,
    rewritten: list[tuple[_Site, str]],
    registers: Registers,
) -> None:
    """Put the new texts into the body, and take out what only the old calls needed."""
    body = flow.body
    for index in _dead_code(flow, [site for site, _ in rewritten]):
        body[index].leading = body[index].text = ""
    for site, text in rewritten:
        sequence = site.sequence
        first = body[sequence.start]
        new = Statement(first.leading, text, first.line)
        body[sequence.start : sequence.end] = [
            new,
            *(Statement("", "", 0) for _ in range(sequence.end - sequence.start - 1)),
        ]
    declarations = registers.declarations()
    if declarations:
        body.insert(0, Statement("", declarations, 0))


def _dead_code(flow: FunctionFlow, sites: list[_Site]) -> list[int]:
    """What loaded functions and vtables for the calls that are gone, and nothing else reads."""
    gone = {site.call.index for site in sites}
    loads = {load for site in sites for load in site.call.loads}
    work = [site.call.call.target.text for site in sites]
    places = [site.call.index for site in sites]
    # The new code reads what the call was given.
    kept = {
        flow.key(name, site.call.index)
        for site in sites
        for name in (site.receiver, *argument_names(site.call.call))
    }
    dead: list[int] = []
    while work:
        key = flow.key(work.pop(), places.pop())
        if key is None or key in kept or not all(use in gone for use in flow.uses.get(key, ())):
            continue
        for index in flow.definitions.get(key, ()):
            instruction = flow.body[index]
            assert isinstance(instruction, Instruction)
            if index in gone or not (index in loads or instruction.opcode in _COPIES):
                continue
            dead.append(index)
            gone.add(index)
            read = list(uses_of(instruction))
            work += read
            places += [index] * len(read)
    return dead
