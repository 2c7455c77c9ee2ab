"""Ctrl-C and other signals at moments that nobody chose."""

from __future__ import annotations

import signal

from .catalogue import CPU, case
from .programs import command, finish, interrupted, program, start, written
from .verdicts import check

_HEAD = """
import os, random, signal, sys, threading, time
import numpy as np
import sharedoa as oa
from sharedoa import i32, i64

class A(oa.Object):
    x: i32
    next: "A"
    def get(self) -> i32:
        return self.x

class B(oa.Object):
    x: i64

@oa.kernel
def add(many: oa.Array[A], n: i32):
    many[oa.grid(1)].x += n

@oa.kernel
def endless(out: oa.Array[i64]):
    i = oa.grid(1)
    n = i64(0)
    while n >= 0:
        n = (n * 5 + 1) % 1000003
        out[i] = n

@oa.kernel
def slow(out: oa.Array[i64], rounds: i64):
    i = oa.grid(1)
    seed = i64(i)
    for _ in range(rounds):
        seed = seed * 6364136223846793005 + 1442695040888963407
    out[i] = seed

def whole():
    many = oa.new(A, 1000, x=1)
    add[1000](many, 2)
    assert (many.x.numpy() == 3).all(), "x"
    assert (many.get().numpy() == 3).all(), "get"
    assert len(set(many._references().tolist())) == 1000, "places"
    oa.delete(many)

def interrupted_often(work, times=60, longest=0.004):
    '''Call work() again and again; a signal comes at a random moment of each.'''
    random.seed(1)
    hits = 0
    for _ in range(times):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, longest))
            for _ in range(100):
                work()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    return hits

def stop(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
"""


def run(text: str, seconds: float = 60.0) -> None:
    ended = program(_HEAD + text, seconds=seconds)
    if not ended.status:
        # Python cannot raise what a signal raises in a finalizer, and says so.
        ended.err = ""
    ended.well("good")


