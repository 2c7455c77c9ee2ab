"""Running independent threads of a launch on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter
from typing import Any

from .native_code import NativeLibrary, ffi, host_target

#: Threads run first, on the calling thread, to learn what one costs: one, then if that was quick
#: enough to hide in the noise some more.
_SAMPLES = (1, 63)
#: A launch expected to take less than this is not worth waking other cores for.
INLINE_SECONDS = 50e-6
#: Time between two visits of a worker to the shared counter.
CHUNK_SECONDS = 50e-6

_WORKER_TYPE = "void(*)(void *, int64_t *, int64_t, int64_t, int64_t, int64_t, void *)"
#: void run_chunks(entry, next, chunk, total, nx, ny, slots): take chunks until none is left.
_WORKER_CODE = """
define void @run_chunks(ptr %entry, ptr %next, i64 %chunk, i64 %total,
                        i64 %nx, i64 %ny, ptr %slots) {
start:
  br label %take
take:
  %begin = atomicrmw add ptr %next, i64 %chunk monotonic
  %some = icmp slt i64 %begin, %total
  br i1 %some, label %run, label %done
run:
  %after = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %total)
  call void %entry(i64 %begin, i64 %end, i64 %nx, i64 %ny, ptr %slots)
  br label %take
done:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
"""


@cache
def _run_chunks() -> tuple[NativeLibrary, Any]:
    object_code = host_target().compile(_WORKER_CODE)["o"]
    assert isinstance(object_code, bytes)
    library = NativeLibrary(object_code, ("run_chunks",), {})
    return library, library.function("run_chunks", _WORKER_TYPE)


def worker_count() -> int:
    return os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(worker_count() - 1, thread_name_prefix="sharedoa")


def run_parallel(entry: Any, nx: int, ny: int, slots: Any) -> None:
    """Run ``entry`` (see ``targets.host``) for all nx * ny threads; returns when all are done."""
    total, done, spent, cost = nx * ny, 0, 0.0, 0.0
    for sample in _SAMPLES:
        end = min(total, done + sample)
        begun = perf_counter()
        entry(done, end, nx, ny, slots)
        spent += perf_counter() - begun
        done, cost = end, spent / end
        if cost * (total - done) < INLINE_SECONDS or worker_count() == 1:
            entry(done, total, nx, ny, slots)
            return
        if spent > CHUNK_SECONDS:
            break
    fair = -(-(total - done) // (4 * worker_count()))
    chunk = max(1, min(fair, int(CHUNK_SECONDS / cost)))
    _share(entry, done, chunk, total, (nx, ny), slots)


def _share(
    entry: Any, first: int, chunk: int, total: int, size: tuple[int, int], slots: Any
) -> None:
    run_chunks = _run_chunks()[1]
    next_index = ffi.new("int64_t *", first)
    helpers = min(worker_count(), -(-(total - first) // chunk)) - 1
    arguments = (ffi.cast("void *", entry), next_index, chunk, total, *size, slots)
    futures = [_pool().submit(run_chunks, *arguments) for _ in range(helpers)]
    run_chunks(*arguments)
    for future in futures:
        # One that has not begun would find nothing left to do.
        if not future.cancel():
            future.result()
