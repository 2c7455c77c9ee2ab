"""Running independent threads of a launch on all cores, if that pays.

A launch begins on the calling core alone, with pieces that grow while a piece is too short to say
much of the rest. From the first that can be believed on, the other cores are woken as soon as they
would save more time than waking them takes, at the cost a thread of the piece before; else the
caller goes on alone. So few or short threads never wake anybody, in whatever kernel, and what a
wrong guess costs is bounded by the next piece.
"""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable
from time import monotonic, perf_counter

from ..cores import worker_count
from ..forks import call_in_child
from ..once import once
from ..uninterrupted import uninterrupted
from .guard_code import LAUNCHES
from .interpreter_function import exported_function, interpreter_addresses
from .interruption import keep_interrupts, settle
from .launch_guard import launch_guard
from .native_code import NativeLibrary, assembled

#: From the caller's signal until another core works for it, and until the caller knows that it is
#: done. Measured (docs/performance/cpu.md).
WAKING_SECONDS = 40e-6
#: A piece that took less says more about the call than about its threads. The first thread, which
#: may come upon code and memory that no cache holds, is believed from WAKING_SECONDS on.
BELIEVED_SECONDS = 5e-6
#: How much larger the next piece is at most, and how long it may take by the piece before: as long
#: as what makes waking a second core worth it.
GROWTH, PIECE_SECONDS = 64, 2 * WAKING_SECONDS
_SHORT_SECONDS = PIECE_SECONDS / GROWTH
#: How long a core works on a chunk before it takes another: shorter, and neighbouring chunks on
#: different cores get into each other's way.
CHUNK_NANOSECONDS = 200_000
#: No chunk is more than this part of a core's share of what is left.
PARTS = 2
#: Threads of the first chunk of what one core runs alone, where it is not known how long they take.
FIRST_ALONE = 256
#: After the system has refused a thread.
RETRY_SECONDS = 1.0

_MONOTONIC = 0
if sys.platform != "win32":  # which has no threads of POSIX
    _MONOTONIC = time.CLOCK_MONOTONIC