@case(backends=CPU, limit=90)
def of_allocation() -> None:
    """Ctrl-C, hundreds of times, while objects are made and deleted."""
    run(
        """
whole()
def work():
    many = oa.new(A, 50, x=5)
    oa.new(B, 3)
    one = oa.new(A)
    oa.delete(many)
    oa.delete(one)
hits = interrupted_often(work, 150)
assert hits > 20, hits
for cls in (A, B):
    found = oa.all(cls)
    assert len(found) == len(found.x.numpy()) == len(set(found._references().tolist()))
    oa.delete(found)
whole()
assert oa.current_heap().stats().objects == 0
oa.delete(oa.new(A, 100_000, x=1))
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_arrays() -> None:
    """Ctrl-C while arrays are made and dropped, in a heap that has room for them but not for what
    is lost."""
    run(
        """
with oa.Heap(capacity="128MiB"):
    whole()
    def work():
        a = oa.zeros(2_000_000, i32)
        a[5] = 3
        b = oa.array(i32, [1, 2, 3])
        c = oa.concat(b, b)
    hits = interrupted_often(work, 150)
    assert hits > 20, hits
    import gc
    gc.collect()
    large = oa.zeros(10_000_000, i32)
    assert not large.numpy().any()
    whole()
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_launches() -> None:
    """Ctrl-C while short kernels are launched."""
    run(
        """
whole()
many = oa.new(A, 1000, x=0)
def work():
    add[1000](many, 1)
    many.get()
hits = interrupted_often(work, 150)
assert hits > 20, hits
oa.synchronize()
# A launch that was interrupted may have run in part, and that was told.
before = many.x.numpy().copy()
assert before.max() - before.min() <= hits, "some threads have not run"
add[1000](many, 1)
assert (many.x.numpy() == before + 1).all()
whole()
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_compilation() -> None:
    """Ctrl-C while kernels are compiled."""
    run(
        """
def make(n):
    @oa.kernel
    def k(out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = n * i
    return k
out = oa.zeros(10, i32)
hits = 0
for n in range(60):
    k = make(n)
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.06))
    try:
        k[10](out)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    k[10](out)
    assert out.numpy().tolist() == [n * i for i in range(10)]
assert hits > 10, hits
whole()
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_dumps() -> None:
    """Ctrl-C while a heap is dumped and loaded."""
    run(
        """
many = oa.new(A, 20_000, x=7)
oa.dump("heap.dump", many=many)
def work():
    oa.dump("heap.dump", many=many)
    with oa.Heap(capacity="128MiB"):
        oa.load("heap.dump")
hits = interrupted_often(work, 60, 0.05)
assert hits > 10, hits
assert os.listdir(".").count("heap.dump") == 1
assert not [name for name in os.listdir(".") if ".part" in name or "tmp" in name], os.listdir(".")
with oa.Heap():
    assert (oa.load("heap.dump")["many"].x.numpy() == 7).all()
whole()
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_views() -> None:
    """Ctrl-C while fields of many objects are written: each object has the old or a new value."""
    run(
        """
many = oa.new(A, 50_000, x=1)
def work():
    many.x = 2
    many[::3].x += 0
    many.next = many
hits = interrupted_often(work, 100, 0.01)
assert hits > 20, hits
assert set(np.unique(many.x.numpy()).tolist()) <= {1, 2}
many.next = None
whole()
print('good')
"""
    )


@case(backends=CPU, limit=90)
def of_captures() -> None:
    """Ctrl-C while steps are recorded and run."""
    run(
        """
many = oa.new(A, 100, x=0)
def work():
    with oa.capture() as step:
        add[100](many, 1)
        add[100](many, 1)
    step.run(3)
hits = interrupted_often(work, 150)
assert hits > 20, hits
values = many.x.numpy().copy()
assert values.max() - values.min() <= hits, "some threads have not run"
with oa.capture() as step:
    add[100](many, 1)
step.run(2)
assert (many.x.numpy() == values + 2).all()
whole()
print('good')
"""
    )


def _endless(threads: int) -> None:
    file = written(
        _HEAD
        + f"""
out = oa.zeros({threads}, i64)
slow[4](out, 1)
print("begun", flush=True)
try:
    endless[{threads}](out)
    oa.synchronize()
except KeyboardInterrupt:
    whole()
    print("good")
"""
    )
    interrupted(start(file), "begun", pause=1.5).well("good")


@case(backends=CPU)
def of_an_endless_loop() -> None:
    """Ctrl-C in a kernel that never ends."""
    _endless(4)


@case(backends=CPU)
def of_an_endless_loop_on_all_cores() -> None:
    """Ctrl-C in a kernel of 100,000 threads that never end."""
    _endless(100_000)


@case(backends=CPU)
def of_an_endless_loop_unhandled() -> None:
    """Ctrl-C in a kernel that never ends, in a program that does not expect it."""
    file = written(_HEAD + 'out = oa.zeros(4, i64)\nprint("begun", flush=True)\nendless[4](out)\n')
    interrupted(start(file), "begun", pause=1.5).by_signal(signal.SIGINT)


@case(backends=CPU)
def of_an_endless_loop_by_termination() -> None:
    """SIGTERM in a kernel that never ends."""
    file = written(_HEAD + 'out = oa.zeros(4, i64)\nprint("begun", flush=True)\nendless[4](out)\n')
    interrupted(start(file), "begun", [signal.SIGTERM], pause=1.5).by_signal(signal.SIGTERM)


@case(backends=CPU)
def of_an_endless_vectorised_call() -> None:
    """Ctrl-C in a vectorised call that never ends."""
    file = written(
        _HEAD
        + """
class Loop(oa.Object):
    n: i64
    def turn(self) -> i64:
        while self.n >= 0:
            self.n = (self.n * 5 + 1) % 1000003
        return self.n
many = oa.new(Loop, 10)
print("begun", flush=True)
try:
    many.turn()
    oa.synchronize()
except KeyboardInterrupt:
    whole()
    print("good")
"""
    )
    interrupted(start(file), "begun", pause=2.0).well("good")


@case(backends=CPU)
def of_an_endless_step() -> None:
    """Ctrl-C while a step is run for ever."""
    file = written(
        _HEAD
        + """
many = oa.new(A, 100)
with oa.capture() as step:
    add[100](many, 1)
step.run(1)
print("begun", flush=True)
try:
    step.run(10**15)
    oa.synchronize()
except KeyboardInterrupt:
    values = many.x.numpy()
    assert values.max() - values.min() <= 1
    whole()
    print("good")
"""
    )
    interrupted(start(file), "begun", pause=1.0).well("good")


@case(backends=CPU)
def of_an_endless_barrier_kernel() -> None:
    """Ctrl-C in a kernel with barriers that never ends."""
    file = written(
        _HEAD
        + """
@oa.kernel
def turning(out: oa.Array[i64]):
    i = oa.grid(1)
    n = i64(0)
    while n >= 0:
        oa.syncthreads()
        n = (n * 5 + 1) % 1000003
        out[i] = n
out = oa.zeros(64, i64)
slow[64](out, 1)
print("begun", flush=True)
try:
    turning[64, 32](out)
    oa.synchronize()
except KeyboardInterrupt:
    whole()
    print("good")
"""
    )
    interrupted(start(file), "begun", pause=1.5).well("good")


@case(backends=CPU)
def of_one_long_launch() -> None:
    """Ctrl-C in a launch that ends by itself: whatever was left out is told or made good."""
    file = written(
        _HEAD
        + """
out = oa.zeros(20_000, i64)
slow[20_000](out, 1)
print("begun", flush=True)
try:
    slow[20_000](out, 2_000_000)  # seconds, as vector code, too
    oa.synchronize()
    print("ended")
except KeyboardInterrupt:
    print("stopped")
whole()
slow[20_000](out, 2)
def one(i):
    for _ in range(2):
        i = (i * 6364136223846793005 + 1442695040888963407) % 2**64
    return i - 2**64 if i >= 2**63 else i
assert out.numpy().tolist() == [one(i) for i in range(20_000)]
print("good")
"""
    )
    interrupted(start(file), "begun", pause=0.5).well("good")


@case(backends=CPU)
def of_the_command_line() -> None:
    """Ctrl-C in ``sharedoa run`` at ten moments: status 130, and a word."""
    for pause in (0.02, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5):
        started = start("-m", "sharedoa", "run", "traffic", "--steps", "1000000")
        try:
            started.wait(pause)
        except Exception:
            pass
        started.send_signal(signal.SIGINT)
        ended = finish(started)
        is_starting = "runpy" in ended.err or "Fatal Python error: init" in ended.err
        if ended.status == -signal.SIGINT or is_starting:  # Python itself
            check("in main" not in ended.err, f"a traceback: {ended.err[-500:]}")
        else:
            ended.refused("interrupted", status=130)


@case(backends=CPU)
def twice() -> None:
    """Ctrl-C, and again before the first has been dealt with."""
    file = written(
        _HEAD
        + """
out = oa.zeros(4, i64)
slow[4](out, 1)
print("begun", flush=True)
count = 0
while count < 2:
    try:
        endless[4](out)
        oa.synchronize()
    except KeyboardInterrupt:
        count += 1
whole()
print("good")
"""
    )
    interrupted(start(file), "begun", [signal.SIGINT] * 2, pause=1.0).well("good")


@case(backends=CPU)
def in_another_thread() -> None:
    """Ctrl-C while a thread that is not the main one runs an endless kernel, and the main thread
    waits for it."""
    file = written(
        _HEAD
        + """
out = oa.zeros(4, i64)
slow[4](out, 1)
heap = oa.current_heap()
def busy():
    with heap:
        endless[4](out)
thread = threading.Thread(target=busy, daemon=True)
thread.start()
print("begun", flush=True)
try:
    thread.join()
except KeyboardInterrupt:
    print("good", flush=True)
    os._exit(0)
"""
    )
    interrupted(start(file), "begun", pause=0.7).well("good")


@case(backends=CPU)
def broken_pipe_of_a_program() -> None:
    """The reader of what a kernel prints goes away: one word, not a traceback a line."""
    file = written(
        """
        import sharedoa as oa
        @oa.kernel
        def talk(n: oa.i32):
            print("line", oa.grid(1))
        for _ in range(20):
            talk[2000](1)
        oa.synchronize()
        """
    )
    started = start(file)
    assert started.stdout is not None
    started.stdout.readline()
    started.stdout.close()
    started.stdout = None
    ended = finish(started)
    if ended.err.count("Traceback") > 1:
        from .verdicts import Unclear

        raise Unclear(f"{ended.err.count('Traceback')} tracebacks: {ended.err[:500]}")


@case(backends=CPU)
def broken_pipe_of_the_command_line() -> None:
    """The reader of ``sharedoa config`` goes away."""
    import os

    reading, writing = os.pipe()
    os.close(reading)
    ended = command("-m", "sharedoa", "config", stdout=writing)
    ended.refused()


@case(backends=CPU)
def ctrl_c_in_a_printing_kernel() -> None:
    """Ctrl-C while a kernel prints without end."""
    file = written(
        """
        import sys
        import sharedoa as oa
        @oa.kernel
        def talk(n: oa.i32):
            print("line", oa.grid(1))
        print("begun", flush=True)
        try:
            while True:
                talk[10](1)
        except KeyboardInterrupt:
            print("stopped by Ctrl-C", flush=True)
        """
    )
    interrupted(start(file), "begun", pause=1.0).well("stopped by Ctrl-C")


@case(backends=CPU)
def ctrl_c_in_a_kernel_that_prints_for_ever() -> None:
    """Ctrl-C while one launch prints without end."""
    file = written(
        """
        import sys
        import sharedoa as oa
        @oa.kernel
        def talk(n: oa.i32):
            while n > 0:
                print("line", n)
        print("begun", flush=True)
        try:
            talk[1](1)
            oa.synchronize()
        except KeyboardInterrupt:
            print("stopped by Ctrl-C", flush=True)
        """
    )
    interrupted(start(file), "begun", pause=1.0).well("stopped by Ctrl-C")


@case(backends=("cuda",))
def waiting_for_a_device() -> None:
    """Ctrl-C while the host waits for a long kernel of a GPU."""
    file = written(
        _HEAD
        + """
out = oa.zeros(4, i64)
slow[4](out, 1)
oa.synchronize()
slow[4](out, 1_500_000_000)
print("begun", flush=True)
began = time.monotonic()
try:
    oa.synchronize()
except KeyboardInterrupt:
    assert time.monotonic() - began < 4
    print("good", flush=True)
    os._exit(0)
"""
    )
    interrupted(start(file), "begun", pause=0.7).well("good")
