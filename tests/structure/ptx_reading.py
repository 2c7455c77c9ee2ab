"""Reads the dispatch path out of PTX: which loads find the method of a receiver.

Follows values forward from the loads of references (the receiver) by register, through the masks
that TypePointer puts before an access.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^\s*(?:@!?%p\d+ )?(?P<op>[a-z][\w.]*)\s+(?P<rest>[^;]*);")
_ADDRESS = re.compile(r"\[(?P<base>[%\w$.]+)(?:\+(?P<offset>-?\d+))?\]")
ADDRESS_MASK = str((1 << 49) - 1)


@dataclass
class DispatchPath:
    """Static counts in a kernel's entry."""

    header_loads: int
    slot_loads: int
    function_loads: int
    tree_loads: int
    masks: int
    tag_shifts: int
    indirect_calls: int
    direct_calls: int


def entry_lines(ptx: str, symbol: str) -> list[tuple[str, list[str]]]:
    """(opcode, operands) of the entry's instructions."""
    start = ptx.index(f".entry {symbol}")
    body = ptx[start : ptx.index("\n}", start)]
    found = []
    for line in body.splitlines():
        match = _LINE.match(line)
        if match:
            operands = [part.strip() for part in match["rest"].split(",")]
            found.append((match["op"], operands))
    return found


def dispatch_path(ptx: str, symbol: str, header_size: int) -> DispatchPath:
    """Classify what the entry does with each reference it loads from the array of receivers."""
    lines = entry_lines(ptx, symbol)
    receivers: set[str] = set()
    vtables: set[str] = set()
    entries: set[str] = set()
    state: set[str] = set()
    counts = dict.fromkeys(DispatchPath.__dataclass_fields__, 0)
    for op, operands in lines:
        target = operands[0]
        address = _ADDRESS.search(",".join(operands[1:]))
        if op.startswith("ld.") and address is not None:
            base, offset = address["base"], int(address["offset"] or 0)
            if base.startswith("sharedoa_state"):
                state.add(target)
            elif base in receivers and offset < header_size:
                counts["header_loads"] += 1
                vtables.add(target)
            elif base in vtables:
                counts["slot_loads"] += 1
                entries.add(target)
            elif base in entries:
                counts["function_loads"] += 1
            elif base in state:
                counts["tree_loads"] += 1
            elif op.startswith("ld.global") and op.endswith("b64") and base not in receivers:
                receivers.add(target)
        elif op.startswith("and.") and operands[-1] == ADDRESS_MASK:
            counts["masks"] += 1
            if operands[1] in receivers:
                receivers.add(target)
        elif op.startswith("shr.") and operands[-1] == "49":
            counts["tag_shifts"] += 1
            entries.add(target)
        elif op.startswith("call"):
            indirect = any(part.startswith("prototype") for part in operands)
            counts["indirect_calls" if indirect else "direct_calls"] += 1
        else:
            for known in (state, entries, vtables):
                if any(operand in known for operand in operands[1:]):
                    known.add(target)
    return DispatchPath(**counts)
