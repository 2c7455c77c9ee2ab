"""The garbage collector rests while code is compiled, and is on again whatever happens."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from textwrap import dedent

import pytest

from sharedoa.collection import nothing_collected

from .source_files import environment


def test_it_is_on_again_after_errors_and_blocks_in_one_another() -> None:
    with pytest.raises(KeyboardInterrupt), nothing_collected():
        assert not gc.isenabled()
        with nothing_collected():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_who_has_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with nothing_collected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_that_compile_at_once_leave_it_on() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def compile_slowly() -> None:
        with nothing_collected():
            begun.set()
            may_end.wait(10)

    thread = threading.Thread(target=compile_slowly)
    with nothing_collected():
        thread.start()
        begun.wait(10)
    assert gc.isenabled()
    may_end.set()
    thread.join()
    assert gc.isenabled()


def test_a_child_collects() -> None:
    with nothing_collected():
        nothing_collected.after_fork()
        assert gc.isenabled()


def alone(text: str) -> None:
    """In a process without the objects of other tests, millions that are looked at again and again
    here."""
    prelude = """
        import gc, weakref
        from sharedoa import collection
        from sharedoa.collection import nothing_collected
    """
    code = dedent(prelude) + dedent(text)
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)


def test_what_a_compilation_has_made_is_not_looked_at_at_once() -> None:
    alone("""
        with nothing_collected():
            kept = [[number] for number in range(150_000)]
            assert gc.get_count()[0] > collection.MANY
        assert gc.get_count()[0] < 10_000
        assert gc.get_freeze_count() == 0
        gc.freeze()
        with nothing_collected():
            kept += [[number] for number in range(150_000)]
        assert gc.get_freeze_count() > 0, "what somebody has frozen is frozen still"
    """)


def test_programs_that_were_dropped_are_found() -> None:
    """What was young is not looked at: then the collector's own counts never say that it is time to
    look at all."""
    alone("""
        class Program:
            def __init__(self):
                self.parts, self.itself = [[number] for number in range(101_000)], self

        # Three programs are as many as there are.
        collection._old.kept = (len(gc.get_objects()) + 300_000) // 2
        programs = []
        for _ in range(8):
            with nothing_collected():
                programs.append(weakref.ref(Program()))
        assert sum(program() is not None for program in programs) < 6
    """)
