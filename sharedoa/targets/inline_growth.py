"""How much LLVM may put calls in place for GPUs, so that code does not grow beyond all bounds.

LLVM decides call by call, by the size of the function that is called; for GPUs it takes functions
of hundreds of instructions. Where methods call others through classes several times, which do the
same, a kernel of four small classes becomes tens of thousands of instructions: seconds of LLVM, and
more of the driver. So what may become of a module is added up before, and where that is too
much its functions get a lower threshold.
"""

from __future__ import annotations

from collections import Counter

from llvmlite import ir

MOST_INSTRUCTIONS = 12_000
"""Of a module whose calls are in place, as its functions stand before they are optimised. The
largest of the programs that this package is measured with have 7,500."""
THRESHOLDS = (64, 16, 4)
"""What LLVM gets in place of its own, the first under which a module stays small enough."""
ATTRIBUTE = '"function-inline-threshold"'
_USUAL = 225
_TIMES = 11
"""How many times the threshold LLVM takes for GPUs. It counts 5 for an instruction; and five of
those that come here become one at most before it decides."""

#: By name: instructions, and how often it calls which.
_Functions = dict[str, tuple[int, Counter[str]]]


def limit_growth(module: ir.Module) -> None:
    """Give the functions of a whole module a lower threshold if it needs one."""
    functions = _read(module)
    most = max(MOST_INSTRUCTIONS, 2 * sum(size for size, _ in functions.values()))
    if grown(functions, _USUAL) <= most:
        return
    fit = (each for each in THRESHOLDS if grown(functions, each) <= most)
    limit = f'{ATTRIBUTE}="{next(fit, THRESHOLDS[-1]) * _TIMES}"'
    for function in module.functions:
        if not function.is_declaration:
            # ``add`` of llvmlite's class of sets takes few attributes.
            set.add(function.attributes, limit)


def _read(module: ir.Module) -> _Functions:
    found = {}
    for function in module.functions:
        if not function.is_declaration:
            code = [each for block in function.blocks for each in block.instructions]
            size = sum(each.opname not in ("br", "alloca") for each in code)
            calls = Counter(each.callee.name for each in code if _is_direct_call(each))
            found[function.name] = max(1, size), calls
    return found


def _is_direct_call(instruction: ir.Instruction) -> bool:
    return isinstance(instruction, ir.CallInstr) and isinstance(instruction.callee, ir.Function)


def grown(functions: _Functions, threshold: int) -> int:
    """Instructions of all functions when calls are in place that LLVM may put there."""
    sizes: dict[str, int] = {}
    for name in _callees_first(functions):
        own, calls = functions[name]
        # Not there yet: a function that calls itself. Never there: one of a library.
        inside = ((count, sizes.get(callee, 0)) for callee, count in calls.items())
        small = (count * size for count, size in inside if size <= threshold * _TIMES)
        sizes[name] = own + sum(small)
    return sum(sizes.values())


def _callees_first(functions: _Functions) -> list[str]:
    found: dict[str, None] = {}
    seen: set[str] = set()
    pending = [(name, False) for name in functions]
    while pending:
        name, is_behind = pending.pop()
        if is_behind:
            found[name] = None
        elif name in functions and name not in seen:
            seen.add(name)
            pending.append((name, True))
            pending += [(callee, False) for callee in functions[name][1]]
    return list(found)
