"""Running independent threads of a launch on all cores, if that pays.

A launch begins on the calling core alone, with pieces that grow while a piece is too short to say
much of the rest. From the first that can be believed on, the other cores are woken as soon as they
would save more time than waking them takes, at the cost a thread of the piece before; else the
caller goes on alone. So few or short threads never wake anybody, in whatever kernel, and what a
wrong guess costs is bounded by the next piece.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from time import CLOCK_MONOTONIC, perf_counter
from typing import Any

from .native_code import NativeLibrary, ffi, host_target

#: From the caller's signal until another core works for it, and until the caller knows that it is
#: done. Measured (docs/performance.md).
WAKING_SECONDS = 40e-6
#: A piece that took less says more about the call than about its threads. The first thread, which
#: may come upon code and memory that no cache holds, is believed from WAKING_SECONDS on.
BELIEVED_SECONDS = 5e-6
#: How much larger the next piece is at most, and how long it may take by the piece before: as long
#: as what makes waking a second core worth it.
GROWTH, PIECE_SECONDS = 64, 2 * WAKING_SECONDS
#: How long a core works on a chunk before it takes another: shorter, and neighbouring chunks on
#: different cores get into each other's way.
CHUNK_NANOSECONDS = 200_000
#: No chunk is more than this part of a core's share of what is left.
PARTS = 2

#: The job; then how many workers may still join it, and how many are at it. ``next`` is the thread
#: that the next chunk begins with, in a cache line of its own. A mutex and two condition variables
#: have room for any platform's.
_CODE = """
@entry = internal global ptr null
@chunk = internal global i64 0
@total = internal global i64 0
@nx = internal global i64 0
@ny = internal global i64 0
@slots = internal global ptr null
@parts = internal global i64 0
@span = internal global i64 0
@clock = internal global i32 0
@places = internal global i64 0
@active = internal global i64 0
@next = internal global [16 x i64] zeroinitializer, align 128
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

; Take chunks of the job until none is left. Each is to last as long as @span says, by the one
; before, but no longer than a fair part of what is left.
define internal void @run_chunks() {
start:
  %entry = load ptr, ptr @entry
  %first_chunk = load i64, ptr @chunk
  %total = load i64, ptr @total
  %nx = load i64, ptr @nx
  %ny = load i64, ptr @ny
  %slots = load ptr, ptr @slots
  %parts = load i64, ptr @parts
  %span = load i64, ptr @span
  %first_time = call i64 @nanoseconds()
  br label %take
take:
  %wanted = phi i64 [ %first_chunk, %start ], [ %next_chunk, %run ]
  %time = phi i64 [ %first_time, %start ], [ %now, %run ]
  %taken = load atomic i64, ptr @next monotonic, align 8
  %left = sub i64 %total, %taken
  %fair = sdiv i64 %left, %parts
  %most = call i64 @llvm.smin.i64(i64 %wanted, i64 %fair)
  %chunk = call i64 @llvm.smax.i64(i64 %most, i64 1)
  %begin = atomicrmw add ptr @next, i64 %chunk monotonic
  %some = icmp slt i64 %begin, %total
  br i1 %some, label %run, label %done
run:
  %after = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %total)
  call void %entry(i64 %begin, i64 %end, i64 %nx, i64 %ny, ptr %slots)
  %now = call i64 @nanoseconds()
  %measured = sub i64 %now, %time
  %spent = call i64 @llvm.smax.i64(i64 %measured, i64 1)
  %scaled = mul i64 %chunk, %span
  %suited = sdiv i64 %scaled, %spent
  %limit = mul i64 %chunk, 8
  %next_chunk = call i64 @llvm.smin.i64(i64 %suited, i64 %limit)
  br label %take
done:
  ret void
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
  call void @run_chunks()
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

; The caller: offer a job to so many workers and take part in it. A worker that has not woken when
; nothing is left is not waited for.
define void @share(i64 %workers, ptr %entry, i64 %first, i64 %chunk, i64 %total,
                   i64 %nx, i64 %ny, ptr %slots) {
start:
  call i32 @pthread_mutex_lock(ptr @mutex)
  store ptr %entry, ptr @entry
  store i64 %chunk, ptr @chunk
  store i64 %total, ptr @total
  store i64 %nx, ptr @nx
  store i64 %ny, ptr @ny
  store ptr %slots, ptr @slots
  store i64 %first, ptr @next
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
  call void @run_chunks()
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
  ret void
}
"""
_EXPORTS = ("prepare_pool", "serve", "share")
_SHARE_TYPE = "void(*)(int64_t, void *, int64_t, int64_t, int64_t, int64_t, int64_t, void *)"


@cache
def worker_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """Threads that sleep in native code, without the interpreter's lock, until there is a job."""

    def __init__(self, workers: int) -> None:
        object_code = host_target().compile(_CODE)["o"]
        assert isinstance(object_code, bytes)
        library = NativeLibrary(object_code, _EXPORTS, {})
        prepare = library.function("prepare_pool", "void(*)(int, int64_t, int64_t)")
        prepare(CLOCK_MONOTONIC, CHUNK_NANOSECONDS, PARTS * (workers + 1))
        self.share = library.function("share", _SHARE_TYPE)
        #: One job at a time: a launch of another Python thread meanwhile runs on that one alone.
        self.lock = threading.Lock()
        serve = library.function("serve", "void(*)(void)")

        def work(_: NativeLibrary) -> None:
            serve()

        for _ in range(workers):
            # The frame of a thread keeps its code for as long as the process lives.
            threading.Thread(target=work, args=(library,), name="sharedoa", daemon=True).start()


@cache
def _pool() -> _Pool:
    return _Pool(worker_count() - 1)


# A child process has none of the threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


def run_parallel(entry: Any, nx: int, ny: int, slots: Any) -> None:
    """Run ``entry`` (see ``targets.host``) for all nx * ny threads; returns when all are done."""
    total, workers = nx * ny, worker_count()
    if workers == 1:
        entry(0, total, nx, ny, slots)
        return
    done, piece = 0, 1
    begun = perf_counter()
    while True:
        end = min(total, done + piece)
        entry(done, end, nx, ny, slots)
        if end == total:
            return
        now = perf_counter()
        spent, begun = now - begun, now
        # Clocks may stand still for a piece.
        cost = max(spent, 1e-9) / (end - done)
        done, piece = end, max(1, min(piece * GROWTH, int(PIECE_SECONDS / cost)))
        saved = cost * (total - done) * (1 - 1 / workers)
        if spent > (BELIEVED_SECONDS if end > 1 else WAKING_SECONDS) and saved > WAKING_SECONDS:
            break
    _share(entry, done, piece, total, (nx, ny), slots)


def _share(
    entry: Any, first: int, chunk: int, total: int, size: tuple[int, int], slots: Any
) -> None:
    pool = _pool()
    if not pool.lock.acquire(blocking=False):
        entry(first, total, *size, slots)
        return
    try:
        helpers = min(worker_count(), -(-(total - first) // chunk)) - 1
        pool.share(helpers, ffi.cast("void *", entry), first, chunk, total, *size, slots)
    finally:
        pool.lock.release()
