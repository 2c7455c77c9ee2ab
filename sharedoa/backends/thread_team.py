"""Running a kernel with barriers on a CPU: one operating-system thread for each thread of a block.

Blocks run one after another on one team. As on GPUs, a thread that has returned counts as arrived
at every later barrier of its block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from ..errors import BackendError
from .native_code import NativeLibrary, ffi, host_target

#: Team: threads, those of this block that still run, those waiting, barriers passed, blocks done;
#: then a mutex and a condition variable, with room for any platform's.
_CODE = """
%Team = type { i64, i64, i64, i64, i64, [128 x i8], [128 x i8] }
@team = global %Team zeroinitializer, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define void @prepare_team(i64 %size) {
  store %Team zeroinitializer, ptr @team
  store i64 %size, ptr getelementptr (%Team, ptr @team, i32 0, i32 0)
  store i64 %size, ptr getelementptr (%Team, ptr @team, i32 0, i32 1)
  call i32 @pthread_mutex_init(ptr getelementptr (%Team, ptr @team, i32 0, i32 5), ptr null)
  call i32 @pthread_cond_init(ptr getelementptr (%Team, ptr @team, i32 0, i32 6), ptr null)
  ret void
}

; With the mutex held: let the waiting threads go on.
define internal void @release_waiting() {
  store i64 0, ptr getelementptr (%Team, ptr @team, i32 0, i32 2)
  %passed = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 3)
  %more = add i64 %passed, 1
  store i64 %more, ptr getelementptr (%Team, ptr @team, i32 0, i32 3)
  call i32 @pthread_cond_broadcast(ptr getelementptr (%Team, ptr @team, i32 0, i32 6))
  ret void
}

; With the mutex held: wait until the counter is no longer what it was.
define internal void @wait_for_change(ptr %counter) {
  %old = load i64, ptr %counter
  br label %wait
wait:
  call i32 @pthread_cond_wait(ptr getelementptr (%Team, ptr @team, i32 0, i32 6),
                              ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  %now = load i64, ptr %counter
  %same = icmp eq i64 %now, %old
  br i1 %same, label %wait, label %done
done:
  ret void
}

define void @sharedoa_barrier() {
  call i32 @pthread_mutex_lock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  %others = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 2)
  %waiting = add i64 %others, 1
  store i64 %waiting, ptr getelementptr (%Team, ptr @team, i32 0, i32 2)
  %running = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 1)
  %all = icmp eq i64 %waiting, %running
  br i1 %all, label %last, label %early
last:
  call void @release_waiting()
  br label %done
early:
  call void @wait_for_change(ptr getelementptr (%Team, ptr @team, i32 0, i32 3))
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  ret void
}

; This thread is done with its block: it no longer counts, and waits for the rest of the team.
define internal void @leave_block() {
  call i32 @pthread_mutex_lock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  %before = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 1)
  %running = sub i64 %before, 1
  store i64 %running, ptr getelementptr (%Team, ptr @team, i32 0, i32 1)
  %last = icmp eq i64 %running, 0
  br i1 %last, label %next_block, label %rest
next_block:
  %size = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 0)
  store i64 %size, ptr getelementptr (%Team, ptr @team, i32 0, i32 1)
  %blocks = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 4)
  %more = add i64 %blocks, 1
  store i64 %more, ptr getelementptr (%Team, ptr @team, i32 0, i32 4)
  call i32 @pthread_cond_broadcast(ptr getelementptr (%Team, ptr @team, i32 0, i32 6))
  br label %done
rest:
  %waiting = load i64, ptr getelementptr (%Team, ptr @team, i32 0, i32 2)
  %all = icmp eq i64 %waiting, %running
  br i1 %all, label %release, label %wait
release:
  call void @release_waiting()
  br label %wait
wait:
  call void @wait_for_change(ptr getelementptr (%Team, ptr @team, i32 0, i32 4))
  br label %done
done:
  call i32 @pthread_mutex_unlock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  ret void
}

; Thread number %member of the team: its thread of every block in turn.
define void @run_member(ptr %entry, i64 %member, i64 %bx, i64 %by, i64 %nx, i64 %ny, ptr %slots) {
start:
  %tx = urem i64 %member, %bx
  %ty = udiv i64 %member, %bx
  br label %block
block:
  %left = phi i64 [ 0, %start ], [ %next_left, %next ]
  %top = phi i64 [ 0, %start ], [ %next_top, %next ]
  %x = add i64 %left, %tx
  %y = add i64 %top, %ty
  %in_row = icmp ult i64 %x, %nx
  %in_column = icmp ult i64 %y, %ny
  %inside = and i1 %in_row, %in_column
  br i1 %inside, label %run, label %next
run:
  %row = mul i64 %y, %nx
  %linear = add i64 %row, %x
  %after = add i64 %linear, 1
  call void %entry(i64 %linear, i64 %after, i64 %nx, i64 %ny, ptr %slots)
  br label %next
next:
  call void @leave_block()
  %right = add i64 %left, %bx
  %row_ends = icmp uge i64 %right, %nx
  %next_left = select i1 %row_ends, i64 0, i64 %right
  %below = add i64 %top, %by
  %next_top = select i1 %row_ends, i64 %below, i64 %top
  %more = icmp ult i64 %next_top, %ny
  br i1 %more, label %block, label %done
done:
  ret void
}
"""
_EXPORTS = ("prepare_team", "sharedoa_barrier", "run_member")
_MEMBER_TYPE = "void(*)(void *, int64_t, int64_t, int64_t, int64_t, int64_t, void *)"

# The team is one global of the code above: one launch with barriers at a time.
_team_lock = threading.Lock()


@cache
def _library() -> NativeLibrary:
    object_code = host_target().compile(_CODE)["o"]
    assert isinstance(object_code, bytes)
    return NativeLibrary(object_code, _EXPORTS, {})


def barrier_address() -> int:
    """The function that a barrier in a kernel calls."""
    return _library().address("sharedoa_barrier")


def run_team(entry: Any, threads: tuple[int, int], block: tuple[int, int], slots: Any) -> None:
    """Run ``entry`` (see ``targets.host``) for all threads, block by block.

    Raises BackendError if the system does not give so many threads.
    """
    # Threads of a block that lie outside the grid in every block need no team member.
    bx, by = min(block[0], threads[0]), min(block[1], threads[1])
    run_member = _library().function("run_member", _MEMBER_TYPE)
    pointer = ffi.cast("void *", entry)
    with _team_lock:
        _library().function("prepare_team", "void(*)(int64_t)")(bx * by)
        _run_together(lambda number: run_member(pointer, number, bx, by, *threads, slots), bx * by)


def _run_together(run_member: Callable[[int], None], count: int) -> None:
    """Call ``run_member`` with 0 to count - 1, all at the same time, or none of them."""
    ready, complete = threading.Event(), False

    def member(number: int) -> None:
        ready.wait()
        if complete:
            run_member(number)

    members = [threading.Thread(target=member, args=(number,)) for number in range(count)]
    started = []
    try:
        for thread in members:
            thread.start()
            started.append(thread)
        complete = True
    except RuntimeError as problem:
        raise BackendError(
            f"no {count} threads for a block with barriers: {problem}",
            "launch with a smaller block: kernel[threads, block](...)",
        ) from problem
    finally:
        ready.set()
        for thread in started:
            thread.join()
