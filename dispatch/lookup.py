"""``sharedoa_lookup``: from an address to a type index, in code.

The walk of "Judging a Type by Its Pointer", section 5, over the tree of ``range_table``. Ranges
are sorted, so an address that lies in some range is in the left subtree exactly when it is below
that subtree's end: one load and one branch a level. Where an address may lie in no range, the leaf
is tested too.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from . import state
from .range_table import NO_TYPE, NODE_DTYPE

LOOKUP = "sharedoa_lookup"
FIND_RANGE = "sharedoa_find_range"

I32, I64 = ir.IntType(32), ir.IntType(64)
_NODE_BYTES = NODE_DTYPE.itemsize


def node_offset(field: str) -> int:
    """Bytes from a node to one of its fields."""
    assert NODE_DTYPE.fields is not None
    return int(NODE_DTYPE.fields[field][1])


def lookup_function(
    module: ir.Module, object_space: int, constant_space: int, verify: bool, share: bool
) -> ir.Function:
    """``i32 sharedoa_lookup(i64 address)``, defined at its first use.

    ``verify``: 0 for an address in no range; else such an address is undefined behaviour.
    ``share``: declare that the result depends on the address alone, so that the optimiser looks an
    address up once; true while no range changes during a launch.
    """
    found = module.globals.get(LOOKUP)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(I32, [I64]), LOOKUP)
    function.linkage = "internal"
    for attribute in ["alwaysinline", "nounwind"] + ["readnone"] * share:
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if not verify:
        leaf = _emit_walk(builder, function.args[0], object_space, constant_space)
        builder.ret(load_node(builder, leaf, "type_index", object_space))
        return function
    leaf = builder.call(find_range_function(module, object_space, constant_space), function.args)
    with builder.if_then(builder.icmp_unsigned("==", leaf, I64(0))):
        builder.ret(I32(NO_TYPE))
    builder.ret(load_node(builder, leaf, "type_index", object_space))
    return function


def find_range_function(module: ir.Module, object_space: int, constant_space: int) -> ir.Function:
    """``i64 sharedoa_find_range(i64 address)``: the address of the leaf whose range holds
    ``address``, or 0; defined at its first use."""
    found = module.globals.get(FIND_RANGE)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(I64, [I64]), FIND_RANGE)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    (address,) = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    size = state.load(builder, constant_space, state.RANGE_TREE_SIZE)
    with builder.if_then(builder.icmp_unsigned("==", size, I64(0))):
        builder.ret(I64(0))
    leaf = _emit_walk(builder, address, object_space, constant_space)
    tree = state.load(builder, constant_space, state.RANGE_TREE)
    end = builder.add(tree, builder.mul(size, I64(_NODE_BYTES)))
    # An address above every range goes right until the array ends.
    with builder.if_then(builder.icmp_unsigned(">=", leaf, end)):
        builder.ret(I64(0))
    above = builder.icmp_unsigned(">=", address, load_node(builder, leaf, "lo", object_space))
    below = builder.icmp_unsigned("<", address, load_node(builder, leaf, "hi", object_space))
    builder.ret(builder.select(builder.and_(above, below), leaf, I64(0)))
    return function


def load_node(builder: ir.IRBuilder, node: Any, field: str, object_space: int) -> Any:
    """A field of the node at address ``node``; the tree stays the same throughout a launch."""
    width = ir.IntType(8 * NODE_DTYPE[field].itemsize)
    place = builder.add(node, I64(node_offset(field)))
    pointer = builder.inttoptr(place, ir.PointerType(None, object_space))
    value = builder.load(pointer, field, align=NODE_DTYPE[field].itemsize, typ=width)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _emit_walk(builder: ir.IRBuilder, address: Any, object_space: int, constant_space: int) -> Any:
    """i64: the address of the only leaf that can hold ``address``, of a tree that is not empty."""
    tree = state.load(builder, constant_space, state.RANGE_TREE)
    # 32-bit node numbers halve the arithmetic on a GPU.
    size = builder.trunc(state.load(builder, constant_space, state.RANGE_TREE_SIZE), I32)
    before = builder.block
    test, descend, leaf = (builder.append_basic_block(n) for n in ("level", "descend", "leaf"))
    builder.branch(test)

    builder.position_at_end(test)
    node = builder.phi(I32, "node")
    left = builder.add(builder.shl(node, I32(1)), I32(1), "left")
    builder.cbranch(builder.icmp_unsigned("<", left, size), descend, leaf)

    builder.position_at_end(descend)
    left_end = load_node(builder, _node_address(builder, tree, left), "hi", object_space)
    beyond = builder.icmp_unsigned(">=", address, left_end)
    child = builder.add(left, builder.zext(beyond, I32))
    builder.branch(test)

    node.add_incoming(I32(0), before)
    node.add_incoming(child, descend)
    builder.position_at_end(leaf)
    return _node_address(builder, tree, node)


def _node_address(builder: ir.IRBuilder, tree: Any, node: Any) -> Any:
    offset = builder.mul(builder.zext(node, I64), I64(_NODE_BYTES))
    return builder.add(tree, offset)
