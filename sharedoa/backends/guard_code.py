"""Native code that enters kernels so that they can be left: after a fault, or when they are cut.

Every thread that enters kernels has a ``Thread`` block, found by a key of the system's threads, and
for each entry a ``Frame`` on its stack with what ``longjmp`` needs. The frame of a thread is null
where it runs anything but compiled code of a kernel and the C library's mathematics: there nobody
may cut in. The *owner* of a frame is the block of the thread that launched: others run pieces of
its launch, and what goes wrong is told there.
"""

from __future__ import annotations

import platform
import sys

from .guard_handlers import HANDLERS
from .interpreter_function import DECLARATIONS

#: As ``%Thread`` below. ``stop``: begin no more pieces of this thread's launch (in the main
#: thread: as so many interrupts came); ``leaving``: the lower bits of the ``serial`` whose pieces
#: are to be cut; ``busy``: other threads run pieces; ``cut``: a piece was; the rest from ``fault``
#: on (the signal's number, 0 for none) is about the first fault.
THREAD_TYPE = """
typedef struct {
    void *frame; volatile int32_t stop, leaving; volatile int64_t serial; void *stack;
    int64_t stack_low; volatile int32_t busy, cut; volatile int32_t fault, code;
    int64_t address, stack_pointer, begin, end;
} Thread;
typedef struct { void *entry; int64_t low, high; } Code;
"""
RETURNED, STOPPED, FAULT, CUT = range(4)
"""How an entry ended: it returned, or was not begun as ``stop`` was set, or was left."""

#: SA_SIGINFO, SA_ONSTACK and SA_NODEFER.
HANDLER_FLAGS = 0x4 | 0x08000000 | 0x40000000
#: Offsets in ``ucontext_t`` of the stack pointer and of the program counter.
_CONTEXTS = {"x86_64": (160, 168), "aarch64": (432, 440)}


def is_supported() -> bool:
    """Whether faults can be told and kernels left here: the layouts of Linux are known."""
    is_known = sys.platform == "linux" and platform.machine() in _CONTEXTS
    return is_known and platform.libc_ver()[0] == "glibc"


def guard_code() -> str:
    """LLVM IR of this machine's guard."""
    if not is_supported():
        return LAUNCHES + _COMMON + _UNGUARDED
    stack_pointer, counter = _CONTEXTS[platform.machine()]
    handlers = HANDLERS.replace("STACK_POINTER", str(stack_pointer))
    handlers = handlers.replace("PROGRAM_COUNTER", str(counter))
    return LAUNCHES + _COMMON + _GUARDED + handlers.replace("FLAGS", str(HANDLER_FLAGS))


_SERIAL_BITS = 31


def short_serial(serial: int) -> int:
    """What ``leaving`` is for the launch of that ``serial``."""
    return serial % (1 << _SERIAL_BITS)


EXPORTS = (
    "prepare_guard", "this_thread", "begin_launch", "run", "call_guarded", "suspend", "resume",
    "leave",
)  # fmt: skip
HANDLER_EXPORTS = (
    "on_fault", "on_interrupt", "on_leave", "keep_interrupts", "print_line", "previous", "token",
    "main", "print_callback", "await_long_launch", "forget_watch",
)  # fmt: skip

LAUNCHES = f"""{DECLARATIONS}
%Launch = type {{ ptr, i64, i64, ptr }}

; Of what Python gives to a function: the launch that bytes describe, and a number.
define internal ptr @described(ptr %arguments, i64 %at) {{
  %place = getelementptr ptr, ptr %arguments, i64 %at
  %argument = load ptr, ptr %place
  %found = call ptr @PyBytes_AsString(ptr %argument)
  ret ptr %found
}}
define internal i64 @number(ptr %arguments, i64 %at) {{
  %place = getelementptr ptr, ptr %arguments, i64 %at
  %argument = load ptr, ptr %place
  %found = call i64 @PyLong_AsLongLong(ptr %argument)
  ret i64 %found
}}
"""
"""For code that runs launches; each is described by its code, nx, ny and slots."""

