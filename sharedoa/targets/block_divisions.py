"""Divisions of f32 in LLVM's optimised IR, for NVIDIA's GPUs: those of a block that do not need
each other's quotients are made at once, with one branch (``nvptx_division`` says how and why).

What uses the quotients before the last division of such a group is moved behind the branch, which
is why it has to be free of effects: a group ends before anything else that depends on one of its
quotients, and before anything with effects. Loops that are one block are copied first, so that
there are divisions to group. Constant divisors whose inverses are exact are multiplications by now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from .ir_blocks import NAME, Block, bodies, print_blocks, read_blocks, with_predecessors
from .nvptx_division import ANY, QUICK, division_module
from .optimise import parse, run_passes

#: Bodies of loops are copied to have as many: divisions then hide each other's latency.
_SIDE_BY_SIDE = 4
#: Divisions with one branch. Their quotients are in registers until then.
_MOST = 8

_DIVISION = re.compile(
    rf"\s*%(?P<name>{NAME}) = fdiv float (?P<left>\S+), (?P<right>[^\s,]+)(?P<place>, !dbg !\d+)?"
)
_RESULT = re.compile(rf"\s*%({NAME}) = (?:tail |notail )?(\w+)")
_VALUE = re.compile(rf"%({NAME})")
_PURE = re.compile(
    "fneg|fadd|fsub|fmul|fdiv|fcmp|icmp|add|sub|mul|and|or|xor|shl|lshr|ashr|select|freeze|bitcast|"
    "trunc|zext|sext|fptrunc|fpext|fptosi|fptoui|sitofp|uitofp|extractvalue|insertvalue|"
    "getelementptr|inttoptr|ptrtoint"
)
_PURE_CALL = re.compile(
    r"@llvm\.(?:fma|fabs|sqrt|floor|ceil|trunc|copysign|is\.fpclass|nvvm\.(?:rsqrt|mul))\."
)
_PLAIN_LOAD = re.compile(rf"\s*%{NAME} = load (?!volatile|atomic)")
_DECLARATIONS = f"""declare {{ float, i1 }} @{QUICK}(float, float)
declare float @{ANY}(float, float)
"""


def divide_in_groups(module: Any, machine: Any) -> Any:
    """The optimised ``module`` with its divisions replaced; itself if it has none."""
    if _DIVISION.search(str(module)) is None:
        return module
    run_passes(module, machine, "instruction_namer")
    asked = _with_copies_asked_for(str(module))
    if asked is not None:
        module = parse(asked)
        run_passes(module, machine, "loop_unroll", "instruction_namer")
    module = parse(f"{_rewritten(str(module), _grouped)}\n{_DECLARATIONS}")
    module.link_in(parse(str(division_module())))
    run_passes(
        module, machine, "always_inliner", "instruction_combine", "global_dead_code_eliminate"
    )
    return module


def _rewritten(ir_text: str, rewrite: Callable[[list[Block]], list[Block]]) -> str:
    """The module with the blocks of each function rewritten."""
    made, done = "", 0
    for start, end in bodies(ir_text):
        made += ir_text[done:start] + print_blocks(rewrite(read_blocks(ir_text[start:end])))
        done = end
    return made + ir_text[done:]


def _with_copies_asked_for(ir_text: str) -> str | None:
    """The module with metadata at each loop that is one block with few divisions, and has none yet;
    None if there is no such loop."""
    first = 1 + max(map(int, re.findall(r"^!(\d+) = ", ir_text, re.MULTILINE)), default=-1)
    nodes: list[str] = []

    def ask(blocks: list[Block]) -> list[Block]:
        for block in blocks:
            divisions = sum(_DIVISION.match(line) is not None for line in block.lines)
            copies = _SIDE_BY_SIDE // max(divisions, 1)
            is_loop = block.label in block.successors and "!llvm.loop" not in block.lines[-1]
            if is_loop and divisions and copies > 1:
                node = first + len(nodes)
                block.lines[-1] += f", !llvm.loop !{node}"
                nodes.append(f"!{node} = distinct !{{!{node}, !{node + 1}}}")
                nodes.append(f'!{node + 1} = !{{!"llvm.loop.unroll.count", i32 {copies}}}')
        return blocks

    made = _rewritten(ir_text, ask)
    return "\n".join([made, *nodes, ""]) if nodes else None


@dataclass(frozen=True)
class _Division:
    """``id`` begins the names of what it is made of; ``place`` is where it stands in the source."""

    id: str
    name: str
    operands: str
    place: str

    def quick(self) -> list[str]:
        id = self.id
        return [
            f"  %{id} = call {{ float, i1 }} @{QUICK}({self.operands}){self.place}",
            f"  %{id}.quick = extractvalue {{ float, i1 }} %{id}, 0",
            f"  %{id}.usual = extractvalue {{ float, i1 }} %{id}, 1",
        ]

    def any(self) -> str:
        return f"  %{self.id}.any = call float @{ANY}({self.operands}){self.place}"

    def result(self, quick: str, any: str) -> str:
        ways = f"[ %{self.id}.quick, %{quick} ], [ %{self.id}.any, %{any} ]"
        return f"  %{self.name} = phi float {ways}"


def _grouped(blocks: list[Block]) -> list[Block]:
    made: list[Block] = []
    last: dict[str, str] = {}
    numbers = count()
    for block in blocks:
        parts = list(_divided(block, numbers))
        made += parts
        last[block.label] = parts[-1].label
    for block in made:
        if block.label in last:
            block.lines = [with_predecessors(line, last) for line in block.lines]
    return made


def _divided(block: Block, numbers: Iterator[int]) -> Iterator[Block]:
    """What a block becomes: for each group a block that makes it the quick way, one for operands
    that are not usual, and in the end one with what comes after the last group."""
    while (start := _first_division(block.lines)) is not None:
        prefix = f"divisions.{next(numbers)}"
        before, behind, end = block.lines[:start], [], start
        divisions: list[_Division] = []
        for line, kind in _group(block.lines[start:]):
            end += 1
            if kind == "before":
                before.append(line)
            elif kind == "behind":
                behind.append(line)
            else:
                found = _DIVISION.match(line)
                assert found is not None
                operands = f"float {found['left']}, float {found['right']}"
                id, place = f"{prefix}.{len(divisions)}", found["place"] or ""
                divisions.append(_Division(id, found["name"], operands, place))
                before += divisions[-1].quick()
        usual, *others = (f"%{division.id}.usual" for division in divisions)
        for number, other in enumerate(others):
            before.append(f"  %{prefix}.usual.{number} = and i1 {usual}, {other}")
            usual = f"%{prefix}.usual.{number}"
        any, after = f"{prefix}.any", f"{prefix}.after"
        before.append(f"  br i1 {usual}, label %{after}, label %{any}")
        yield Block(block.label, before)
        yield Block(any, [*(division.any() for division in divisions), f"  br label %{after}"])
        results = [division.result(block.label, any) for division in divisions]
        block = Block(after, [*results, *behind, *block.lines[end:]])
    yield block


def _first_division(lines: Sequence[str]) -> int | None:
    return next((place for place, line in enumerate(lines) if _DIVISION.match(line)), None)


def _group(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The lines of a group, which begins with the first, each with what becomes of it: "division",
    "before" the branch, or "behind" it."""
    found: list[tuple[str, str]] = []
    dependent: set[str] = set()
    end = divisions = 0
    for line in lines:
        depends = not dependent.isdisjoint(_VALUE.findall(line))
        is_division = _DIVISION.match(line) is not None
        if is_division and (depends or divisions == _MOST):
            break
        # With the quick quotient of unusual operands anything might be loaded.
        if not _is_pure(line) and (depends or not _PLAIN_LOAD.match(line)):
            break
        if is_division or depends:
            result = _RESULT.match(line)
            assert result is not None
            dependent.add(result[1])
        found.append((line, "division" if is_division else "behind" if depends else "before"))
        if is_division:
            divisions, end = divisions + 1, len(found)
    return found[:end]


def _is_pure(line: str) -> bool:
    result = _RESULT.match(line)
    if result is None:
        return False
    if result[2] == "call":
        return _PURE_CALL.search(line) is not None
    return _PURE.fullmatch(result[2]) is not None
