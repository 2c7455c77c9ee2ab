"""Too little memory, too few threads, files and processes."""

from __future__ import annotations

import signal

from .catalogue import CPU, case
from .programs import program
from .verdicts import refused

_HEAD = """
import resource, sys, os
import numpy as np
import sharedoa as oa
from sharedoa import f64, i32, i64

class A(oa.Object):
    x: i32
    w: f64
    next: "A"
    def get(self) -> i32:
        return self.x

@oa.kernel
def add(many: oa.Array[A], n: i32):
    i = oa.grid(1)
    if i < len(many):
        many[i].x += n

@oa.kernel
def slow(out: oa.Array[i64], rounds: i64):
    i = oa.grid(1)
    seed = i64(i)
    for _ in range(rounds):
        seed = seed * 6364136223846793005 + 1442695040888963407
    out[i] = seed

def whole(count=1000):
    before = len(oa.all(A))
    many = oa.new(A, count, x=1)
    add[count](many, 2)
    assert (many.x.numpy() == 3).all()
    oa.delete(many)
    assert len(oa.all(A)) == before

def address_space(more):
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))

def unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def run(text: str, **variables: str) -> None:
    program(_HEAD + text, **variables).well("good")


@case(debug=False, backends=CPU, sample=True)
def no_memory_for_objects() -> None:
    """The address space ends while objects are made: refused, and the heap is whole."""
    run(
        """
whole()
address_space(100 << 20)
try:
    oa.new(A, 20_000_000, x=1)
except (oa.HeapError, MemoryError) as error:
    assert "room" in str(error) or "memory" in str(error).lower() or "allocate" in str(error)
unlimited()
assert len(oa.all(A)) == 0
whole()
print("good")
"""
    )


@case(debug=False, backends=CPU)
def no_memory_for_values() -> None:
    """The address space ends while fields of new objects are filled: no objects are left."""
    run(
        """
whole()
oa.delete(oa.new(A, 3_000_000))
kept = oa.new(A, 10, x=5)
values = np.arange(3_000_000, dtype=np.int32)
for more in (1 << 20, 5 << 20, 20 << 20, 60 << 20):
    address_space(more)
    try:
        many = oa.new(A, 3_000_000, x=values, w=list(range(10)) * 300_000)
    except (oa.HeapError, MemoryError):
        pass
    else:
        oa.delete(many)
        del many
    unlimited()
    assert len(oa.all(A)) == 10, len(oa.all(A))
    assert (kept.x.numpy() == 5).all()
    whole()
print("good")
"""
    )


@case(debug=False, backends=CPU)
def no_memory_for_compilation() -> None:
    """The address space ends somewhere in a first launch: an exception, or LLVM, which cannot be
    stopped by one, ends the process and says so."""
    ended = program(
        _HEAD
        + """
whole()
for number, more in enumerate((1 << 16, 1 << 20, 4 << 20, 16 << 20)):
    text = f'''
import sharedoa as oa
from sharedoa import i32
@oa.kernel
def k(out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = i * {number + 2}
'''
    name = f"mine{number}"
    with open(name + ".py", "w") as file:
        file.write(text)
    sys.path.insert(0, ".")
    k = __import__(name).k
    out = oa.zeros(100, i32)
    address_space(more)
    try:
        k[100](out)
    except (MemoryError, oa.SharedOAError, OSError):
        pass
    unlimited()
    k[100](out)
    assert out.numpy().tolist() == [i * (number + 2) for i in range(100)]
whole()
print("good")
""",
        SHAREDOA_CACHE_DIR="off",
    )
    if ended.status == -signal.SIGABRT and ("bad_alloc" in ended.err or "memory" in ended.err):
        refused(ended.err)
    else:
        ended.well("good")


@case(debug=False, backends=CPU)
def no_memory_for_arrays() -> None:
    """Arrays until the address space ends, again and again."""
    run(
        """
whole()
for _ in range(5):
    address_space(300 << 20)
    kept = []
    try:
        while True:
            kept.append(oa.zeros(4_000_000, i32))
    except (oa.HeapError, MemoryError):
        pass
    unlimited()
    assert kept
    kept.clear()
    whole()
