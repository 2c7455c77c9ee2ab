"""Divisions of f32 in LLVM's optimised IR, for NVIDIA's GPUs: those of a block that do not need
each other's quotients are made at once, with one branch (``nvptx_division`` says how and why).

What uses the quotients before the last division of such a group is moved behind them, so a group
ends before a division that uses one, and before anything with effects. Loops that are one block are
copied first, so that there are divisions to group. Constant divisors whose inverses are exact are
multiplications by now.

What an instruction is, and what it needs, LLVM's own objects say. As llvmlite cannot change them,
lines of what LLVM prints are put in another order, and calls in the place of divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from llvmlite.binding import ValueKind

from dispatch.dataclass import dataclass

from .nvptx_division import QUOTIENTS, declaration, division_module
from .optimise import parse, run_passes

#: Bodies of loops are copied to have as many: divisions then hide each other's latency, also where
#: some of their operands do not fit into registers.
_SIDE_BY_SIDE = 8
#: Divisions with one branch. Their quotients are in registers until then.
_MOST = 8
_METADATA = 1_000_000_000
"""Where numbers of metadata begin that ask for copies of a loop; LLVM prints lower ones."""

#: Of f32, and none that may be approximate.
_DIVISION = " = fdiv float "
_PURE = frozenset({
    "fneg", "fadd", "fsub", "fmul", "fdiv", "fcmp", "icmp", "add", "sub", "mul", "and", "or", "xor",
    "shl", "lshr", "ashr", "select", "freeze", "bitcast", "trunc", "zext", "sext", "fptrunc",
    "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "extractvalue", "insertvalue",
    "getelementptr", "inttoptr", "ptrtoint",
})  # fmt: skip
_PURE_CALLS = (
    "llvm.fma.", "llvm.fabs.", "llvm.sqrt.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.",
    "llvm.copysign.", "llvm.is.fpclass.", "llvm.nvvm.rsqrt.", "llvm.nvvm.mul.",
)  # fmt: skip


def divide_in_groups(module: Any, machine: Any) -> Any:
    """The optimised ``module`` with its divisions replaced; itself if it has none."""
    if _DIVISION not in str(module):
        return module
    run_passes(module, machine, "instruction_namer")
    asked = _changed(module, _asked_for_copies)
    if asked != str(module):
        module = parse(asked + "".join(map(_copies, range(2, _SIDE_BY_SIDE + 1))))
        run_passes(module, machine, "loop_unroll", "instruction_namer")
    numbers, sizes = count(), set[int]()
    grouped = _changed(module, lambda block: _grouped(block, numbers, sizes))
    module = parse("\n".join([grouped, *map(declaration, sizes)]))
    module.link_in(parse(str(division_module(sizes))))
    run_passes(
        module, machine, "always_inliner", "global_dead_code_eliminate", "instruction_combine"
    )
    return module


_Code = list[tuple[Any, str]]
"""Instructions, each as LLVM's object and as it is printed."""


@dataclass(frozen=True)
class _Block:
    """A block with all but the branch that ends it as ``code``; ``end`` are the lines from that of
    the branch on."""

    name: str
    code: _Code
    branch: Any
    end: list[str]


def _changed(module: Any, change: Callable[[_Block], Iterable[str]]) -> str:
    """The module's text, with the lines that ``change`` makes of each block with divisions."""
    text = str(module)
    functions = [each for each in module.functions if not each.is_declaration]
    for function, printed in zip(functions, _definitions(text), strict=True):
        if _DIVISION not in printed:
            continue
        made = []
        for block, part in zip(function.blocks, printed.split("\n\n"), strict=True):
            if _DIVISION in part:
                lines = part.split("\n")
                first = next(n for n, line in enumerate(lines) if line.startswith("  "))
                *instructions, branch = block.instructions
                last = first + len(instructions)
                code = [*zip(instructions, lines[first:last], strict=True)]
                found = _Block(block.name, code, branch, lines[last:])
                part = "\n".join([*lines[:first], *change(found)])
            made.append(part)
        text = text.replace(printed, "\n\n".join(made))
    return text