#: A job; then how many workers may still join the pool's, and how many are at it. ``next`` is the
#: thread that the next chunk begins with, in a cache line of its own. A mutex and two condition
#: variables have room for any platform's. ``%Thread`` is that of ``guard_code``.
_CODE = (
    LAUNCHES
    + """
%Job = type { ptr, i64, i64, i64, i64, ptr, i64, ptr, [16 x i64], i64, [16 x i64] }
%Thread = type { ptr, i32, i32, i64, ptr, i64, i32, i32, i32, i32, i64, i64, i64, i64 }
@job = internal global %Job zeroinitializer, align 128
@parts = internal global i64 0
@span = internal global i64 0
@clock = internal global i32 0
@places = internal global i64 0
@active = internal global i64 0
@mutex = internal global [128 x i8] zeroinitializer, align 64
@work = internal global [128 x i8] zeroinitializer, align 64
@idle = internal global [128 x i8] zeroinitializer, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare ptr @this_thread()
declare void @begin_launch(ptr)
declare i32 @call_guarded(ptr, ptr, ptr, i64, i64, i64, i64, ptr)

define void @prepare_pool(i32 %clock, i64 %span, i64 %parts) {
  store i32 %clock, ptr @clock
  store i64 %span, ptr @span
  store i64 %parts, ptr @parts
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @work, ptr null)
  call i32 @pthread_cond_init(ptr @idle, ptr null)
  ret void
}

define internal i64 @nanoseconds() {
  %time = alloca { i64, i64 }
  %clock = load i32, ptr @clock
  call i32 @clock_gettime(i32 %clock, ptr %time)
  %whole = load i64, ptr %time
  %place = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %place
  %product = mul i64 %whole, 1000000000
  %sum = add i64 %product, %rest
  ret i64 %sum
}

define internal void @describe(ptr %job, ptr %owner, ptr %launch, i64 %first, i64 %chunk,
                               i64 %parts) {
  %code = load ptr, ptr %launch
  %given_nx = getelementptr %Launch, ptr %launch, i32 0, i32 1
  %nx = load i64, ptr %given_nx
  %given_ny = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %ny = load i64, ptr %given_ny
  %given_slots = getelementptr %Launch, ptr %launch, i32 0, i32 3
  %slots = load ptr, ptr %given_slots
  %total = mul i64 %nx, %ny
  store ptr %code, ptr %job
  %chunk_place = getelementptr %Job, ptr %job, i32 0, i32 1
  store i64 %chunk, ptr %chunk_place
  %total_place = getelementptr %Job, ptr %job, i32 0, i32 2
  store i64 %total, ptr %total_place
  %nx_place = getelementptr %Job, ptr %job, i32 0, i32 3
  store i64 %nx, ptr %nx_place
  %ny_place = getelementptr %Job, ptr %job, i32 0, i32 4
  store i64 %ny, ptr %ny_place
  %slots_place = getelementptr %Job, ptr %job, i32 0, i32 5
  store ptr %slots, ptr %slots_place
  %parts_place = getelementptr %Job, ptr %job, i32 0, i32 6
  store i64 %parts, ptr %parts_place
  %owner_place = getelementptr %Job, ptr %job, i32 0, i32 7
  store ptr %owner, ptr %owner_place
  %next_place = getelementptr %Job, ptr %job, i32 0, i32 9
  store i64 %first, ptr %next_place
  ret void
}

; Take chunks of the job until none is left, or its owner is to stop. Each is to last as long as
; @span says, by the one before, but no longer than a fair part of what is left.
define internal void @run_chunks(ptr %job) {
start:
  %own = call ptr @this_thread()
  %code = load ptr, ptr %job
  %chunk_place = getelementptr %Job, ptr %job, i32 0, i32 1
  %first_chunk = load i64, ptr %chunk_place
  %total_place = getelementptr %Job, ptr %job, i32 0, i32 2
  %total = load i64, ptr %total_place
  %nx_place = getelementptr %Job, ptr %job, i32 0, i32 3
  %nx = load i64, ptr %nx_place
  %ny_place = getelementptr %Job, ptr %job, i32 0, i32 4
  %ny = load i64, ptr %ny_place
  %slots_place = getelementptr %Job, ptr %job, i32 0, i32 5
  %slots = load ptr, ptr %slots_place
  %parts_place = getelementptr %Job, ptr %job, i32 0, i32 6
  %parts = load i64, ptr %parts_place
  %owner_place = getelementptr %Job, ptr %job, i32 0, i32 7
  %owner = load ptr, ptr %owner_place
  %stop_place = getelementptr %Thread, ptr %owner, i32 0, i32 1
  %next_place = getelementptr %Job, ptr %job, i32 0, i32 9
  %span = load i64, ptr @span
  %first_time = call i64 @nanoseconds()
  br label %look
look:
  %wanted = phi i64 [ %first_chunk, %start ], [ %next_chunk, %run ]
  %time = phi i64 [ %first_time, %start ], [ %now, %run ]
  %stop = load volatile i32, ptr %stop_place
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %done, label %take
take:
  %taken = load atomic i64, ptr %next_place monotonic, align 8
  %left = sub i64 %total, %taken
  %fair = sdiv i64 %left, %parts
  %most = call i64 @llvm.smin.i64(i64 %wanted, i64 %fair)
  %chunk = call i64 @llvm.smax.i64(i64 %most, i64 1)
  %begin = atomicrmw add ptr %next_place, i64 %chunk monotonic
  %some = icmp slt i64 %begin, %total
  br i1 %some, label %run, label %done
run:
  %after = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %total)
  call i32 @call_guarded(ptr %own, ptr %owner, ptr %code, i64 %begin, i64 %end,
                         i64 %nx, i64 %ny, ptr %slots)
  %now = call i64 @nanoseconds()
  %measured = sub i64 %now, %time
  %spent = call i64 @llvm.smax.i64(i64 %measured, i64 1)
  %scaled = mul i64 %chunk, %span
  %suited = sdiv i64 %scaled, %spent
  %limit = mul i64 %chunk, 8
  %next_chunk = call i64 @llvm.smin.i64(i64 %suited, i64 %limit)
  br label %look
done:
  ret void
}

; For Python, which gets its lock back: the thread that the job has come to, of those before which
; all were run, or left; less than zero if its owner is to stop.
define internal ptr @answer(ptr %job, ptr %own, ptr %state) {
  %next_place = getelementptr %Job, ptr %job, i32 0, i32 9
  %next = load i64, ptr %next_place
  %total_place = getelementptr %Job, ptr %job, i32 0, i32 2
  %total = load i64, ptr %total_place
  %reached = call i64 @llvm.smin.i64(i64 %next, i64 %total)
  %stop_place = getelementptr %Thread, ptr %own, i32 0, i32 1
  %stop = load volatile i32, ptr %stop_place
  %stopped = icmp ne i32 %stop, 0
  %marked = xor i64 %reached, -1
  %told = select i1 %stopped, i64 %marked, i64 %reached
  call void @PyEval_RestoreThread(ptr %state)
  %result = call ptr @PyLong_FromLong(i64 %told)
  ret ptr %result
}

; A worker: join one job after the other, for ever.
define void @serve() {
start:
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:
  %places = load i64, ptr @places
  %none = icmp eq i64 %places, 0
  br i1 %none, label %sleep, label %join
sleep:
  call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  br label %look
join:
  %fewer = sub i64 %places, 1
  store i64 %fewer, ptr @places
  %others = load i64, ptr @active
  %more = add i64 %others, 1
  store i64 %more, ptr @active
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @run_chunks(ptr @job)
  call i32 @pthread_mutex_lock(ptr @mutex)
  %with_me = load i64, ptr @active
  %without_me = sub i64 %with_me, 1
  store i64 %without_me, ptr @active
  %last = icmp eq i64 %without_me, 0
  br i1 %last, label %tell, label %look
tell:
  call i32 @pthread_cond_signal(ptr @idle)
  br label %look
}

; ``share(launch, first, chunk, workers)``, the caller: offer a job to so many workers and take part
; in it. A worker that has not woken when nothing is left is not waited for.
define ptr @share(ptr %self, ptr %arguments, i64 %count) {
start:
  %launch = call ptr @described(ptr %arguments, i64 0)
  %first = call i64 @number(ptr %arguments, i64 1)
  %chunk = call i64 @number(ptr %arguments, i64 2)
  %workers = call i64 @number(ptr %arguments, i64 3)
  %state = call ptr @PyEval_SaveThread()
  %own = call ptr @this_thread()
  %busy_place = getelementptr %Thread, ptr %own, i32 0, i32 6
  store volatile i32 1, ptr %busy_place
  %parts = load i64, ptr @parts
  call i32 @pthread_mutex_lock(ptr @mutex)
  call void @describe(ptr @job, ptr %own, ptr %launch, i64 %first, i64 %chunk, i64 %parts)
  store i64 %workers, ptr @places
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %wake
wake:
  %woken = phi i64 [ 0, %start ], [ %one_more, %wake ]
  call i32 @pthread_cond_signal(ptr @work)
  %one_more = add i64 %woken, 1
  %again = icmp slt i64 %one_more, %workers
  br i1 %again, label %wake, label %run
run:
  call void @run_chunks(ptr @job)
  call i32 @pthread_mutex_lock(ptr @mutex)
  store i64 0, ptr @places
  br label %look
look:
  %active = load i64, ptr @active
  %all_done = icmp eq i64 %active, 0
  br i1 %all_done, label %done, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @idle, ptr @mutex)
  br label %look
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  store volatile i32 0, ptr %busy_place
  %result = call ptr @answer(ptr @job, ptr %own, ptr %state)
  ret ptr %result
}

; ``run_alone(launch, first, chunk)``: the same on the calling thread alone, in the order of
; threads.
define ptr @run_alone(ptr %self, ptr %arguments, i64 %count) {
  %launch = call ptr @described(ptr %arguments, i64 0)
  %first = call i64 @number(ptr %arguments, i64 1)
  %chunk = call i64 @number(ptr %arguments, i64 2)
  %state = call ptr @PyEval_SaveThread()
  %job = alloca %Job, align 128
  %own = call ptr @this_thread()
  call void @begin_launch(ptr %own)
  call void @describe(ptr %job, ptr %own, ptr %launch, i64 %first, i64 %chunk, i64 1)
  %busy_place = getelementptr %Thread, ptr %own, i32 0, i32 6
  store volatile i32 1, ptr %busy_place
  call void @run_chunks(ptr %job)
  store volatile i32 0, ptr %busy_place
  %result = call ptr @answer(ptr %job, ptr %own, ptr %state)
  ret ptr %result
}
"""
)
_EXPORTS = ("prepare_pool", "serve", "share", "run_alone")
_IMPORTS = ("this_thread", "begin_launch", "call_guarded")