print("good")
"""
    )


@case(debug=False, backends=CPU)
def no_memory_at_the_start() -> None:
    """Too little address space for the first heap."""
    run(
        """
address_space(8 << 20)
try:
    oa.new(A, 10)
    print("good")
except (oa.HeapError, MemoryError, OSError) as error:
    unlimited()
    print("good")
"""
    )


@case(debug=False, backends=CPU)
def no_new_threads() -> None:
    """No thread can be started: a launch runs on the calling one, whole."""
    run(
        """
out = oa.zeros(100_000, i64)
slow[4](out, 1)
add[4](oa.new(A, 4), 1)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setgid(65534); os.setuid(65534)
slow[100_000](out, 3)
def one(i):
    for _ in range(3):
        i = (i * 6364136223846793005 + 1442695040888963407) % 2**64
    return i - 2**64 if i >= 2**63 else i
assert out.numpy()[::1000].tolist() == [one(i) for i in range(0, 100_000, 1000)]
slow[100_000](out, 2000)
many = oa.new(A, 500_000, x=np.arange(500_000))
add[500_000](many, 1)
assert (many.x.numpy() == np.arange(500_000) + 1).all()
more = oa.new(A, 3_000_000, x=np.arange(3_000_000))
assert (more.x.numpy() == np.arange(3_000_000)).all()
print("good")
""",
        SHAREDOA_CACHE_DIR="off",
    )


@case(debug=False, backends=CPU)
def no_new_threads_for_barriers() -> None:
    """No thread can be started for a kernel with barriers: refused, and the heap is whole."""
    run(
        """
@oa.kernel
def meet(out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = 1
    oa.syncthreads()
    out[i] += 1
out = oa.zeros(256, i32)
whole(4)
print(meet.asm["ll"][:0], end="")
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setgid(65534); os.setuid(65534)
try:
    meet[256, 256](out)
    oa.synchronize()
    assert (out.numpy() == 2).all()
except oa.SharedOAError as error:
    assert "thread" in str(error), error
whole(100)
print("good")
""",
        SHAREDOA_CACHE_DIR="off",
    )


@case(debug=False, backends=CPU)
def no_file_descriptors() -> None:
    """No file can be opened: what is in memory still works."""
    run(
        """
whole()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
out = oa.zeros(10, i64)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
whole()
try:
    slow[10](out, 1)
except (OSError, oa.SharedOAError) as error:
    pass
try:
    oa.dump("heap.dump")
except (OSError, oa.DumpError) as error:
    pass
else:
    raise AssertionError("dumped without a file")
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
slow[10](out, 1)
whole()
print("good")
"""
    )


@case(debug=False, backends=CPU)
def no_writable_folder() -> None:
    """No folder for temporary files."""
    run("whole()\nprint('good')\n", TMPDIR="/nonexistent", SHAREDOA_CACHE_DIR="off")


@case(debug=False, backends=CPU)
def small_stack() -> None:
    """A stack of 256 KiB."""
    run(
        """
import threading
threading.stack_size(256 << 10)
def work():
    whole()
    print("good", flush=True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    )


@case(debug=False, backends=CPU)
def one_core() -> None:
    """A process that may use one core."""
    run("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhole(300_000)\nprint('good')\n")


@case(debug=False, backends=CPU)
def little_time() -> None:
    """SIGXCPU is the default: nothing of ours catches it."""
    from .programs import command, written

    file = written(
        _HEAD
        + """
whole()
resource.setrlimit(resource.RLIMIT_CPU, (int(sum(os.times()[:2])) + 1, 60))
while True:
    whole()
"""
    )
    command(file).by_signal(signal.SIGXCPU)


@case(debug=False, backends=CPU)
def address_space_from_outside() -> None:
    """A shell's ``ulimit -v`` below what a heap would like to reserve."""
    run(
        """
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
whole()
whole(100_000)
print("good")
"""
    )
