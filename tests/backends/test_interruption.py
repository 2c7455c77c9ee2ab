"""Ctrl-C, pipes that break, forks and missing threads while kernels run on the CPU."""

from __future__ import annotations

import pytest

from sharedoa.backends.guard_code import is_supported

from ..modes import rotated
from .programs import SECONDS, interrupt, run, start

pytestmark = pytest.mark.skipif(not is_supported(), reason="kernels are left on Linux with glibc")

_ENDLESS = """
flag, out = oa.zeros(1, i64), oa.zeros({count}, i64)
flag[0] = 1
wait_for[{count}](flag, out)
flag[0] = 0
{before}
try:
    print("ready", flush=True)
    wait_for[{count}](flag, out)
except KeyboardInterrupt as problem:
    print("interrupted", *problem.__notes__)
is_whole(heap)
flag[0] = 1
wait_for[{count}](flag, out)
assert out.numpy().sum() == {count}
"""


@pytest.mark.parametrize(("count", "debug"), rotated([1, 1000], ["0", "1"]))
def test_an_endless_loop(tmp_path, count, debug):
    before = f"heap = oa.Heap(backend='cpu', debug={bool(int(debug))}).__enter__()\n"
    text = before + _ENDLESS.format(count=count, before="")
    status, out, errors = interrupt(tmp_path, text)
    assert status == 0, errors
    assert "interrupted" in out and "some of its threads have not run" in out


def test_an_endless_loop_in_workers(tmp_path):
    text = """
@oa.kernel
def last_waits(flag: oa.Array[i64], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    if i > 100_000:
        while oa.atomic_add(flag, 0, i64(0)) == 0:
            pass
    out[i] = 1
thread_pool.WAKING_SECONDS = -1.0
wait_for = last_waits
""" + _ENDLESS.format(count=300_000, before="")
    status, out, errors = interrupt(tmp_path, text)
    assert status == 0, errors
    assert "interrupted" in out


@pytest.mark.parametrize("debug", ["False", "True"])
def test_an_endless_loop_before_a_barrier(tmp_path, debug):
    text = f"heap = oa.Heap(backend='cpu', debug={debug}).__enter__()\n"
    text += """
@oa.kernel
def wait_together(flag: oa.Array[i64], out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    if i == 3:
        while oa.atomic_add(flag, 0, i64(0)) == 0:
            pass
    oa.syncthreads()
    out[i] = 1
flag, out = oa.zeros(1, i64), oa.zeros(8, i64)
flag[0] = 1
wait_together[8, 8](flag, out)
flag[0] = 0
try:
    print("ready", flush=True)
    wait_together[8, 8](flag, out)
except KeyboardInterrupt as problem:
    print("interrupted", *problem.__notes__)
is_whole(heap)
flag[0] = 1
wait_together[8, 8](flag, out)
assert out.numpy().sum() == 8
"""
    status, out, errors = interrupt(tmp_path, text)
    assert status == 0, errors
    assert "interrupted" in out


def test_a_handler_that_was_set_after_the_kernel_was_loaded(tmp_path):
    """As notebooks do for every cell."""
    before = """
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
    status, out, errors = interrupt(tmp_path, _ENDLESS.format(count=1, before=before))
    assert status == 0, errors
    assert "interrupted" in out


def test_a_handler_that_raises_nothing_loses_no_thread(tmp_path):
    status, out, errors = interrupt(
        tmp_path,
        """
import math
from sharedoa import f64
@oa.kernel
def count_up(out: oa.Array[i64], values: oa.Array[f64]) -> None:
    i = oa.grid(1)
    value = f64(i)
    for n in range(600):
        value = math.sin(value) + n
    values[i] = value
    out[i] += 1

calls = []
signal.signal(signal.SIGINT, lambda *_: calls.append(1))
out, values = oa.zeros(100_000, i64), oa.zeros(100_000, f64)
count_up[100](out, values)
out[:100] = 0
print("ready", flush=True)
begun = time.monotonic()
count_up[100_000](out, values)
assert time.monotonic() - begun > 0.5, "too short to be interrupted"
assert out.numpy().tolist() == [1] * 100_000
print(len(calls))
""",
        times=2,
    )
    assert status == 0, errors
    assert out == "2\n"


def test_printing_is_interrupted(tmp_path):
    status, out, errors = interrupt(
        tmp_path,
        """
