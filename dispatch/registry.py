"""Objects placed one by one, as kernels find them: a list of their places, searched by address.

The registry is three arrays, one behind the other: the places' addresses, sorted, u64; the type
index of each, u32; and of each the byte that says whether an object lives there (``births``). It
stays the same throughout a launch, but for these bytes. Nothing is looked up in the objects'
memory, as that of a deleted object may be anybody's or gone: asking about any reference is safe.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from . import state
from .lookup import I64

Array = np.ndarray[tuple[int], np.dtype[Any]]

FIND_REGISTERED = "sharedoa_find_registered"
NOT_REGISTERED = 2**64 - 1
"""The number of an address that is no place."""
_ADDRESS_BYTES, _TYPE_BYTES = 8, 4
PLACE_BYTES = _ADDRESS_BYTES + _TYPE_BYTES + 1
"""Of a place in the registry."""


def stored_registry(memory: Array, addresses: Array, types: Array, states: Array) -> Array:
    """Write a registry of these places to ``memory``, of PLACE_BYTES each; the part of it that are
    the bytes which say who lives."""
    count = len(addresses)
    types_at, states_at = count * _ADDRESS_BYTES, count * (_ADDRESS_BYTES + _TYPE_BYTES)
    memory[:types_at].view(np.uint64)[:] = addresses
    memory[types_at:states_at].view(np.uint32)[:] = types
    bytes: Array = memory[states_at : count * PLACE_BYTES]
    bytes[:] = states
    return bytes


def find_registered_function(
    module: ir.Module, object_space: int, constant_space: int
) -> ir.Function:
    """``i64 sharedoa_find_registered(i64 address)``: the number of the place that begins there, or
    NOT_REGISTERED; by binary search for the first address that is not below. Made at its first
    use."""
    found = module.globals.get(FIND_REGISTERED)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(I64, [I64]), FIND_REGISTERED)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    (address,) = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    registry = state.load(builder, constant_space, state.REGISTRY)
    size = state.load(builder, constant_space, state.REGISTRY_SIZE)

    def load_address(number: Any) -> Any:
        place = builder.add(registry, builder.mul(number, I64(_ADDRESS_BYTES)))
        pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
        return builder.load(pointer, align=8, typ=I64)

    before = builder.block
    test, halve, end, compare, nowhere = (
        builder.append_basic_block(n) for n in ("search", "halve", "end", "compare", "nowhere")
    )
    builder.branch(test)
    builder.position_at_end(test)
    low, high = builder.phi(I64, "low"), builder.phi(I64, "high")
    builder.cbranch(builder.icmp_unsigned("<", low, high), halve, end)

    builder.position_at_end(halve)
    middle = builder.lshr(builder.add(low, high), I64(1))
    is_below = builder.icmp_unsigned("<", load_address(middle), address)
    after = builder.add(middle, I64(1))
    for phi, first, following in (
        (low, I64(0), builder.select(is_below, after, low)),
        (high, size, builder.select(is_below, high, middle)),
    ):
        phi.add_incoming(first, before)
        phi.add_incoming(following, halve)
    builder.branch(test)

    builder.position_at_end(end)
    builder.cbranch(builder.icmp_unsigned("<", low, size), compare, nowhere)
    builder.position_at_end(compare)
    is_it = builder.icmp_unsigned("==", load_address(low), address)
    builder.ret(builder.select(is_it, low, I64(NOT_REGISTERED)))
    builder.position_at_end(nowhere)
    builder.ret(I64(NOT_REGISTERED))
    return function


def emit_type_address(builder: ir.IRBuilder, number: Any, constant_space: int) -> Any:
    """i64: where the type index of a place is."""
    registry = state.load(builder, constant_space, state.REGISTRY)
    size = state.load(builder, constant_space, state.REGISTRY_SIZE)
    types = builder.add(registry, builder.mul(size, I64(_ADDRESS_BYTES)))
    return builder.add(types, builder.mul(number, I64(_TYPE_BYTES)))


def emit_byte_address(builder: ir.IRBuilder, number: Any, constant_space: int) -> Any:
    """i64: where the byte is that says whether an object lives in a place."""
    registry = state.load(builder, constant_space, state.REGISTRY)
    size = state.load(builder, constant_space, state.REGISTRY_SIZE)
    bytes = builder.add(registry, builder.mul(size, I64(_ADDRESS_BYTES + _TYPE_BYTES)))
    return builder.add(bytes, number)
