"""Loading compiled code: wherever this process has room left."""

import ctypes
import mmap
import subprocess
import sys
from collections.abc import Iterator

import pytest
from llvmlite import ir

from sharedoa.backends import native_code
from sharedoa.backends.native_code import NativeLibrary, host_target
from sharedoa.errors import InternalError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux maps")

I64 = ir.IntType(64)
F64 = ir.DoubleType()
PAGE = 4096
HEAP = 8 << 30


def object_code() -> bytes:
    """``add(n)``: a variable set to n, plus entry n of a table, plus exp(n) as an integer."""
    module = host_target().new_module("parts")
    function = ir.Function(module, ir.FunctionType(I64, [I64]), "add")
    builder = ir.IRBuilder(function.append_basic_block())
    variable = ir.GlobalVariable(module, ir.ArrayType(I64, 10), "variable")
    variable.initializer = ir.Constant(variable.value_type, None)
    table = ir.GlobalVariable(module, ir.ArrayType(I64, 10), "table")
    table.initializer = ir.Constant(table.value_type, list(range(100, 110)))
    table.global_constant, table.linkage = True, "internal"
    exp = ir.Function(module, ir.FunctionType(F64, [F64]), "exp")
    (number,) = function.args
    cell = builder.gep(variable, [I64(0), number])
    builder.store(number, cell)
    entry = builder.load(builder.gep(table, [I64(0), number]))
    power = builder.fptosi(builder.call(exp, [builder.sitofp(number, F64)]), I64)
    builder.ret(builder.add(builder.add(builder.load(cell), entry), power))
    code = host_target().compile(str(module))["o"]
    assert isinstance(code, bytes)
    return code


def load_and_call(code: bytes) -> NativeLibrary:
    library = NativeLibrary(code, ("add", "variable"), {})
    assert library.function("add", "long(*)(long)")(3) == 3 + 103 + 20
    return library


def addresses_with_holes() -> Iterator[int]:
    """Yields sizes of holes, each the only room beside a mapping as large as a heap."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)

    def map_pages(size: int) -> int:
        return int(libc.mmap(None, size, mmap.PROT_READ, flags, -1, 0))

    heap = map_pages(HEAP)
    size = HEAP // 8
    while size >= PAGE:
        while (place := map_pages(size)) > heap:
            pass
        libc.munmap(place, size)
        size //= 2
    for number in range(20):
        hole = PAGE * (1 + number % 3)
        libc.munmap(heap + HEAP // 2 + number * 16 * PAGE, hole)
        yield hole


def test_code_is_loaded_where_only_holes_are_left_beside_heaps():
    # Otherwise code and variables of one kernel lie on either side of a heap, out of reach of
    # each other's instructions. In a process of its own, which the older linker aborts.
    program = "from tests.backends import test_native_code as test; test.load_in_holes()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "20 loaded\n"), done.stderr


def load_in_holes() -> None:
    code = object_code()
    kept = [load_and_call(code)]
    kept += [load_and_call(code) for _ in addresses_with_holes()]
    print(len(kept) - 1, "loaded")


def test_what_is_dropped_leaves_memory():
    code = object_code()
    load_and_call(code)
    before = mappings()
    for _ in range(50):
        load_and_call(code)
    assert mappings() < before + 10
    kept = [load_and_call(code) for _ in range(50)]
    assert mappings() > before + 10
    del kept


def mappings() -> int:
    with open("/proc/self/maps") as lines:
        return sum(1 for _ in lines)


def test_code_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no memory that is the reason, which LLVM does not say."""
    code = object_code()
    with pytest.raises(InternalError, match="cannot be loaded"):
        NativeLibrary(code, ("missing",), {})
    monkeypatch.setattr(native_code, "_LINKED_BYTES", 1 << 60)
    with pytest.raises(MemoryError, match="no memory to load the code"):
        NativeLibrary(code, ("missing",), {})