@oa.kernel
def chatter(n: i64) -> None:
    i = oa.grid(1)
    while n > 0:
        print("line")

class Quiet:
    def write(self, text): pass
    def flush(self): pass

print("ready", flush=True)
real, sys.stdout = sys.stdout, Quiet()
try:
    chatter[4](1)
except KeyboardInterrupt:
    sys.stdout = real
    print("interrupted")
is_whole(heap)
""",
    )
    assert status == 0 and errors == "", errors
    assert out == "interrupted\n"


def test_a_broken_pipe_is_told_once(tmp_path):
    text = """
@oa.kernel
def chatter(out: oa.Array[i64]) -> None:
    i = oa.grid(1)
    print("a line of which there are many", i)
    out[i] = 1
out = oa.zeros(20_000, i64)
try:
    chatter[20_000](out)
except BrokenPipeError as problem:
    print(type(problem).__name__, int(out.numpy().sum()), file=sys.stderr)
is_whole(heap)
os._exit(0)
"""
    process = start(tmp_path, text)
    process.stdout.close()
    with process.stderr:
        errors = process.stderr.read()
    assert process.wait(SECONDS) == 0, errors
    assert errors == "BrokenPipeError 20000\n"


def test_recursion_that_prints(tmp_path):
    status, out, errors = run(
        tmp_path,
        """
class Talker(oa.Object):
    x: i64
    def talk(self, n: i64) -> i64:
        print("deep", n)
        return self.talk(n + 1) % 7 + self.x
class Quiet:
    def write(self, text): pass
    def flush(self): pass
real, sys.stdout = sys.stdout, Quiet()
found = failure(lambda: oa.new(Talker, 2).talk(1))
sys.stdout = real
print(found)
is_whole(heap)
""",
    )
    assert status == 0, errors
    assert "calls are nested so deep" in out


def test_without_worker_threads_the_caller_runs_all(tmp_path):
    status, out, errors = run(
        tmp_path,
        """
import _thread
thread_pool.WAKING_SECONDS = -1.0
thread_pool.RETRY_SECONDS = 0.0
real, refused = _thread.start_new_thread, []
def refuse(*arguments):
    refused.append(1)
    raise RuntimeError("can't start new thread")
_thread.start_new_thread = refuse
nodes = oa.new(Node, 100_000)
for _ in range(3):
    nodes.add(1)
assert len(refused) >= 3
_thread.start_new_thread = real
nodes.add(1)
assert nodes.x.numpy().tolist() == [4] * 100_000
time.sleep(0.5)
print(len(thread_pool._pool().thread_ids) > 0)
""",
    )
    assert status == 0, errors
    assert out == "True\n"


def test_forks_while_another_thread_launches(tmp_path):
    status, out, errors = run(
        tmp_path,
        """
thread_pool.WAKING_SECONDS = -1.0
class Other(oa.Object):
    x: i64
    def more(self, n: i64) -> None:
        self.x += n
nodes = oa.new(Node, 200_000)
done, begun = threading.Event(), threading.Event()
def keep_launching():
    while not done.is_set():
        nodes.add(1)
        begun.set()
other = threading.Thread(target=keep_launching)
other.start()
begun.wait()
for _ in range(5):
    child = os.fork()
    if child == 0:
        import faulthandler
        faulthandler.dump_traceback_later(20, exit=True)
        own = oa.Heap(backend="cpu")
        with own:
            mine = oa.new(Other, 100_000)
            mine.more(5)
            assert mine.x.numpy().sum() == 500_000
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print('child failed', flush=True)
        os._exit(1)
done.set()
other.join()
is_whole(heap)
""",
    )
    assert status == 0, errors


def test_a_forked_child_is_interrupted_too(tmp_path):
    text = """
