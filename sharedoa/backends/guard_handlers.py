"""The handlers of signals of kernels of the CPU, as LLVM IR (``guard_code`` fills in what differs
between machines): faults in compiled code, and interruptions that are to end it."""

HANDLERS = """
; By signal: who was told before, and with which flags.
@previous = global [65 x { ptr, i64 }] zeroinitializer
@token = global i64 0
@print_callback = global ptr null
%Action = type { ptr, [128 x i8], i32, ptr }

declare i32 @getpid()
declare i32 @sigaction(i32, ptr, ptr)
declare ptr @signal(i32, ptr)
declare i32 @raise(i32)
declare ptr @llvm.frameaddress.p0(i32)

; Leave a kernel for a fault; the first one of a launch is told to the frame's owner.
define internal void @leave_with(ptr %frame, i32 %signal, i32 %code, i64 %address, i64 %pointer) {
  %owner_place = getelementptr %Frame, ptr %frame, i32 0, i32 2
  %owner = load ptr, ptr %owner_place
  %fault_place = getelementptr %Thread, ptr %owner, i32 0, i32 8
  %exchange = cmpxchg ptr %fault_place, i32 0, i32 %signal seq_cst seq_cst
  %is_first = extractvalue { i32, i1 } %exchange, 1
  br i1 %is_first, label %tell, label %out
tell:
  %told_code = getelementptr %Thread, ptr %owner, i32 0, i32 9
  store i32 %code, ptr %told_code
  %told_address = getelementptr %Thread, ptr %owner, i32 0, i32 10
  store i64 %address, ptr %told_address
  %told_pointer = getelementptr %Thread, ptr %owner, i32 0, i32 11
  store i64 %pointer, ptr %told_pointer
  %begin_place = getelementptr %Frame, ptr %frame, i32 0, i32 3
  %begin = load i64, ptr %begin_place
  %told_begin = getelementptr %Thread, ptr %owner, i32 0, i32 12
  store i64 %begin, ptr %told_begin
  %end_place = getelementptr %Frame, ptr %frame, i32 0, i32 4
  %end = load i64, ptr %end_place
  %told_end = getelementptr %Thread, ptr %owner, i32 0, i32 13
  store i64 %end, ptr %told_end
  br label %out
out:
  call void @longjmp(ptr %frame, i32 2)
  unreachable
}

define void @on_fault(i32 %signal, ptr %info, ptr %context) {
  %code_place = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code_place
  %key = load i32, ptr @key
  %own = call ptr @pthread_getspecific(i32 %key)
  %unknown = icmp eq ptr %own, null
  br i1 %unknown, label %foreign, label %look
look:
  %frame = load volatile ptr, ptr %own
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %foreign, label %inside
inside:
  %sent = icmp sle i32 %code, 0
  br i1 %sent, label %message, label %fault
message:
  ; faulthandler, if it comes before us, tells the handler before it by raise() (SI_TKILL); from
  ; there the instruction is tried again.
  %by_thread = icmp eq i32 %code, -6
  %sender_place = getelementptr i8, ptr %info, i64 16
  %sender = load i32, ptr %sender_place
  %process = call i32 @getpid()
  %by_us = icmp eq i32 %sender, %process
  %again = and i1 %by_thread, %by_us
  br i1 %again, label %ignore, label %foreign
ignore:
  ret void
fault:
  %address_place = getelementptr i8, ptr %info, i64 16
  %address = load i64, ptr %address_place
  %pointer_place = getelementptr i8, ptr %context, i64 STACK_POINTER
  %pointer = load i64, ptr %pointer_place
  call void @leave_with(ptr %frame, i32 %signal, i32 %code, i64 %address, i64 %pointer)
  unreachable
foreign:
  %number = sext i32 %signal to i64
  %place = getelementptr [65 x { ptr, i64 }], ptr @previous, i64 0, i64 %number
  %handler = load ptr, ptr %place
  %as_number = ptrtoint ptr %handler to i64
  %is_none = icmp ule i64 %as_number, 1
  br i1 %is_none, label %default, label %pass_on
pass_on:
  call void %handler(i32 %signal, ptr %info, ptr %context)
  ret void
default:
  ; A fault that was ignored ends the process, too: the instruction is tried again.
  %is_default = icmp eq i64 %as_number, 0
  %is_sent = icmp sle i32 %code, 0
  %is_real = xor i1 %is_sent, true
  %ends = or i1 %is_default, %is_real
  br i1 %ends, label %die, label %done
die:
  call ptr @signal(i32 %signal, ptr null)
  br i1 %is_sent, label %send, label %done
send:
  call i32 @raise(i32 %signal)
  ret void
done:
  ret void
}

; Who handled the signal before, if anybody did.
define internal void @pass_on(i32 %signal, ptr %info, ptr %context) {
  %number = sext i32 %signal to i64
  %place = getelementptr [65 x { ptr, i64 }], ptr @previous, i64 0, i64 %number
  %handler = load ptr, ptr %place
  %as_number = ptrtoint ptr %handler to i64
  %is_none = icmp ule i64 %as_number, 1
  br i1 %is_none, label %done, label %tell
tell:
  call void %handler(i32 %signal, ptr %info, ptr %context)
  br label %done
done:
  ret void
}

; The thread that gets a signal with the token leaves its kernel now, where that was decided.
define void @on_leave(i32 %signal, ptr %info, ptr %context) {
  %code_place = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code_place
  %queued = icmp eq i32 %code, -1
  %value_place = getelementptr i8, ptr %info, i64 24
  %value = load i64, ptr %value_place
  %same = icmp eq i64 %value, ptrtoint (ptr @token to i64)
  %is_ours = and i1 %queued, %same
  br i1 %is_ours, label %ours, label %foreign
foreign:
  call void @pass_on(i32 %signal, ptr %info, ptr %context)
  br label %done
ours:
  %key = load i32, ptr @key
  %own = call ptr @pthread_getspecific(i32 %key)
  %unknown = icmp eq ptr %own, null
  br i1 %unknown, label %done, label %look
look:
  %frame = load volatile ptr, ptr %own
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %done, label %inside
inside:
  %owner_place = getelementptr %Frame, ptr %frame, i32 0, i32 2
  %owner = load ptr, ptr %owner_place
  %leaving_place = getelementptr %Thread, ptr %owner, i32 0, i32 2
  %leaving = load volatile i32, ptr %leaving_place
  %none = icmp eq i32 %leaving, 0
  br i1 %none, label %done, label %whose
whose:
  %serial_place = getelementptr %Thread, ptr %owner, i32 0, i32 3
  %serial = load volatile i64, ptr %serial_place
  %low_serial = trunc i64 %serial to i32
  %short_serial = and i32 %low_serial, 2147483647
  %is_meant = icmp eq i32 %short_serial, %leaving
  br i1 %is_meant, label %where, label %done
where:
  ; Not in the C library, which may hold a lock.
  %own_code_place = getelementptr %Frame, ptr %frame, i32 0, i32 1
  %own_code = load ptr, ptr %own_code_place
  %low_place = getelementptr %Code, ptr %own_code, i32 0, i32 1
  %low = load i64, ptr %low_place
  %high_place = getelementptr %Code, ptr %own_code, i32 0, i32 2
  %high = load i64, ptr %high_place
  %counter_place = getelementptr i8, ptr %context, i64 PROGRAM_COUNTER
  %counter = load i64, ptr %counter_place
  %above = icmp uge i64 %counter, %low
  %below = icmp ult i64 %counter, %high
  %in_kernel = and i1 %above, %below
  br i1 %in_kernel, label %leave, label %done
leave:
  call void @longjmp(ptr %frame, i32 3)
  unreachable
done:
  ret void
}

; Let @on_interrupt get interrupts, if a function gets them now.
define void @keep_interrupts() {
  %action = alloca %Action
  call i32 @sigaction(i32 2, ptr null, ptr %action)
  %now = load ptr, ptr %action
  %as_number = ptrtoint ptr %now to i64
  %is_none = icmp ule i64 %as_number, 1
  %is_ours = icmp eq ptr %now, @on_interrupt
  %stays = or i1 %is_none, %is_ours
  br i1 %stays, label %done, label %put
put:
  store ptr %now, ptr getelementptr ([65 x { ptr, i64 }], ptr @previous, i64 0, i64 2)
  store ptr @on_interrupt, ptr %action
  %flags_place = getelementptr %Action, ptr %action, i32 0, i32 2
  %flags = load i32, ptr %flags_place
  %more_flags = or i32 %flags, FLAGS
  store i32 %more_flags, ptr %flags_place
  call i32 @sigaction(i32 2, ptr %action, ptr null)
  br label %done
done:
  ret void
}

; An interrupt stops the main thread's launch at the next piece.
define void @on_interrupt(i32 %signal, ptr %info, ptr %context) {
  call void @pass_on(i32 %signal, ptr %info, ptr %context)
  %main = load ptr, ptr @main
  %nobody = icmp eq ptr %main, null
  br i1 %nobody, label %done, label %stop
stop:
  %stop_place = getelementptr %Thread, ptr %main, i32 0, i32 1
  %interrupts = load volatile i32, ptr %stop_place
  %one_more = add i32 %interrupts, 1
  store volatile i32 %one_more, ptr %stop_place
  br label %done
done:
  ret void
}

; What a kernel prints goes to Python, which needs room on the stack and is not cut.
define void @print_line(ptr %line) {
  %own = call ptr @this_thread()
  %frame = load volatile ptr, ptr %own
  %owner_place = getelementptr %Frame, ptr %frame, i32 0, i32 2
  %owner = load ptr, ptr %owner_place
  %here = call ptr @llvm.frameaddress.p0(i32 0)
  %here_number = ptrtoint ptr %here to i64
  %low_place = getelementptr %Thread, ptr %own, i32 0, i32 5
  %low = load i64, ptr %low_place
  %left = sub i64 %here_number, %low
  %too_deep = icmp slt i64 %left, 262144
  br i1 %too_deep, label %fault, label %tell
fault:
  call void @leave_with(ptr %frame, i32 11, i32 1, i64 %here_number, i64 %here_number)
  unreachable
tell:
  store volatile ptr null, ptr %own
  %callback = load ptr, ptr @print_callback
  %cut = call i32 %callback(ptr %owner, ptr %line)
  store volatile ptr %frame, ptr %own
  %goes_on = icmp eq i32 %cut, 0
  br i1 %goes_on, label %done, label %leave
leave:
  call void @longjmp(ptr %frame, i32 3)
  unreachable
done:
  ret void
}

; A launch of the main thread begins: the watch is to look whether it lasts.
define internal void @wake_watch(ptr %own) {
  %main = load ptr, ptr @main
  %other = icmp ne ptr %own, %main
  br i1 %other, label %done, label %post
post:
  store volatile i32 0, ptr @asleep
  call i32 @sem_post(ptr @wake)
  br label %done
done:
  ret void
}

; In a child process nobody watches.
define void @forget_watch() {
  store volatile i32 0, ptr @asleep
  call i32 @sem_init(ptr @wake, i32 0, i32 0)
  ret void
}

; Whether the main thread is in a launch.
define internal i1 @is_running() {
  %main = load volatile ptr, ptr @main
  %busy_place = getelementptr %Thread, ptr %main, i32 0, i32 6
  %frame = load volatile ptr, ptr %main
  %busy = load volatile i32, ptr %busy_place
  %in_kernel = icmp ne ptr %frame, null
  %shared = icmp ne i32 %busy, 0
  %runs = or i1 %in_kernel, %shared
  ret i1 %runs
}

; Wait until one launch of the main thread has lasted for a while; sleep while there are none.
define void @await_long_launch() {
start:
  %pause = alloca { i64, i64 }
  store { i64, i64 } { i64 0, i64 100000000 }, ptr %pause
  %main = load volatile ptr, ptr @main
  %serial_place = getelementptr %Thread, ptr %main, i32 0, i32 3
  br label %look
look:
  %serial = load volatile i64, ptr %serial_place
  call i32 @nanosleep(ptr %pause, ptr null)
  %later = load volatile i64, ptr %serial_place
  %same = icmp eq i64 %serial, %later
  br i1 %same, label %whether, label %look
whether:
  %runs = call i1 @is_running()
  br i1 %runs, label %done, label %sleep
sleep:
  ; A launch may have begun before it could see that nobody is awake.
  store volatile i32 1, ptr @asleep
  call i32 @nanosleep(ptr %pause, ptr null)
  %last = load volatile i64, ptr %serial_place
  %none_began = icmp eq i64 %last, %later
  %still_runs = call i1 @is_running()
  %idle = xor i1 %still_runs, true
  %may_sleep = and i1 %none_began, %idle
  br i1 %may_sleep, label %wait, label %stay
stay:
  store volatile i32 0, ptr @asleep
  br label %look
wait:
  call i32 @sem_wait(ptr @wake)
  br label %look
done:
  ret void
}
"""