_COMMON = """
%Thread = type { ptr, i32, i32, i64, ptr, i64, i32, i32, i32, i32, i64, i64, i64, i64 }
%Code = type { ptr, i64, i64 }
@key = internal global i32 0
@main = global ptr null
@asleep = internal global i32 0
@wake = internal global [64 x i8] zeroinitializer, align 16

declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @calloc(i64, i64)
declare void @free(ptr)

; The calling thread's block.
define ptr @this_thread() {
  %key = load i32, ptr @key
  %known = call ptr @pthread_getspecific(i32 %key)
  %is_new = icmp eq ptr %known, null
  br i1 %is_new, label %new, label %done
new:
  %block = call ptr @calloc(i64 1, i64 128)
  call void @prepare_stack(ptr %block)
  call i32 @pthread_setspecific(i32 %key, ptr %block)
  br label %done
done:
  %found = phi ptr [ %known, %0 ], [ %block, %new ]
  ret ptr %found
}

; A launch of the calling thread's begins, whose block is given.
define void @begin_launch(ptr %own) {
  %serial_place = getelementptr %Thread, ptr %own, i32 0, i32 3
  %serial = load volatile i64, ptr %serial_place
  %next_serial = add i64 %serial, 1
  store volatile i64 %next_serial, ptr %serial_place
  %asleep = load volatile i32, ptr @asleep
  %nobody = icmp eq i32 %asleep, 0
  br i1 %nobody, label %done, label %look
look:
  call void @wake_watch(ptr %own)
  br label %done
done:
  ret void
}

; ``run(launch, begin, end)``: run these threads of a launch of the calling thread's. The result is
; how the entry ended.
define ptr @run(ptr %self, ptr %arguments, i64 %count) {
  %launch = call ptr @described(ptr %arguments, i64 0)
  %begin = call i64 @number(ptr %arguments, i64 1)
  %end = call i64 @number(ptr %arguments, i64 2)
  %state = call ptr @PyEval_SaveThread()
  %own = call ptr @this_thread()
  %stop_place = getelementptr %Thread, ptr %own, i32 0, i32 1
  %stop = load volatile i32, ptr %stop_place
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %done, label %enter
enter:
  call void @begin_launch(ptr %own)
  %code = load ptr, ptr %launch
  %nx_place = getelementptr %Launch, ptr %launch, i32 0, i32 1
  %nx = load i64, ptr %nx_place
  %ny_place = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %ny = load i64, ptr %ny_place
  %slots_place = getelementptr %Launch, ptr %launch, i32 0, i32 3
  %slots = load ptr, ptr %slots_place
  %ended = call i32 @call_guarded(ptr %own, ptr %own, ptr %code, i64 %begin, i64 %end,
                                  i64 %nx, i64 %ny, ptr %slots)
  br label %done
done:
  %status = phi i32 [ 1, %0 ], [ %ended, %enter ]
  call void @PyEval_RestoreThread(ptr %state)
  %wide = sext i32 %status to i64
  %result = call ptr @PyLong_FromLong(i64 %wide)
  ret ptr %result
}
"""

_UNGUARDED = """
define void @prepare_guard() {
  call i32 @pthread_key_create(ptr @key, ptr @free)
  ret void
}
define internal void @prepare_stack(ptr %block) {
  ret void
}
define internal void @wake_watch(ptr %own) {
  ret void
}
define i32 @call_guarded(ptr %own, ptr %owner, ptr %code, i64 %begin, i64 %end,
                         i64 %nx, i64 %ny, ptr %slots) {
  %entry = load ptr, ptr %code
  call void %entry(i64 %begin, i64 %end, i64 %nx, i64 %ny, ptr %slots)
  ret i32 0
}
define ptr @suspend() {
  ret ptr null
}
define void @resume(ptr %frame) {
  ret void
}
define void @leave(i32 %status) {
  ret void
}
"""