flag, out = oa.zeros(1, i64), oa.zeros(1, i64)
flag[0] = 1
wait_for[1](flag, out)
flag[0] = 0
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wait_for[1](flag, out)
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    status, out, errors = run(tmp_path, text)
    assert (status, out) == (0, "7\n"), errors


def test_asking_to_leave_where_nobody_is_in_a_kernel(tmp_path):
    """A launch may have ended, and a section hold the handlers, when the signal comes."""
    status, out, errors = run(
        tmp_path,
        """
import ctypes
from sharedoa.backends.interruption import ask_to_leave
from sharedoa.uninterrupted import uninterrupted
is_whole(heap)
main = threading.get_native_id()
noted = []
for _ in range(3):
    ask_to_leave([main])
    with uninterrupted:
        ask_to_leave([main])
        noted += uninterrupted._arrived
assert not noted
reading, writing = os.pipe()
found = []
def read():
    place = ctypes.create_string_buffer(1)
    found.append(threading.get_native_id())
    found.append(ctypes.CDLL(None, use_errno=True).read(reading, place, 1))
reader = threading.Thread(target=read)
reader.start()
time.sleep(0.3)
ask_to_leave(found)
time.sleep(0.1)
os.write(writing, b"1")
reader.join()
assert found[1] == 1, "a call of the system was broken off"
is_whole(heap)
print("good")
""",
    )
    assert (status, out) == (0, "good\n"), errors


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_program_with_a_handler_of_the_signal_that_cuts(tmp_path, moment):
    text = """
seen = []
def set_handler():
    signal.signal(signal.SIGURG, lambda *_: seen.append(1))
def send():
    os.kill(os.getpid(), signal.SIGURG)
    time.sleep(0.01)
if MOMENT == "before":
    set_handler()
flag, out = oa.zeros(1, i64), oa.zeros(1, i64)
flag[0] = 1
wait_for[1](flag, out)
flag[0] = 0
if MOMENT == "before":
    send()
for _ in range(2):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wait_for[1](flag, out)
    except KeyboardInterrupt:
        pass
    send()
    if MOMENT == "after":
        set_handler()
        send()
is_whole(heap)
print(len(seen))
""".replace("MOMENT", repr(moment))
    status, out, errors = run(tmp_path, text)
    assert (status, out) == (0, "3\n"), errors


def test_a_child_of_a_process_that_was_interrupted(tmp_path):
    text = """
flag, out = oa.zeros(1, i64), oa.zeros(1, i64)
flag[0] = 1
wait_for[1](flag, out)
flag[0] = 0
def endless():
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wait_for[1](flag, out)
    except KeyboardInterrupt:
        return 7
endless()
child = os.fork()
if child == 0:
    os._exit(endless())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    status, out, errors = run(tmp_path, text)
    assert (status, out) == (0, "7\n"), errors


@pytest.mark.parametrize(("debug", "loads"), [(False, False), (True, False), (True, True)])
def test_an_interrupt_that_comes_as_soon_as_a_launch_begins(tmp_path, debug, loads):
    """A section that has just ended had Python's handler in place of ours; ``loads``: that in which
    the launch loads native code."""
    text = f"DEBUG, LOADS = {debug}, {loads}\n"
    text += """
def send(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
heap = oa.Heap(backend="cpu", debug=DEBUG).__enter__()
flag, out = oa.zeros(1, i64), oa.zeros(1, i64)
flag[0] = 1
wait_for[1](flag, out)
oa.new(Node, 5)
flag[0] = 0
if LOADS:
    load = thread_pool._Pool.__init__
    def load_and_send(self, workers):
        load(self, workers)
        send(0.02)
    thread_pool._Pool.__init__ = load_and_send
    thread_pool._pool.cache_clear()
else:
    send(0.02)
begun = time.monotonic()
send(20)
try:
    wait_for[1](flag, out)
except KeyboardInterrupt:
    print(time.monotonic() - begun < 15, flush=True)
os._exit(0)
"""
    status, out, errors = run(tmp_path, text)
    assert (status, out) == (0, "True\n"), errors
