"""From an address to a type index in PTX: the walk of ``dispatch.lookup``, line by line."""

from __future__ import annotations

from dispatch import state
from dispatch.lookup import node_offset
from dispatch.range_table import NO_TYPE, NODE_DTYPE

from .code import Names, Registers

_WORD_BYTES = 8


def lookup_lines(
    address: str, type_index: str, registers: Registers, names: Names, verify: bool
) -> list[str]:
    """Write the type index of the range that holds ``address`` to the register ``type_index``.

    ``verify``: ``NO_TYPE`` for an address in no range; else that is undefined behaviour. A level
    of the tree costs one load and one branch.
    """
    tree, node_address, end = (registers.new("b64") for _ in range(3))
    size, node, left, right = (registers.new("b32") for _ in range(4))
    done, beyond = (registers.new("pred") for _ in range(2))
    level, leaf, found = (names.label() for _ in range(3))
    bytes_a_node = NODE_DTYPE.itemsize
    lines = [
        f"ld.const.b64 {tree}, [{state.SYMBOL}+{_WORD_BYTES * state.RANGE_TREE}];",
        f"ld.const.b32 {size}, [{state.SYMBOL}+{_WORD_BYTES * state.RANGE_TREE_SIZE}];",
        f"mov.b32 {node}, 0;",
    ]
    if verify:
        lines += [
            f"mov.b32 {type_index}, {NO_TYPE};",
            f"setp.eq.u32 {done}, {size}, 0;",
            f"@{done} bra {found};",
        ]
    lines += [
        f"{level}:",
        f"shl.b32 {left}, {node}, 1;",
        f"add.u32 {left}, {left}, 1;",
        f"setp.ge.u32 {done}, {left}, {size};",
        f"@{done} bra {leaf};",
        f"mad.wide.u32 {node_address}, {left}, {bytes_a_node}, {tree};",
        f"ld.global.nc.b64 {end}, [{node_address}+{node_offset('hi')}];",
        f"setp.ge.u64 {beyond}, {address}, {end};",
        f"add.u32 {right}, {left}, 1;",
        f"selp.b32 {node}, {right}, {left}, {beyond};",
        f"bra {level};",
        f"{leaf}:",
        f"mad.wide.u32 {node_address}, {node}, {bytes_a_node}, {tree};",
    ]
    if verify:
        start = registers.new("b64")
        lines += [
            # An address above every range goes right until the array ends.
            f"setp.ge.u32 {done}, {node}, {size};",
            f"@{done} bra {found};",
            f"ld.global.nc.b64 {start}, [{node_address}+{node_offset('lo')}];",
            f"setp.lt.u64 {done}, {address}, {start};",
            f"@{done} bra {found};",
            f"ld.global.nc.b64 {end}, [{node_address}+{node_offset('hi')}];",
            f"setp.ge.u64 {done}, {address}, {end};",
            f"@{done} bra {found};",
        ]
    lines.append(f"ld.global.nc.b32 {type_index}, [{node_address}+{node_offset('type_index')}];")
    return [*lines, f"{found}:"] if verify else lines
