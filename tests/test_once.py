"""What there is one of is made once, whichever threads ask first."""

from __future__ import annotations

import os
import threading
import time

import pytest

from sharedoa.once import once

from .backends.programs import run


def test_threads_get_the_same() -> None:
    calls: list[int] = []

    @once
    def made() -> object:
        calls.append(1)
        time.sleep(0.1)
        return object()

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(made())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 8 and len(set(map(id, found))) == 1
    assert made.is_made and made() is found[0] and made.__name__ == "made"
    made.cache_clear()
    assert not made.is_made and made() is not found[0]


def test_errors_are_not_kept() -> None:
    answers = iter([ValueError("not yet"), None])

    @once
    def made() -> int:
        problem = next(answers)
        if problem is not None:
            raise problem
        return 5

    with pytest.raises(ValueError, match="not yet"):
        made()
    assert not made.is_made and made() == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_while_it_is_made() -> None:
    begun, goes_on = threading.Event(), threading.Event()

    @once
    def made() -> int:
        begun.set()
        goes_on.wait(30)
        return os.getpid()

    thread = threading.Thread(target=made)
    thread.start()
    begun.wait(30)
    child = os.fork()
    if child == 0:
        goes_on.set()
        os._exit(0 if made() == os.getpid() else 1)
    goes_on.set()
    thread.join(30)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("debug", [False, True])
def test_threads_that_launch_first(tmp_path, debug):
    """All at once, with and without barriers."""
    status, out, errors = run(
        tmp_path,
        f"""
sys.setswitchinterval(1e-6)
heap = oa.Heap(backend="cpu", debug={debug}).__enter__()
out = oa.zeros(8, i64)
@oa.kernel
def together(out: oa.Array[i64], n: i64) -> None:
    i = oa.grid(1)
    if i == n:
        oa.syncthreads()
        out[i] += 1
@oa.kernel
def alone(out: oa.Array[i64], n: i64) -> None:
    if oa.grid(1) == n:
        out[n] += 1
ready = threading.Barrier(8)
def work(n):
    with heap:
        ready.wait()
        for _ in range(20):
            alone[8](out, n)
            together[8, 8](out, n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(out.numpy().tolist())
""",
    )
    assert (status, out) == (0, f"{[40] * 8}\n"), errors
