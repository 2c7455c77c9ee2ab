"""The module state block: what a loaded module must be told before a launch.

``@sharedoa_state`` is 16 words of 64 bits in every module, zero until the runtime fills it; modules
of this project's compiler have room for bounds after them. It changes only between launches, so a
kernel may read a word once and keep it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

SYMBOL = "sharedoa_state"
WORDS = 16

RANGE_TREE = 0
"""Address of the segment tree's nodes (``range_table``)."""
RANGE_TREE_SIZE = 1
"""Number of nodes, 0 for a tree without ranges."""
ERRORS = 2
"""Address of the error record (``errors``), or 0."""
REGISTRY = 3
"""Address of the list of places of objects placed one by one (``registry``). It is read in debug
mode, and by kernels that end objects or ask whether they live."""
REGISTRY_SIZE = 4
"""Number of places there."""
THREAD_X = 5
"""Indices of the current thread (host, debug mode only)."""
THREAD_Y = 6

WHOLES = 7
"""Of up to ``MOST_WHOLES`` arrays of references to objects side by side: where the references lie,
and the first of them."""
MOST_WHOLES = 4

REFERENCE_BASE = 15
"""The address that references of 32 bits count from (``sharedoa.model.reference``)."""

BOUNDS = WORDS
"""The first of up to ``MOST_BOUNDS`` addresses or references at which ranges begin (``bounds``), or
the only one: where the first window begins, modulo 2**64 (``windows``)."""
MOST_BOUNDS = 64

CLASSES = BOUNDS
"""Address of the base class's type index of every class, by type index, u32 (``check``), or 0. Code
of debug mode knows no bounds and has this in their place."""
SHADOW = BOUNDS + 1
"""Address of the shadow table (``shadow``), or 0 (debug mode)."""
BLOCK_X, BLOCK_Y = BOUNDS + 2, BOUNDS + 3
"""Threads of a block along each axis (host, debug mode)."""
PHASE = BOUNDS + 4
"""How many barriers the current thread has passed (host, debug mode)."""

BIRTHS = WORDS + MOST_BOUNDS
"""Address of the birth table (``births``)."""

MOST_WORDS = BIRTHS + 1

_WORD = ir.IntType(64)
_BLOCK = ir.ArrayType(_WORD, MOST_WORDS)


def state_block(module: ir.Module, constant_space: int) -> ir.GlobalVariable:
    """The module's state block, made at its first use."""
    found = module.globals.get(SYMBOL)
    if found is None:
        found = ir.GlobalVariable(module, _BLOCK, SYMBOL, constant_space)
        found.initializer = ir.Constant(_BLOCK, None)
        found.align = 8
    return found


def load(builder: ir.IRBuilder, constant_space: int, index: Any) -> Any:
    """i64: word ``index`` (an int or an i32), which stays the same throughout a launch."""
    block = state_block(builder.module, constant_space)
    number = _index(index) if isinstance(index, int) else index
    place = builder.gep(block, [_index(0), number], inbounds=True, source_etype=_BLOCK)
    word = builder.load(place, align=8, typ=_WORD)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _index(value: int) -> ir.Constant:
    return ir.Constant(ir.IntType(32), value)
