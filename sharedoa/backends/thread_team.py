"""Running a kernel with barriers on a CPU: one operating-system thread for each thread of a block.

Blocks run one after another on one team. As on GPUs, a thread that has returned counts as arrived
at every later barrier of its block. In debug mode one thread runs at a time, up to a barrier.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from ..errors import BackendError
from ..forks import call_in_child
from ..once import once
from .guard_code import short_serial
from .interruption import ask_to_leave, settle
from .launch_guard import launch_guard
from .native_code import NativeLibrary, assembled
from .together import run_together

#: Team: threads, those of this block that still run, those waiting, barriers passed, blocks done;
#: then a mutex and a condition variable, with room for any platform's. Whoever finds the team
#: cancelled leaves its kernel, as some threads will come to no barrier any more.
_CODE = """
%Team = type { i64, i64, i64, i64, i64, [128 x i8], [128 x i8] }
@cancelled = internal global i32 0
@one_by_one = internal global i64 0
@turn = internal global [128 x i8] zeroinitializer, align 64
@team = global %Team zeroinitializer, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare ptr @this_thread()
declare ptr @suspend()
declare void @resume(ptr)
declare void @leave(i32)
declare i32 @call_guarded(ptr, ptr, ptr, i64, i64, i64, i64, ptr)

define void @prepare_team(i64 %size, i64 %one_by_one) {
  store i32 0, ptr @cancelled
  store i64 %one_by_one, ptr @one_by_one
  call i32 @pthread_mutex_init(ptr @turn, ptr null)
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

define void @cancel_team() {
  call i32 @pthread_mutex_lock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  store i32 1, ptr @cancelled
  call i32 @pthread_cond_broadcast(ptr getelementptr (%Team, ptr @team, i32 0, i32 6))
  call i32 @pthread_mutex_unlock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  ret void
}

; With the mutex held: wait until the counter is no longer what it was, or the team is cancelled.
define internal void @wait_for_change(ptr %counter) {
  %old = load i64, ptr %counter
  br label %look
look:
  %cancelled = load i32, ptr @cancelled
  %ends = icmp ne i32 %cancelled, 0
  br i1 %ends, label %done, label %wait
wait:
  call i32 @pthread_cond_wait(ptr getelementptr (%Team, ptr @team, i32 0, i32 6),
                              ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  %now = load i64, ptr %counter
  %same = icmp eq i64 %now, %old
  br i1 %same, label %look, label %done
done:
  ret void
}

; Run alone from here on, if threads run one by one.
define internal void @take_turn() {
  %serial = load i64, ptr @one_by_one
  %is_serial = icmp ne i64 %serial, 0
  br i1 %is_serial, label %take, label %done
take:
  call i32 @pthread_mutex_lock(ptr @turn)
  br label %done
done:
  ret void
}

define internal void @end_turn() {
  %serial = load i64, ptr @one_by_one
  %is_serial = icmp ne i64 %serial, 0
  br i1 %is_serial, label %end, label %done
end:
  call i32 @pthread_mutex_unlock(ptr @turn)
  br label %done
done:
  ret void
}

define void @sharedoa_barrier() {
  %frame = call ptr @suspend()
  call void @end_turn()
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
  %cancelled = load i32, ptr @cancelled
  call i32 @pthread_mutex_unlock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  call void @take_turn()
  call void @resume(ptr %frame)
  %ends = icmp ne i32 %cancelled, 0
  br i1 %ends, label %leave, label %go_on
leave:
  call void @leave(i32 3)
  br label %go_on
go_on:
  ret void
}

; This thread is done with its block: it no longer counts, and waits for the rest of the team. The
; result is whether that was cancelled.
define internal i1 @leave_block() {
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
  %cancelled = load i32, ptr @cancelled
  call i32 @pthread_mutex_unlock(ptr getelementptr (%Team, ptr @team, i32 0, i32 5))
  %ends = icmp ne i32 %cancelled, 0
  ret i1 %ends
}

; Thread number %member of the team: its thread of every block in turn, of a launch of %owner's.
define void @run_member(ptr %owner, ptr %code, i64 %member, i64 %bx, i64 %by,
                        i64 %nx, i64 %ny, ptr %slots) {
start:
  %own = call ptr @this_thread()
  %tx = urem i64 %member, %bx
  %ty = udiv i64 %member, %bx
  br label %block
block:
  %left = phi i64 [ 0, %start ], [ %next_left, %following ]
  %top = phi i64 [ 0, %start ], [ %next_top, %following ]
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
  call void @take_turn()
  %status = call i32 @call_guarded(ptr %own, ptr %owner, ptr %code, i64 %linear, i64 %after,
                                   i64 %nx, i64 %ny, ptr %slots)
  call void @end_turn()
  %returned = icmp eq i32 %status, 0
  br i1 %returned, label %next, label %cancel
cancel:
  call void @cancel_team()
  br label %done
next:
  %cancelled = call i1 @leave_block()
  br i1 %cancelled, label %done, label %following
following:
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
_EXPORTS = ("prepare_team", "cancel_team", "sharedoa_barrier", "run_member")
_IMPORTS = ("this_thread", "suspend", "resume", "leave", "call_guarded")
_MEMBER_TYPE = "void(*)(Thread *, Code *, int64_t, int64_t, int64_t, int64_t, int64_t, void *)"
_CANCEL_SECONDS = 0.01


# The team is one global of the code above: one launch with barriers at a time.
_team_lock = threading.Lock()


@once
def _library() -> NativeLibrary:
    guard = launch_guard()
    imports = {name: guard.address(name) for name in _IMPORTS}
    return NativeLibrary(assembled(_CODE, "thread team"), _EXPORTS, imports)


def _forget() -> None:
    """A child process has no team, and its own mutex."""
    global _team_lock
    _team_lock = threading.Lock()


call_in_child(_forget)


def barrier_address() -> int:
    """The function that a barrier in a kernel calls."""
    return _library().address("sharedoa_barrier")


def run_team(
    code: Any, threads: tuple[int, int], block: tuple[int, int], slots: Any, one_by_one: bool
) -> None:
    """Run ``code`` (``guard_code.Code``) for all threads, block by block; ``one_by_one``: each
    alone up to its next barrier.

    Raises BackendError if the system does not give so many threads, or amid another team of this
    thread, and what ``run_alone`` does.
    """
    if _is_amid_another():
        raise BackendError(
            "a kernel with barriers is launched amid another one of the same thread, as by a "
            "handler of signals",
            "let the handler note that it was called, and launch when the other one has ended",
        )
    # Threads of a block that lie outside the grid in every block need no team member.
    bx, by = min(block[0], threads[0]), min(block[1], threads[1])
    run_member = _library().function("run_member", _MEMBER_TYPE)
    owner = launch_guard().this_thread()
    with _team_lock:
        _library().function("prepare_team", "void(*)(int64_t, int64_t)")(bx * by, one_by_one)
        run_together(
            lambda number: run_member(owner, code, number, bx, by, *threads, slots),
            bx * by,
            lambda members: _cancel(owner, members),
        )
    if owner.stop:
        settle()


def _is_amid_another() -> bool:
    """Whether who launches a team does so on top of one that waits for its end, which would never
    come: what handlers of signals and the ends of objects do comes anywhere."""
    frame = sys._getframe(1).f_back
    while frame is not None and frame.f_code is not run_team.__code__:
        frame = frame.f_back
    return frame is not None


def _cancel(owner: Any, members: list[threading.Thread]) -> None:
    """Let members that run leave their kernel."""
    guard = launch_guard()
    if not guard.handles_faults:
        return
    _library().function("cancel_team", "void(*)(void)")()
    owner.serial += 1
    owner.leaving = short_serial(owner.serial)
    while running := [each.native_id for each in members if each.is_alive() and each.native_id]:
        ask_to_leave(running)
        time.sleep(_CANCEL_SECONDS)
    owner.leaving = owner.stop = owner.cut = 0
    guard.take_fault(owner)