_GUARDED = """
%Frame = type { [64 x i64], ptr, ptr, i64, i64 }
%Stack = type { ptr, i32, i64 }

declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
declare i32 @sigaltstack(ptr, ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i64 @pthread_self()
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_post(ptr)
declare i32 @sem_wait(ptr)
declare i32 @nanosleep(ptr, ptr)

define void @prepare_guard() {
  call i32 @pthread_key_create(ptr @key, ptr @thread_ends)
  call i32 @sem_init(ptr @wake, i32 0, i32 0)
  ret void
}

; A stack for signal handlers, unless the thread has one (faulthandler's), and where its own ends.
define internal void @prepare_stack(ptr %block) {
  %old = alloca %Stack
  %new = alloca %Stack
  %attributes = alloca [16 x i64], align 16
  %low = alloca i64
  %size = alloca i64
  call i32 @sigaltstack(ptr null, ptr %old)
  %flags_place = getelementptr %Stack, ptr %old, i32 0, i32 1
  %flags = load i32, ptr %flags_place
  %disabled = and i32 %flags, 2
  %none = icmp ne i32 %disabled, 0
  br i1 %none, label %make, label %bounds
make:
  %memory = call ptr @mmap(ptr null, i64 65536, i32 3, i32 34, i32 -1, i64 0)
  %refused = icmp eq ptr %memory, inttoptr (i64 -1 to ptr)
  br i1 %refused, label %bounds, label %use
use:
  store ptr %memory, ptr %new
  %new_flags = getelementptr %Stack, ptr %new, i32 0, i32 1
  store i32 0, ptr %new_flags
  %new_size = getelementptr %Stack, ptr %new, i32 0, i32 2
  store i64 65536, ptr %new_size
  call i32 @sigaltstack(ptr %new, ptr null)
  %stack_place = getelementptr %Thread, ptr %block, i32 0, i32 4
  store ptr %memory, ptr %stack_place
  br label %bounds
bounds:
  %own = call i64 @pthread_self()
  %problem = call i32 @pthread_getattr_np(i64 %own, ptr %attributes)
  %unknown = icmp ne i32 %problem, 0
  br i1 %unknown, label %done, label %known
known:
  call i32 @pthread_attr_getstack(ptr %attributes, ptr %low, ptr %size)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %found = load i64, ptr %low
  %low_place = getelementptr %Thread, ptr %block, i32 0, i32 5
  store i64 %found, ptr %low_place
  br label %done
done:
  ret void
}

define internal void @thread_ends(ptr %block) {
  %stack_place = getelementptr %Thread, ptr %block, i32 0, i32 4
  %memory = load ptr, ptr %stack_place
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %release
release:
  %off = alloca %Stack
  store ptr null, ptr %off
  %flags = getelementptr %Stack, ptr %off, i32 0, i32 1
  store i32 2, ptr %flags
  %size = getelementptr %Stack, ptr %off, i32 0, i32 2
  store i64 0, ptr %size
  call i32 @sigaltstack(ptr %off, ptr null)
  call i32 @munmap(ptr %memory, i64 65536)
  br label %done
done:
  call void @free(ptr %block)
  ret void
}

; Run threads of the owner's launch; the result is how the entry ended.
define i32 @call_guarded(ptr %own, ptr %owner, ptr %code, i64 %begin, i64 %end,
                         i64 %nx, i64 %ny, ptr %slots) {
  %frame = alloca %Frame, align 16
  %before = load ptr, ptr %own
  %code_place = getelementptr %Frame, ptr %frame, i32 0, i32 1
  store ptr %code, ptr %code_place
  %owner_place = getelementptr %Frame, ptr %frame, i32 0, i32 2
  store ptr %owner, ptr %owner_place
  %begin_place = getelementptr %Frame, ptr %frame, i32 0, i32 3
  store i64 %begin, ptr %begin_place
  %end_place = getelementptr %Frame, ptr %frame, i32 0, i32 4
  store i64 %end, ptr %end_place
  %status = call i32 @_setjmp(ptr %frame) returns_twice
  %is_first = icmp eq i32 %status, 0
  br i1 %is_first, label %enter, label %left
enter:
  store volatile ptr %frame, ptr %own
  %entry = load ptr, ptr %code
  call void %entry(i64 %begin, i64 %end, i64 %nx, i64 %ny, ptr %slots)
  store volatile ptr %before, ptr %own
  ret i32 0
left:
  store volatile ptr %before, ptr %own
  %stop_place = getelementptr %Thread, ptr %owner, i32 0, i32 1
  store volatile i32 1, ptr %stop_place
  %is_cut = icmp eq i32 %status, 3
  br i1 %is_cut, label %cut, label %done
cut:
  %cut_place = getelementptr %Thread, ptr %owner, i32 0, i32 7
  store volatile i32 1, ptr %cut_place
  br label %done
done:
  ret i32 %status
}

; Around what must not be cut in a kernel; the calling thread is in one.
define ptr @suspend() {
  %own = call ptr @this_thread()
  %frame = load volatile ptr, ptr %own
  store volatile ptr null, ptr %own
  ret ptr %frame
}
define void @resume(ptr %frame) {
  %own = call ptr @this_thread()
  store volatile ptr %frame, ptr %own
  ret void
}

; Leave the kernel that the calling thread is in.
define void @leave(i32 %status) {
  %own = call ptr @this_thread()
  %frame = load volatile ptr, ptr %own
  call void @longjmp(ptr %frame, i32 %status)
  unreachable
}
"""
