"""Faults in compiled code on the CPU become exceptions; foreign ones do not."""

from __future__ import annotations

import pytest

from sharedoa.backends.guard_code import is_supported

from ..pairwise import pairwise
from .programs import run, run_with_options

pytestmark = pytest.mark.skipif(not is_supported(), reason="faults are told on Linux with glibc")


@pytest.mark.parametrize(
    ("references", "layout", "method"), pairwise(["32", "64"], ["aos", "tile"], ["follow", "mark"])
)
def test_null_is_named_and_the_heap_goes_on(tmp_path, references, layout, method):
    status, out, errors = run(
        tmp_path,
        f"""
heap = oa.Heap(backend="cpu", references="{references}", layout="{layout}").__enter__()
nodes = oa.new(Node, 50_000, x=3)
print(failure(lambda: nodes.{method}()))
is_whole(heap)
""",
    )
    assert status == 0, errors
    assert f"kernel Node.{method}" in out and "a null reference is used" in out
    assert "SHAREDOA_DEBUG=1" in out


@pytest.mark.parametrize(
    ("debug", "count", "thread"), pairwise(["0", "1"], [1, 50_000], ["main", "other"])
)
def test_recursion_without_end(tmp_path, debug, count, thread):
    status, out, errors = run(
        tmp_path,
        f"""
def work():
    with heap:
        nodes = oa.new(Node, {count}, x=3)
        nodes.next = nodes
        print(failure(lambda: nodes.deep(1)))
        is_whole(heap)
if {thread!r} == "main":
    work()
else:
    other = threading.Thread(target=work)
    other.start()
    other.join()
""",
        SHAREDOA_DEBUG=debug,
    )
    assert status == 0, errors
    assert "kernel Node.deep, thread 0: calls are nested so deep" in out


def test_a_fault_in_one_of_the_workers(tmp_path):
    status, out, errors = run(
        tmp_path,
        """
thread_pool.WAKING_SECONDS = -1.0
nodes = oa.new(Node, 300_000, x=3)
nodes.next = nodes
nodes[299_999].next = None
for _ in range(20):
    print(failure(lambda: nodes.follow()))
is_whole(heap)
nodes[299_999].next = nodes[0]
assert nodes.follow().numpy().sum() == 900_000
""",
    )
    assert status == 0, errors
    assert out.count("a null reference is used") == 20


def test_a_fault_in_a_block_with_barriers(tmp_path):
    status, out, errors = run(
        tmp_path,
        """
@oa.kernel
def meet(nodes: oa.Array[Node], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    value = nodes[i].next.x
    oa.syncthreads()
    out[i] = value

nodes, out = oa.new(Node, 64, x=3), oa.zeros(64, i64)
nodes.next = nodes
nodes[13].next = None
print(failure(lambda: meet[64, 16](nodes, out)))
nodes[13].next = nodes[0]
meet[64, 16](nodes, out)
assert out.numpy().tolist() == [3] * 64
""",
    )
    assert status == 0, errors
    assert "kernel meet, thread 13: a null reference is used" in out


@pytest.mark.parametrize("debug", [False, True])
def test_recursion_in_a_block_with_barriers(tmp_path, debug):
    status, out, errors = run(
        tmp_path,
        f"""
@oa.kernel
def meet(nodes: oa.Array[Node], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    value = i64(1)
    if i == 5:
        value = nodes[i].deep(1)
    oa.syncthreads()
    out[i] = value

nodes, out = oa.new(Node, 16, x=3), oa.zeros(16, i64)
nodes.next = nodes
print(failure(lambda: meet[16, 8](nodes, out, debug={debug})))
is_whole(heap)
""",
    )
    assert status == 0, errors
    assert "kernel meet" in out and "calls are nested so deep" in out


@pytest.mark.parametrize("references", ["32", "64"])
def test_fields_far_into_null_reach_nobody(tmp_path, references):
    status, out, errors = run(
        tmp_path,
        f"""
class Wide(oa.Object):
    first: oa.inline[f32, 40_000]
    last: i64
    next: "Wide"

    def mark(self) -> None:
        self.next.last = 7

heap = oa.Heap(backend="cpu", references="{references}").__enter__()
objects = oa.new(Wide, 2)
base = heap.encoding.base
if base:
    import ctypes
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    place = base + 65536
    assert libc.mmap(place, 1 << 20, 3, 0x100022, -1, 0) == place
    victim = (ctypes.c_uint8 * (1 << 20)).from_address(place)
print(failure(lambda: objects.mark()))
if base:
    assert not any(victim)
""",
    )
    assert status == 0, errors
    assert "a null reference is used" in out


_FOREIGN = """
nodes = oa.new(Node, 10, x=3)
print(failure(lambda: nodes.follow()), flush=True)
"""


@pytest.mark.parametrize("how", ["ctypes.string_at(0)", "os.kill(os.getpid(), signal.SIGSEGV)"])
@pytest.mark.parametrize("handler", ["", "faulthandler.enable()"])
def test_a_foreign_fault_ends_the_process(tmp_path, how, handler):
    status, out, errors = run(
        tmp_path, f"import ctypes, faulthandler\n{handler}\n{_FOREIGN}\n{how}\nprint('alive')\n"
    )
    assert status == -11 and "alive" not in out, errors
    assert "a null reference is used" in out
    assert ("Fatal Python error: Segmentation fault" in errors) == bool(handler)


@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_faulthandler_before_us_hears_of_foreign_faults_only(tmp_path, options):
    status, _, errors = run_with_options(tmp_path, _FOREIGN * 3, *options)
    assert status == 0 and errors == ""


def test_faulthandler_after_us(tmp_path):
    """It tells of the fault, and so do we; loading a kernel puts us first again."""
    text = f"{_FOREIGN}\nimport faulthandler\nfaulthandler.enable()\n{_FOREIGN}"
    status, out, errors = run(tmp_path, text)
    assert status == 0, errors
    assert out.count("a null reference is used") == 2