class _Pool:
    """Threads that sleep in native code, without the interpreter's lock, until there is a job."""

    def __init__(self, workers: int) -> None:
        guard = launch_guard()
        imports = {name: guard.address(name) for name in _IMPORTS} | interpreter_addresses()
        library = NativeLibrary(assembled(_CODE, "thread pool"), _EXPORTS, imports)
        prepare = library.function("prepare_pool", "void(*)(int, int64_t, int64_t)")
        prepare(_MONOTONIC, CHUNK_NANOSECONDS, PARTS * (workers + 1))
        self.share = exported_function(library, "share")
        self.run_alone = exported_function(library, "run_alone")
        #: One job at a time: a launch of another Python thread meanwhile runs on that one alone.
        self.lock = threading.Lock()
        #: Of the workers that have begun, by the system's numbers.
        self.thread_ids: list[int] = []
        self._library = library
        self._serve = library.function("serve", "void(*)(void)")
        self._wanted, self._started, self._try_again = workers, 0, 0.0

    def workers(self) -> int:
        """How many there are, started first if need be; the caller holds the lock. Where the system
        gives no more threads there are fewer, and it is asked again later."""
        while self._started < self._wanted and monotonic() >= self._try_again:
            try:
                # The frame of a thread keeps its code for as long as the process lives.
                _thread.start_new_thread(self._work, ())
            except RuntimeError:
                self._try_again = monotonic() + RETRY_SECONDS
                break
            self._started += 1
        return self._started

    def _work(self) -> None:
        self.thread_ids.append(threading.get_native_id())
        self._serve()


