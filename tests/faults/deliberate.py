"""Cases that end in each way, to test the runner with; no part of the catalogue."""

from __future__ import annotations

import os
import signal
import time

import sharedoa as oa

from .catalogue import case
from .programs import program
from .verdicts import check, in_debug, refuses


@case()
def fine() -> None:
    """Everything is as it must be."""
    check(oa.zeros(1, oa.i32)[0] == 0, "never said")


@case()
def clear() -> None:
    """Refused with cause and cure."""
    with refuses(oa.ArgumentError, "oa.zeros"):
        oa.zeros(oa.i32, 3)


@case()
def unclear() -> None:
    """An exception that says nothing."""
    raise KeyError(7)


@case()
def other_words() -> None:
    """A typed error that does not name the cause."""
    with refuses(oa.ArgumentError, "elephants"):
        oa.zeros(oa.i32, 3)


@case()
def no_cure() -> None:
    """A typed error without a help."""
    with refuses(oa.ArgumentError, "because"):
        raise oa.ArgumentError("because")


@case()
def traceback() -> None:
    """Something is printed that nobody can catch."""

    class Bad:
        def __del__(self) -> None:
            raise ValueError("at the end")

    Bad()


@case()
def status() -> None:
    """The process ends with an error status behind a good outcome."""
    import atexit

    atexit.register(os._exit, 3)


@case()
def early() -> None:
    """The process ends in the middle."""
    os._exit(0)


@case()
def silent() -> None:
    """A wrong result."""
    check(1 == 2, "1 is not 2")


@case()
def nothing_refused() -> None:
    """No error where one was due."""
    with refuses(oa.ArgumentError):
        pass


@case(limit=1)
def hang() -> None:
    """It does not end."""
    time.sleep(1000)


@case()
def crash() -> None:
    """A signal ends it."""
    os.kill(os.getpid(), signal.SIGSEGV)


@case()
def crash_at_the_end() -> None:
    """A signal ends it behind a good outcome."""
    import atexit

    atexit.register(os.kill, os.getpid(), signal.SIGSEGV)


@case()
def crash_of_a_program() -> None:
    """A signal ends a process that it started."""
    program("import os\nos.kill(os.getpid(), 11)").well()


@case()
def hang_of_a_program() -> None:
    """A process that it started does not end."""
    program("import time\ntime.sleep(1000)", seconds=1).well()


@case(debug=False)
def normal_only() -> None:
    """Run without debug mode alone."""
    check(not in_debug(), "debug mode")


@case(normal=False)
def debug_only() -> None:
    """Run in debug mode alone."""
    check(in_debug(), "no debug mode")


@case(limit=1000, backends=("cuda",))  # not with the others
def late() -> None:
    """It takes long."""
    time.sleep(1000)
