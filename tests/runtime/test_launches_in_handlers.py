"""A signal's handler launches the kernel amid whose launch it came: each has its own arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.runtime.launch import Program

#: Functions that have arguments ready, but for what is done under a heap's lock.
_AMID = {
    each.__code__
    for each in (
        Program.launch_carefully, Program._launch_now, Program._launch_packed, Program._launch
    )
}  # fmt: skip


@oa.kernel
def add(values: oa.Array[i32], count: i32):
    values[oa.grid(1)] += count


def at_line(number: int, handler: Callable[[], None], work: Callable[[], None]) -> bool:
    """Do ``work``, and ``handler`` once, before the line of that number. Whether there is one."""
    left = number

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                handler()
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        is_quick = frame.f_code.co_filename.endswith("launch_code.py:launch")
        return line if is_quick or frame.f_code in _AMID else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return left <= 0


@pytest.mark.parametrize(("launches", "step"), [(0, 5), (3, 1)], ids=["first", "quick"])
def test_each_has_its_own_arguments(launches: int, step: int) -> None:
    number, is_there, heap = 1, True, oa.Heap(backend="cpu")
    while is_there:
        if not launches:
            heap = oa.Heap(backend="cpu")
        with heap:
            a, b = oa.zeros(4, i32), oa.zeros(4, i32)
            for _ in range(launches):
                add[4](a, 1)
            is_there = at_line(number, partial(add[4], b, 100), partial(add[4], a, 10))
            assert a.numpy().tolist() == [10 + launches] * 4, number
            assert b.numpy().tolist() == [100 * is_there] * 4, number
        number += step
    assert number > 25
