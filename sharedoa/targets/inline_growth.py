"""How much LLVM may put calls in place for GPUs, so that code does not grow beyond all bounds.

LLVM decides call by call, by the size of the function that is called; for GPUs it takes functions
of hundreds of instructions. Where methods call others through classes several times, which do the
same, a kernel of four small classes becomes tens of thousands of instructions: seconds of LLVM, and
more of the driver. So what may become of a module is added up before, and where that is too
much LLVM gets a lower threshold.
"""

from __future__ import annotations

import re
from collections import Counter

from .ir_blocks import NAME

MOST_INSTRUCTIONS = 12_000
"""Of a module whose calls are in place, as its functions stand before they are optimised. The
largest of the programs that this package is measured with have 7,500."""
THRESHOLDS = (64, 16, 4)
"""What LLVM gets in place of its own, the first under which a module stays small enough."""
_USUAL = 225
_LINES = 11
"""What LLVM puts in place for GPUs: 11 times the threshold, which counts 5 for an instruction; and
five lines of what comes here become one instruction at most before LLVM decides."""
_DEFINITION = re.compile(rf"^define [^@]*@({NAME})\(.*?^}}$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(rf"\bcall [^@\n]*@({NAME})\(")
_NO_INSTRUCTION = re.compile(r"^(?:[^ ]|  br |  %[^ ]+ = alloca )", re.MULTILINE)

#: By name: instructions, and how often it calls which.
_Functions = dict[str, tuple[int, Counter[str]]]


def threshold_for(ir_text: str) -> int | None:
    """What LLVM's threshold has to be for a module, None for the usual one."""
    functions = _read(ir_text)
    most = max(MOST_INSTRUCTIONS, 2 * sum(size for size, _ in functions.values()))
    if grown(functions, _USUAL) <= most:
        return None
    fit = (each for each in THRESHOLDS if grown(functions, each) <= most)
    return next(fit, THRESHOLDS[-1])


def _read(ir_text: str) -> _Functions:
    found = {}
    for match in _DEFINITION.finditer(ir_text):
        lines = match[0].count("\n") - len(_NO_INSTRUCTION.findall(match[0]))
        found[match[1]] = max(1, lines), Counter(_CALL.findall(match[0]))
    return found


def grown(functions: _Functions, threshold: int) -> int:
    """Instructions of all functions when calls are in place that LLVM may put there."""
    sizes: dict[str, int] = {}
    for name in _callees_first(functions):
        own, calls = functions[name]
        # Not there yet: a function that calls itself. Never there: one of a library.
        inside = ((count, sizes.get(callee, 0)) for callee, count in calls.items())
        small = (count * size for count, size in inside if size <= threshold * _LINES)
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
