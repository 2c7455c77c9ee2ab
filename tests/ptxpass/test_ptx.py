"""What a call costs in PTX: loads, indirect calls, masks and shifts, by mode (M-4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from llvmlite import ir

from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.mode import MODES, parse_mode

from .hand_written import I64, Class, HandWritten, classes
from .machine import new_device_module, ptx

KNOWN = classes(3, 4, 7)


@dataclass(frozen=True)
class Cost:
    """Instructions of one call. ``loads`` in the walk's loop count once."""

    loads: int
    indirect_calls: int
    tag_shifts: int = 0


COSTS = {
    "cuda": Cost(loads=3, indirect_calls=1),
    "concord": Cost(loads=1, indirect_calls=0),
    "sharedoa": Cost(loads=3, indirect_calls=1),
    "coal": Cost(loads=3, indirect_calls=1),
    "typepointer": Cost(loads=1, indirect_calls=1, tag_shifts=1),
    "header+vtable": Cost(loads=3, indirect_calls=1),
    "header+switch": Cost(loads=2, indirect_calls=0),
    "tag+vtable": Cost(loads=2, indirect_calls=1),
    "tag+switch": Cost(loads=1, indirect_calls=0),
    "range+vtable": Cost(loads=3, indirect_calls=1),
    "range+switch": Cost(loads=2, indirect_calls=0),
    "bits+vtable": Cost(loads=1, indirect_calls=1, tag_shifts=1),
    "bits+switch": Cost(loads=0, indirect_calls=0, tag_shifts=1),
    "auto": Cost(loads=2, indirect_calls=0),
}


def one_call(name: str, known: list[Class]) -> str:
    """PTX of a kernel body that loads a reference, makes one virtual call on it, and uses both. The
    methods load nothing, so every other load belongs to the call."""
    written = HandWritten(new_device_module(), parse_mode(name), known, 1, 4)
    written.add_methods()
    body, builder = written.new_body(leaves=2)
    objects, out, x = body.args[:3]
    offset = builder.shl(x, I64(3))
    reference = written.load(builder, builder.add(objects, offset), 0, I64)
    call = written.virtual_call()
    lowering = written.lowering(call)
    result = lowering.call(builder, call, [reference, x])
    used = builder.add(result, reference)
    builder.store(used, written.pointer(builder, builder.add(out, offset)))
    builder.ret_void()
    lowering.complete()
    return ptx(written.module)


def cost(text: str) -> Cost:
    loads = re.findall(r"\bld\.global", text)
    shifts = re.findall(r"\bshr\.u64\s+%\w+, %\w+, (\d+)", text)
    # A shift by the slot's size may be merged with that by the tag's place.
    tags = [shift for shift in shifts if TAG_SHIFT - 3 <= int(shift) <= TAG_SHIFT]
    return Cost(len(loads) - 1, len(re.findall(r"\.callprototype", text)), len(tags))


@pytest.mark.parametrize("name", MODES)
def test_cost_of_a_call(name: str) -> None:
    assert cost(one_call(name, KNOWN)) == COSTS[name]


@pytest.mark.parametrize("name", ["cuda", "concord", "sharedoa", "coal", "typepointer"])
def test_the_papers_modes_dispatch_also_with_one_candidate(name: str) -> None:
    assert cost(one_call(name, KNOWN[:1])) == COSTS[name]


@pytest.mark.parametrize("name", [name for name in MODES if "+" in name])
def test_ours_call_the_only_candidate_directly(name: str) -> None:
    assert cost(one_call(name, KNOWN[:1])) == Cost(0, 0)


def test_range_tree_and_tables_are_read_through_the_read_only_cache() -> None:
    text = one_call("coal", KNOWN)
    assert len(re.findall(r"ld\.global\.nc\.", text)) == COSTS["coal"].loads
    assert len(re.findall(r"ld\.const\.", text)) == 2


def test_overflow_of_tags_adds_the_walk() -> None:
    text = one_call("typepointer", classes(3, TAG_LIMIT + 1))
    # The end of a left subtree, the type of a leaf, and the method.
    assert cost(text) == Cost(loads=3, indirect_calls=1, tag_shifts=1)


@pytest.mark.parametrize("name", ["coal", "range+vtable"])
def test_lookups_on_one_receiver_are_shared_in_our_modes_only(name: str) -> None:
    written = HandWritten(new_device_module(), parse_mode(name), KNOWN, 1, 4)
    written.add_methods()
    written.add_weighing_body()
    walks = len(re.findall(r"ld\.global\.nc\.b32", ptx(written.module)))
    assert walks == (2 if name == "coal" else 1)


def test_tables_are_internal_constants_in_global_memory() -> None:
    written = HandWritten(new_device_module(), parse_mode("sharedoa"), KNOWN, 1, 4)
    written.add_methods()
    written.add_weighing_body()
    table = written.module.globals["sharedoa_functions_Root"]
    assert isinstance(table, ir.GlobalVariable)
    assert (table.linkage, table.global_constant, table.addrspace) == ("internal", True, 1)
    assert "sharedoa_rows_Root" not in written.module.globals
