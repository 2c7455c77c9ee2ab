"""Classes whose methods have accesses of all kinds, and backends that share out their objects as a
GPU does, but run on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.python import PythonBackend
from sharedoa.runtime.launch import Program


class FewLaunches(CpuBackend):
    """Shares out as a GPU does; ``large``: as if every launch were a large one."""

    prefers_few_launches = True

    def __init__(self, large: bool) -> None:
        super().__init__()
        self._large = large

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return self._large


class FewLaunchesInPython(PythonBackend):
    prefers_few_launches = True


LARGE, SMALL, PYTHON = FewLaunches(True), FewLaunches(False), FewLaunchesInPython()


@oa.value
class Pair:
    small: i16
    large: f64


class Thing(oa.Object):
    number: f32
    whole: i64
    byte: i8
    pair: Pair
    row: oa.inline[i32, 3]
    peer: Thing

    def change(self, by: f32) -> None: ...

    def measure(self, factor: i64, extra: f32) -> f64: ...

    def pair_with(self, small: i16) -> Pair:
        old = self.pair
        self.pair = Pair(small, old.large + 1.0)
        return old

    def of_peer(self) -> f32:
        return self.peer.number

    def branch(self, limit: i64) -> i64:
        if self.whole > limit:
            self.row[0] = i32(7)
            return i64(1)
        return self.helped(limit)

    def long(self, by: i64) -> None:
        a, b, c = by + i64(1), by + i64(2), by + i64(3)
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        a, b, c = a * b + c, b * c + a, c * a + b
        self.whole = a + b + c

    def helped(self, limit: i64) -> i64:
        self.byte = i8(3)
        return limit - self.whole


class Plus(Thing):
    def change(self, by: f32) -> None:
        self.number += by
        self.row[2] = self.row[1] + i32(1)
        self.row[1] = i32(self.byte)


class Minus(Thing):
    more: i8

    def change(self, by: f32) -> None:
        self.number = by - self.number
        self.more = i8(self.more + self.byte)

    def measure(self, factor: i64, extra: f32) -> f64:
        self.whole = self.whole * factor
        return self.pair.large - extra


class Other(Plus):
    last: f64

    def measure(self, factor: i64, extra: f32) -> f64:
        self.last += self.pair.large
        return self.last * f64(factor)


def _plain_measure(self, factor: i64, extra: f32) -> f64:
    return f64(self.number) + f64(self.whole + factor) * f64(extra)


Plus.measure = _plain_measure

CLASSES: tuple[Any, ...] = (Plus, Minus, Other)


def launches(
    heap: oa.Heap,
    call: Any,
    monkeypatch: pytest.MonkeyPatch,
    what: Any = lambda program, geometry: geometry.threads[0],
) -> list[Any]:
    """Threads, or something else, of each launch of ``call()``."""
    found: list[Any] = []
    launcher = Program.launcher

    def noting(self: Program, geometry: Any) -> Any:
        launch = launcher(self, geometry)

        def noted(*arguments: Any) -> None:
            found.append(what(self, geometry))
            launch(*arguments)

        return noted

    with monkeypatch.context() as patched:
        patched.setattr(Program, "launcher", noting)
        patched.setattr(heap.of_classes, "plans", None)
        call()
    return found
