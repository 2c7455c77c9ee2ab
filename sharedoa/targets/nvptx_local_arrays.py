"""Addresses of local arrays in functions that PTX calls.

ptxas (seen in CUDA 13.0 and 13.5, for sm_75 to sm_90, from -O2 on) keeps what a loop adds to the
stack pointer in a uniform register, as it may in kernels, whose threads all have the same stack
pointer. In a function it then forgets to load the stack pointer into that register, and the loop
writes elsewhere. An address that rests on the number of the lane is in no uniform register; ptxas
does not know that all lanes have numbers below 32.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^(?:\.\w+ )*\.func [^;{]*\n\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
_START = re.compile(r"\tmov\.b64 \t%SPL, __local_depot\d+;\n")
_ADDRESS = re.compile(r"\tadd\.u64 \t(%rd\d+), %SPL?, \d+;\n")
_REGISTERS = "\t.reg .b32 \t%lane;\n\t.reg .b64 \t%no_lane;\n"
_NO_LANE = (
    "\tmov.u32 \t%lane, %laneid;\n\tshr.u32 \t%lane, %lane, 5;\n\tcvt.u64.u32 \t%no_lane, %lane;\n"
)


def with_addresses_by_lane(ptx: str) -> str:
    """``ptx`` in which no function computes with the address of a local array in uniform
    registers."""
    if "__local_depot" not in ptx:
        return ptx
    return _FUNCTION.sub(lambda found: _with_addresses_by_lane(found.group()), ptx)


def _with_addresses_by_lane(function: str) -> str:
    def by_lane(found: re.Match[str]) -> str:
        register = found.group(1)
        if not _is_computed_with(register, function):
            return found.group()
        return f"{found.group()}\tadd.s64 \t{register}, {register}, %no_lane;\n"

    changed = _ADDRESS.sub(by_lane, function)
    if changed == function:
        return function
    changed = changed.replace("\t.reg .b64 \t%SPL;\n", f"\t.reg .b64 \t%SPL;\n{_REGISTERS}", 1)
    return _START.sub(lambda found: found.group() + _NO_LANE, changed, count=1)


def _is_computed_with(register: str, function: str) -> bool:
    """Whether it is more than the address of loads and stores, which have a place for a number that
    is added to it."""
    uses = len(re.findall(rf"{register}\b", function))
    places = len(re.findall(rf"\[{register}(?:\+-?\d+)?\]", function))
    return uses > 1 + places
