"""HIP whose kernels run: tinygrad's emulator of RDNA 3 executes the machine code of objects, which
are laid into this process's memory here, as no linker need be there that knows their version.

tinygrad's package has no emulator; its repository does. Put a checkout of it on the search path."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ..targets.code_object import metadata
from .pretend_hip import FUNCTION, MODULE, PretendHip, elf_at

ARCHITECTURE = "gfx1100"
_SYMBOLS, _RELOCATIONS, _WITHOUT_BYTES, _IN_MEMORY, _CODE, _SPECIAL = 2, 4, 8, 2, 4, 0xFF00
_SHARED_MEMORY = 15
#: ``buffer_gl0_inv`` and ``buffer_gl1_inv``, which empty caches that the emulator does not have and
#: whose encoding it does not know, become two ``s_nop 0``.
_CACHES = tuple(struct.pack("<II", word, 0) for word in (0xE0AC0000, 0xE0B00000))
_NOTHING = struct.pack("<II", 0xBF800000, 0xBF800000)
#: Relocations ("Relocation Records" there): by the table of addresses, relative to the place, the
#: bits that are dropped, what is written.
_SORTS = {
    1: (False, False, 0, "<I"), 2: (False, False, 32, "<I"), 3: (False, False, 0, "<Q"),
    4: (False, True, 0, "<I"), 5: (False, True, 0, "<Q"), 7: (True, True, 0, "<I"),
    8: (True, True, 0, "<I"), 9: (True, True, 32, "<I"), 10: (False, True, 0, "<I"),
    11: (False, True, 32, "<I"),
}  # fmt: skip
_DISPATCH_POINTER, _KERNEL_ARGUMENTS = 1, 3
#: Registers that a bit of ``kernel_code_properties`` stands for, from the lowest on (LLVM's "User
#: Guide for AMDGPU Backend", "Initial Kernel Execution State").
_USER_REGISTERS = (4, 2, 2, 2, 2, 2, 1)


class Kernel(NamedTuple):
    """A kernel in memory: what the driver reads of its descriptor, and its arguments."""

    entry: int
    image: mmap.mmap
    scratch: int
    resources: int
    properties: int
    says: dict[str, Any]


class EmulatedHip(PretendHip):
    """One card, of RDNA 3, that runs what it is given when it is given it."""

    architecture = f"{ARCHITECTURE}:xnack-"

    def __init__(self, run: Callable[..., int]) -> None:
        super().__init__()
        self._run = run
        self._loaded: list[tuple[Kernel, dict[str, int]]] = []

    def results(self, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        if name == "hipModuleLoadData":
            self._loaded.append(_load(elf_at(int(given[0]))))
            return (MODULE + len(self._loaded),)
        if name == "hipModuleGetGlobal":
            address = self._loaded[int(given[0]) - MODULE - 1][1][given[1].decode()]
            return address, 1 << 10
        if name in ("hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync"):
            ctypes.memmove(*(int(each) for each in given[:3]))
        if name == "hipMemsetD8Async":
            ctypes.memset(*(int(each) for each in given[:3]))
        return super().results(name, given)

    def _launch(self, given: tuple[Any, ...]) -> None:
        kernel, _ = self._loaded[int(given[0]) - FUNCTION - 1]
        grid, block = ([int(each) & 0xFFFFFFFF for each in given[at : at + 3]] for at in (1, 4))
        arguments = ctypes.create_string_buffer(kernel.says[".kernarg_segment_size"])
        own = [a for a in kernel.says[".args"] if not a[".value_kind"].startswith("hidden_")]
        pointers = (ctypes.c_uint64 * len(own)).from_address(int(given[9]))
        for pointer, each in zip(pointers, own, strict=True):
            value = ctypes.string_at(pointer, each[".size"])
            ctypes.memmove(ctypes.addressof(arguments) + each[".offset"], value, len(value))
        threads = [a * b for a, b in zip(grid, block, strict=True)]
        packet = struct.pack(
            "<HHHHHHIIIIIQQQQ", 0, 3, *block, 0, *threads, kernel.scratch, 0, 0,
            ctypes.addressof(arguments), 0, 0,
        )  # fmt: skip
        held = ctypes.create_string_buffer(packet)
        places = {
            _DISPATCH_POINTER: ctypes.addressof(held),
            _KERNEL_ARGUMENTS: ctypes.addressof(arguments),
        }
        registers: list[int] = []
        for bit, count in enumerate(_USER_REGISTERS):
            if kernel.properties >> bit & 1:
                words = places.get(bit, 0).to_bytes(4 * count, "little")
                registers += struct.unpack(f"<{count}I", words)
        self._run(
            kernel.entry, 0, *grid, *block, ctypes.addressof(arguments), kernel.resources,
            kernel.scratch, "rdna3", registers,
        )  # fmt: skip


def _load(code: bytes) -> tuple[Kernel, dict[str, int]]:
    """What a linker and a driver do with an object: sections at their places, and relocations."""
    at, size, count = struct.unpack_from("<Q10xHH", code, 40)
    tables = [struct.unpack_from("<IIQQQQIIQQ", code, at + size * n) for n in range(count)]
    starts, end = [0] * count, 0
    for number, (_, _, flags, _, _, length, _, _, alignment, _) in enumerate(tables):
        if flags & _IN_MEMORY:
            starts[number] = -(-end // alignment) * alignment
            end = starts[number] + length
    # Behind the sections is the table of addresses, of which a symbol has one.
    addresses, symbols = [], {}
    table = next(each for each in tables if each[1] == _SYMBOLS)
    offsets = end = -(-end // 8) * 8
    image = mmap.mmap(-1, end + 8 * (table[5] // 24) + 1)
    base = ctypes.addressof(ctypes.c_char.from_buffer(image))
    for start, (_, kind, flags, _, offset, length, *_) in zip(starts, tables, strict=True):
        if flags & _IN_MEMORY and kind != _WITHOUT_BYTES:
            content = code[offset : offset + length]
            for each in _CACHES if flags & _CODE else ():
                content = content.replace(each, _NOTHING)
            image[start : start + length] = content
    for number in range(table[5] // 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, table[4] + 24 * number)
        first = tables[table[6]][4] + name
        known = 0 < section < _SPECIAL
        addresses.append(base + starts[section] + value if known else value)
        symbols[code[first : code.index(b"\0", first)].decode()] = addresses[number]
        struct.pack_into("<Q", image, offsets + 8 * number, addresses[number])
    for _, kind, _, _, offset, length, _, where, *_ in tables:
        if kind != _RELOCATIONS or not tables[where][2] & _IN_MEMORY:
            continue
        for at in range(offset, offset + length, 24):
            to, info, addend = struct.unpack_from("<QQq", code, at)
            place, symbol, sort = starts[where] + to, info >> 32, info & 0xFFFFFFFF
            by_table, is_relative, shift, form = _SORTS[sort]
            value = base + offsets + 8 * symbol if by_table else addresses[symbol]
            value += addend - is_relative * (base + place)
            mask = (1 << 8 * struct.calcsize(form)) - 1
            struct.pack_into(form, image, place, value >> shift & mask)
    (says,) = metadata(code)["amdhsa.kernels"]
    descriptor = symbols[says[".symbol"]]
    shared, scratch, _, entry, resources, properties = struct.unpack(
        "<III4xq28xIH6x", ctypes.string_at(descriptor, 64)
    )
    # What a launch needs of shared memory the driver writes there, in blocks of 512 bytes.
    resources |= -(-shared // 512) << _SHARED_MEMORY
    kernel = Kernel(descriptor + entry, image, scratch, resources, properties, says)
    return kernel, symbols


def emulator() -> Callable[..., int]:
    """``run_asm`` of tinygrad's emulator, which also does what code does with its own address."""
    emulated = import_module("test.mockgpu.amd.emu")
    code, others = emulated.ir3, emulated._INST_HANDLERS[emulated.ir3.SOP1]
    operations = code.SOP1Op

    def handle(instruction: Any, context: Any) -> Any:
        kind = instruction.op
        jumps = kind in (operations.S_SETPC_B64, operations.S_SWAPPC_B64)
        if not jumps and kind is not operations.S_GETPC_B64:
            return others(instruction, context)
        stores = []
        if kind is not operations.S_SETPC_B64:
            after = context.rpc() + emulated.UOp.const(4, emulated.dtypes.uint64)
            to = context.inst_field(code.SOP1.sdst)
            low, high = emulated._split64(after)
            stores += [context.wsgpr_dyn(to, low), context.wsgpr_dyn(to + emulated._c(1), high)]
        if not jumps:
            return emulated.UOp.sink(*stores, *context.inc_pc())
        source = context.inst_field(code.SOP1.ssrc0)
        for place, register in ((emulated.PC_LO_IDX, 0), (emulated.PC_HI_IDX, 1)):
            half = context.rsgpr_dyn(source + emulated._c(register))
            stores.append(context.wsgpr_dyn(emulated._c(place), half))
        return emulated.UOp.sink(*stores)

    emulated._INST_HANDLERS[code.SOP1] = handle
    return emulated.run_asm