def _definitions(text: str) -> Iterator[str]:
    """The functions as the module prints them, in its order. Of one alone, or of a block, LLVM
    prints other numbers of attributes and metadata."""
    _, *parts = f"\n{text}".split("\ndefine ")
    for part in parts:
        yield "define " + part.partition("\n}\n")[0] + "\n}"


def _asked_for_copies(block: _Block) -> Iterator[str]:
    """The block as it is; if it is a loop with few divisions, and has no metadata yet, with what
    asks for copies of it."""
    copies = _SIDE_BY_SIDE // max(1, sum(_DIVISION in line for _, line in block.code))
    is_loop = block.branch.opcode == "br" and any(
        each.value_kind == ValueKind.basic_block and each.name == block.name
        for each in block.branch.operands
    )
    last, *after = block.end
    if copies > 1 and is_loop and "!llvm.loop" not in last:
        last += f", !llvm.loop !{_METADATA + 2 * copies}"
    yield from (line for _, line in block.code)
    yield last
    yield from after


def _copies(number: int) -> str:
    node = _METADATA + 2 * number
    return (
        f"!{node} = distinct !{{!{node}, !{node + 1}}}\n"
        f'!{node + 1} = !{{!"llvm.loop.unroll.count", i32 {number}}}\n'
    )


def _grouped(block: _Block, numbers: Iterator[int], sizes: set[int]) -> Iterator[str]:
    """The block with a call for each group of divisions; notes how many these have."""
    code, at = block.code, 0
    while at < len(code):
        parts = _group(code[at:]) if _DIVISION in code[at][1] else ["before"]
        own: dict[str, _Code] = {"before": [], "division": [], "behind": []}
        for each, part in zip(code[at : at + len(parts)], parts, strict=True):
            own[part].append(each)
        yield from (line for _, line in own["before"])
        if own["division"]:
            sizes.add(len(own["division"]))
            yield from _call(own["division"], f"%divisions.{next(numbers)}")
        yield from (line for _, line in own["behind"])
        at += len(parts)
    yield from block.end


def _call(divisions: _Code, name: str) -> Iterator[str]:
    size = len(divisions)
    operands = (_operand(each) for division, _ in divisions for each in division.operands)
    places = [_place_in_source(line) for _, line in divisions]
    call = f"call [{size} x float] @{QUOTIENTS}.{size}({', '.join(operands)})"
    yield f"  {name} = {call}{next(filter(None, places), '')}"
    for number, (_, line) in enumerate(divisions):
        value = f"extractvalue [{size} x float] {name}, {number}"
        yield f"{line.split(_DIVISION)[0]} = {value}{places[number]}"


def _place_in_source(line: str) -> str:
    """What names it behind an instruction, if anything does."""
    _, mark, rest = line.partition(", !dbg ")
    return f"{mark}{rest.split(',')[0]}"


def _operand(value: Any) -> str:
    # An instruction is printed whole, anything else with its type.
    return f"float {str(value).split(' = ')[0].strip()}" if _is_made(value) else str(value)


def _is_made(value: Any) -> bool:
    """Whether an instruction of the function makes it."""
    return bool(value.value_kind == ValueKind.instruction)


def _group(code: _Code) -> list[str]:
    """What becomes of the instructions of a group, which begins with the first one: it is a
    "division", "before" these, or "behind" them."""
    found: list[str] = []
    dependent: set[str] = set()
    end = divisions = 0
    for instruction, line in code:
        is_division = _DIVISION in line
        depends = any(_is_made(each) and each.name in dependent for each in instruction.operands)
        if is_division and (depends or divisions == _MOST):
            break
        if not _is_pure(instruction) and not _is_plain_load(instruction):
            break
        if is_division or depends:
            dependent.add(instruction.name)
        found.append("division" if is_division else "behind" if depends else "before")
        if is_division:
            divisions, end = divisions + 1, len(found)
    return found[:end]


def _is_pure(instruction: Any) -> bool:
    if instruction.opcode == "call":
        *_, callee = instruction.operands
        return bool(callee.name.startswith(_PURE_CALLS))
    return instruction.opcode in _PURE


def _is_plain_load(instruction: Any) -> bool:
    return instruction.opcode == "load" and not {"volatile", "atomic"} & {*str(instruction).split()}
