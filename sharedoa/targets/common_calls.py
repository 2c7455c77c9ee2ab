"""Calls of one function on ways that exclude one another become one call.

Methods of several classes, or the branches of an ``if``, often call the same function. Threads of a
warp that differ in the way they go would run it one group after the other. Here all ways of a
branch on which the function is called lead to one place, where those threads that are to call it do
so together; then each goes on where it was. For every thread the sequence of operations stays.

Functions worth it are marked by ``noinline`` in what comes here. This works on LLVM's optimised IR,
where the methods are in the branch that chooses among them; what crosses from block to block is put
into memory first (``reg2mem``), from which LLVM takes it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

from ptxpass.control_flow import ControlFlow

from .inline_growth import threshold_for
from .ir_blocks import (
    NAME,
    Block,
    Call,
    bodies,
    calls_of,
    print_blocks,
    printed_name,
    read_blocks,
    with_predecessors,
)
from .optimise import optimise, parse, run_passes

_MARKED = re.compile(
    rf"^define internal [^@]*@({NAME})\((?!.*\bcold\b).*\) .*\bnoinline\b", re.MULTILINE
)
_DEFINED = re.compile(r"^(?:define internal|attributes) (?!.*\bcold\b).*", re.MULTILINE)
#: Copies a number so that neither LLVM nor ptxas knows it: both would lead each way past the place
#: where all meet.
_HIDE = 'asm "mov.b32 $0, $1;", "=r,r"'

#: Pairs of calls that are looked at, times the blocks of their function: the work of a part of a
#: second. All pairs of hundreds of calls would take minutes.
_PAIRS_OF_BLOCKS = 2_000_000


def optimise_together(ir_text: str, machine: Any, link: Callable[[Any], None]) -> Any:
    """The optimised module of ``ir_text``, to which ``link`` adds what it uses of libraries."""
    marked = [found[1] for found in _MARKED.finditer(ir_text)]
    if marked:
        module = _optimised(ir_text, machine, link)
        run_passes(module, machine, "instruction_namer")
        changed = _call_together(str(module), marked, machine)
        if changed is not None:
            return _optimised(_without_marks(changed), machine, lambda module: None)
        ir_text = _without_marks(ir_text)
    return _optimised(ir_text, machine, link)


def _optimised(ir_text: str, machine: Any, link: Callable[[Any], None]) -> Any:
    module = parse(ir_text)
    link(module)
    optimise(module, machine, threshold_for(ir_text))
    return module


def _without_marks(ir_text: str) -> str:
    return _DEFINED.sub(lambda line: re.sub(r" \bnoinline\b", "", line[0]), ir_text)


def _call_together(ir_text: str, functions: Sequence[str], machine: Any) -> str | None:
    """The module with calls of ``functions`` brought together; None where there are none to be."""
    changed = None
    for number, function in enumerate(functions):
        name = printed_name(function)
        for place in range(len(list(bodies(ir_text)))):
            made = _in_one_function(ir_text, place, name, f"together.{number}.{place}", machine)
            if made is not None:
                ir_text = changed = made
    return changed


def _in_one_function(
    ir_text: str, place: int, callee: str, prefix: str, machine: Any
) -> str | None:
    """The module with calls of ``callee`` brought together in its function number ``place``; new
    names begin with ``prefix``."""
    start, end = list(bodies(ir_text))[place]
    blocks = read_blocks(ir_text[start:end])
    calls = calls_of(blocks, callee)
    if calls is None or len(calls) < 2:
        return None
    apart = _calls_apart(blocks, calls, prefix)
    if _region_of(apart, calls_of(apart, callee) or []) is None:
        return None
    module = parse(f"{ir_text[:start]}{print_blocks(apart)}{ir_text[end:]}")
    run_passes(module, machine, "register_to_memory")
    ir_text = str(module)
    start, end = list(bodies(ir_text))[place]
    blocks = read_blocks(ir_text[start:end])
    calls = calls_of(blocks, callee) or []
    region = _region_of(blocks, calls)
    assert region is not None
    made = _Meeting(blocks, [calls[n] for n in region.calls], region, prefix).blocks()
    return f"{ir_text[:start]}{print_blocks(made)}{ir_text[end:]}"


def _calls_apart(blocks: Sequence[Block], calls: Sequence[Call], prefix: str) -> list[Block]:
    """Every call in a block of its own, so that what is used on both sides crosses blocks."""
    made: list[Block] = []
    last: dict[str, str] = {}
    for block in blocks:
        label, start = block.label, 0
        for number, call in enumerate(calls):
            if call.block != block.label:
                continue
            at, after = f"{prefix}.call.{number}", f"{prefix}.rest.{number}"
            made.append(Block(label, [*block.lines[start : call.line], f"  br label %{at}"]))
            made.append(Block(at, [block.lines[call.line], f"  br label %{after}"]))
            label, start = after, call.line + 1
        made.append(Block(label, block.lines[start:]))
        last[block.label] = label
    return [
        Block(block.label, [with_predecessors(line, last) for line in block.lines])
        for block in made
    ]


@dataclass(frozen=True)
class _Region:
    """The blocks between a branch and where all its ways have met. ``calls`` are the numbers of the
    calls that are made together, ``before`` the blocks that lead to them and past them, with those
    that call and the branch itself, ``after`` those behind calls; ``end`` is where all meet."""

    calls: tuple[int, ...]
    before: frozenset[str]
    after: frozenset[str]
    end: str


def _region_of(blocks: Sequence[Block], calls: Sequence[Call]) -> _Region | None:
    """Where calls, each in a block of its own, can be made together: all of them, else two."""
    number = {block.label: place for place, block in enumerate(blocks)}
    nowhere = _leading_nowhere(blocks)
    flow = ControlFlow(
        [[number[s] for s in block.successors if s not in nowhere] for block in blocks]
    )
    everyone = tuple(range(len(calls)))
    most = _PAIRS_OF_BLOCKS // len(blocks)
    pairs = islice(combinations(everyone, 2), most) if len(calls) > 2 else ()
    for group in (everyone, *pairs):
        found = _between(flow, [number[calls[n].block] for n in group])
        if found is not None:
            before, after = (frozenset(blocks[n].label for n in part) for part in found[:2])
            return _Region(group, before, after, blocks[found[2]].label)
    return None


def _leading_nowhere(blocks: Sequence[Block]) -> set[str]:
    """Blocks that no thread comes to: undefined behaviour follows. Edges to such blocks are blocks
    of their own once LLVM has divided edges."""
    found = {block.label for block in blocks if block.is_unreachable}
    while True:
        more = {
            block.label
            for block in blocks
            if block.successors and found.issuperset(block.successors)
        } - found
        if not more:
            return found
        found |= more


def _between(flow: ControlFlow, calls: Sequence[int]) -> tuple[set[int], set[int], int] | None:
    """``before``, ``after`` and ``end`` of a region, as numbers of blocks."""
    ways = [_dominators(flow, call) for call in calls]
    branch = next((block for block in ways[0] if all(block in way for way in ways)), None)
    if branch is None or branch in calls:
        return None
    end = flow.reconvergence(branch)
    if end == flow.exit:
        return None
    borders = {branch, end}
    if not set(calls) <= _reached(flow, flow.successors[branch], borders):
        return None
    after: set[int] = set()
    for call in calls:
        after |= _reached(flow, flow.successors[call], borders)
    if after & set(calls):
        return None  # one call may follow another, or itself in a loop
    before = _reached(flow, flow.successors[branch], borders | after, calls)
    return {branch, *before}, after, end


def _dominators(flow: ControlFlow, block: int) -> list[int]:
    found = [block]
    while found[-1] in flow.dominators:
        found.append(flow.dominators[found[-1]])
    return found


def _reached(
    flow: ControlFlow, starts: Sequence[int], borders: set[int], last: Sequence[int] = ()
) -> set[int]:
    """Blocks on ways from ``starts`` that cross no border and go on behind none of ``last``."""
    found: set[int] = set()
    pending = list(starts)
    while pending:
        block = pending.pop()
        if block not in found and block not in borders:
            found.add(block)
            pending += [] if block in last else flow.successors[block]
    return found


class _Meeting:
    """The blocks of a function with the calls of a region made in one place.

    A way that comes there says by a number what follows: 1 and more, the call that it is at; beyond
    those, the block that it goes to without a call.
    """

    def __init__(
        self, blocks: Sequence[Block], calls: Sequence[Call], region: _Region, prefix: str
    ) -> None:
        self._blocks = blocks
        self._calls = calls
        self._region = region
        self._prefix = prefix
        self._call = calls[0]
        #: Of arguments that are the same everywhere the value, of others None. It is a constant or
        #: a parameter, as what blocks compute does not leave them.
        self._fixed = [
            values[0] if len(set(values)) == 1 else None
            for values in zip(*(call.values for call in calls), strict=True)
        ]
        self._targets: dict[str, int] = {}

    def blocks(self) -> list[Block]:
        made: list[Block] = []
        calls = {call.block: number for number, call in enumerate(self._calls, 1)}
        for block in self._blocks:
            if block.label in calls:
                made += self._at_call(block, calls[block.label])
            elif block.label in self._region.before:
                made += self._past_calls(block)
            else:
                made.append(block)
        made += self._meeting()
        made[0].lines[:0] = self._slots()
        return made

    def _slots(self) -> list[str]:
        slots = {"which": "i32"}
        for number, (type, fixed) in enumerate(zip(self._call.types, self._fixed, strict=True)):
            if fixed is None:
                slots[f"argument.{number}"] = type
        if self._call.result_type != "void":
            slots["result"] = self._call.result_type
        return [f"  %{self._prefix}.{name} = alloca {type}" for name, type in slots.items()]

    def _at_call(self, block: Block, number: int) -> list[Block]:
        call, prefix = self._calls[number - 1], self._prefix
        behind = f"{prefix}.behind.{number}"
        before, after = block.lines[: call.line], block.lines[call.line + 1 :]
        for place, fixed in enumerate(self._fixed):
            if fixed is None:
                value = f"{call.types[place]} {call.values[place]}"
                before.append(f"  store {value}, ptr %{prefix}.argument.{place}")
        if call.result is not None:
            after.insert(0, f"  {call.result} = load {call.result_type}, ptr %{prefix}.result")
        return [Block(block.label, [*before, *self._come(number)]), Block(behind, after)]

    def _come(self, number: int) -> list[str]:
        prefix = self._prefix
        return [f"  store i32 {number}, ptr %{prefix}.which", f"  br label %{prefix}.meet"]

    def _past_calls(self, block: Block) -> list[Block]:
        """A block with its ways that lead past the calls led to where these are made."""
        *lines, last = block.lines
        more: list[Block] = []
        for target in dict.fromkeys(block.successors):
            if target != self._region.end and target not in self._region.after:
                continue
            number = self._targets.setdefault(target, len(self._calls) + len(self._targets) + 1)
            past = f'"{self._prefix}.past.{block.label.strip(chr(34))}.{len(more)}"'
            more.append(Block(past, self._come(number)))
            last = re.sub(
                rf"label %{re.escape(target)}(?![-\w$.])",
                lambda _, past=past: f"label %{past}",  # type: ignore[misc]
                last,
            )
        return [Block(block.label, [*lines, last]), *more]

    def _meeting(self) -> list[Block]:
        call, prefix = self._call, self._prefix
        lines, arguments = [], []
        for number, (type, fixed) in enumerate(zip(call.types, self._fixed, strict=True)):
            value = fixed or f"%{prefix}.value.{number}"
            arguments.append(f"{type} {value}")
            if fixed is None:
                lines.append(f"  {value} = load {type}, ptr %{prefix}.argument.{number}")
        result = "" if call.result_type == "void" else f"%{prefix}.returned = "
        lines.append(f"  {result}{call.head}({', '.join(arguments)}){call.attributes}")
        if result:
            value = f"{call.result_type} %{prefix}.returned"
            lines.append(f"  store {value}, ptr %{prefix}.result")
        numbers = range(1, len(self._calls) + 1)
        goals = {number: f"{prefix}.behind.{number}" for number in numbers}
        goals |= {number: target for target, number in self._targets.items()}
        first, *others = goals.items()
        cases = "\n".join(f"    i32 {number}, label %{goal}" for number, goal in others)
        return [
            Block(
                f"{prefix}.meet",
                [
                    f"  %{prefix}.told = load i32, ptr %{prefix}.which",
                    f"  %{prefix}.now = call i32 {_HIDE}(i32 %{prefix}.told)",
                    f"  %{prefix}.calls = icmp ule i32 %{prefix}.now, {len(self._calls)}",
                    f"  br i1 %{prefix}.calls, label %{prefix}.together, label %{prefix}.part",
                ],
            ),
            Block(f"{prefix}.together", [*lines, f"  br label %{prefix}.part"]),
            Block(
                f"{prefix}.part",
                [f"  switch i32 %{prefix}.now, label %{first[1]} [\n{cases}\n  ]"],
            ),
        ]