@once
def _pool() -> _Pool:
    return _Pool(worker_count() - 1)


def worker_ids() -> list[int]:
    """The system's numbers of the pool's threads."""
    return _pool().thread_ids if _pool.is_made else []


# A child process has none of the threads, and nobody who would give back what they had locked.
call_in_child(_pool.cache_clear)


def parallel(
    launch: bytes, total: int, look_after: Callable[[BaseException], None]
) -> Callable[[], None]:
    """What runs the ``total`` threads of a launch (``launch_guard.described``), and returns when
    all are done. One function, as a call of another one would take a twentieth of all that a short
    launch takes.

    ``look_after`` gets a KernelFault, or what a handler of signals raises, when nothing runs any
    more.
    """
    run, workers = launch_guard().run, worker_count()
    if workers == 1:
        return _on_one_core(launch, total, look_after)
    # What the caller alone must have to do so that the others save more than to wake them takes.
    worth = WAKING_SECONDS / (1 - 1 / workers)

    def start() -> None:
        try:
            done, piece = 0, 1
            if uninterrupted.has_set_handlers:
                keep_interrupts()
            begun = 0.0 if total == 1 else perf_counter()
            while True:
                end = done + piece if done + piece < total else total
                if run(launch, done, end):
                    settle()
                    continue
                if end == total:
                    return
                now = perf_counter()
                spent, begun = now - begun, now
                if spent <= _SHORT_SECONDS:  # what comes below comes to this
                    done, piece = end, piece * GROWTH
                    continue
                cost = spent / (end - done)
                done, piece = end, max(1, min(piece * GROWTH, int(PIECE_SECONDS / cost)))
                is_believed = spent > (BELIEVED_SECONDS if end > 1 else WAKING_SECONDS)
                if is_believed and cost * (total - done) > worth:
                    break
            _share(launch, done, piece, total)
        except BaseException as problem:
            look_after(problem)

    return start


def _on_one_core(
    launch: bytes, total: int, look_after: Callable[[BaseException], None]
) -> Callable[[], None]:
    """``parallel`` where nobody could help: as many threads as need not be interrupted, then the
    rest. By the launch before, if it was longer than a piece may be, so many take as long as one;
    else these are all."""
    run, first = launch_guard().run, min(total, FIRST_ALONE)

    def start() -> None:
        nonlocal first
        piece = first
        try:
            if uninterrupted.has_set_handlers:
                keep_interrupts()
            begun = 0.0 if total <= FIRST_ALONE else perf_counter()
            while run(launch, 0, piece):
                settle()
            if piece < total:
                run_alone(launch, piece, total, piece)
            if total > FIRST_ALONE:
                spent = perf_counter() - begun
                fit = total if spent < PIECE_SECONDS else int(total * PIECE_SECONDS / spent)
                first = max(fit, FIRST_ALONE)
        except BaseException as problem:
            look_after(problem)

    return start


def run_alone(launch: bytes, first: int, total: int, chunk: int = FIRST_ALONE) -> None:
    """Run the threads from ``first`` on, one after another on the calling thread, which can be
    interrupted after ``chunk``."""
    run = _pool().run_alone
    if uninterrupted.has_set_handlers:
        keep_interrupts()
    while first < total:
        first = _reached(run(launch, first, chunk))


def _share(launch: bytes, first: int, chunk: int, total: int) -> None:
    pool = _pool()
    if not pool.lock.acquire(blocking=False):
        run_alone(launch, first, total)
        return
    try:
        helpers = min(pool.workers(), -(-(total - first) // chunk) - 1)
        if uninterrupted.has_set_handlers:
            keep_interrupts()
        while helpers > 0 and first < total:
            first = _reached(pool.share(launch, first, chunk, helpers))
    finally:
        pool.lock.release()
    run_alone(launch, first, total)


def _reached(answer: int) -> int:
    """The thread that native code has come to, when what stopped it is settled."""
    if answer < 0:
        settle()
        return ~answer
    return answer
