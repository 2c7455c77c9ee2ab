"""M-12: host and kernels take turns on the same objects, a thousand times, and nothing in an object
is ever patched for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.mode import MODES
from sharedoa import i32, i64
from sharedoa.backends.base import KernelLaunch
from sharedoa.ir.job import Job

from ..modes import LONG, third_of

ROUNDS = 1000


class Ball(oa.Object):
    height: i64
    touched: i32

    def bounce(self, by: i64) -> i64: ...


class Light(Ball):
    def bounce(self, by: i64) -> i64:
        self.touched += 1
        self.height += 2 * by
        return self.height


class Heavy(Ball):
    def bounce(self, by: i64) -> i64:
        self.touched += 1
        self.height += by
        return -self.height


@oa.kernel
def bounce(balls: oa.Array[Ball], by: i64, out: oa.Array[i64]):
    i = oa.grid(1)
    out[i] = balls[i].bounce(by)


def header(ball: Any, heap: oa.Heap) -> bytes:
    """What precedes the fields of an object in host memory."""
    return ctypes.string_at(heap.encoding.address(ball._reference), heap.mode.header_size)


def take_turns(heap: oa.Heap, rounds: int) -> None:
    balls = [heap.new(Light), heap.new(Heavy), heap.new(Light, height=5)]
    references, out = heap.array(Ball, balls), heap.zeros(3, i64)
    model = [0, 0, 5]
    factors = (2, 1, 2)
    for number in range(rounds):
        # written by the host, through a method that CPython runs or a plain assignment ...
        by = number % 7 - 3
        if number % 2:
            model = [height + factor * by for height, factor in zip(model, factors, strict=True)]
            assert [ball.bounce(by) for ball in balls] == [model[0], -model[1], model[2]]
        else:
            model = [height - by for height in model]
            for ball, height in zip(balls, model, strict=True):
                ball.height = height
        # ... read and written by the kernel, and read back
        bounce[3](references, number, out)
        model = [height + factor * number for height, factor in zip(model, factors, strict=True)]
        assert [int(ball.height) for ball in balls] == model
        assert out[1] == -model[1]
    assert [int(ball.touched) for ball in balls] == [rounds + rounds // 2] * 3


def count_launches(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with every launch of ``bounce`` on ``heap``."""
    launches: list[Any] = []
    prepare = heap.backend.prepare

    def counting(launch: KernelLaunch) -> Callable[[], None]:
        start = prepare(launch)
        if launch.slots is not bounce.program.slots:
            return start

        def counted() -> None:
            launches.append(launch)
            start()

        return counted

    monkeypatch.setattr(heap.backend, "prepare", counting)
    return launches


@pytest.mark.parametrize("mode", third_of(MODES, 2))
def test_host_and_kernel_take_turns(
    mode: str, monkeypatch: pytest.MonkeyPatch, compiled: list[Job]
) -> None:
    with oa.Heap(mode=mode, backend="cpu", capacity="256MiB") as heap:
        launches = count_launches(heap, monkeypatch)
        witness = [heap.new(Light), heap.new(Heavy)]
        before = [header(ball, heap) for ball in witness]
        take_turns(heap, ROUNDS)
        references = heap.array(Ball, witness)
        bounce[2](references, 1, heap.zeros(2, i64))
        heap.synchronize()
        assert [header(ball, heap) for ball in witness] == before
        assert len(launches) == ROUNDS + 1, "one launch a round, nothing besides"
    assert [job.name for job in compiled].count("bounce") <= 1


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
def test_host_and_gpu_take_turns(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with oa.Heap(mode=mode, backend="cuda", capacity="256MiB") as heap:
        launches = count_launches(heap, monkeypatch)
        rounds = ROUNDS if mode in LONG else ROUNDS // 10
        take_turns(heap, rounds)
        assert len(launches) == rounds


@pytest.mark.parametrize("mode", MODES)
def test_field_views_see_what_kernels_write(mode: str) -> None:
    with oa.Heap(mode=mode, backend="cpu", capacity="256MiB") as heap:
        balls = heap.new(Heavy, 100, height=np.arange(100))
        out = heap.zeros(100, i64)
        for number in range(20):
            balls.height += number
            bounce[100](balls, 1, out)
            expected = np.arange(100) + sum(range(number + 1)) + number + 1
            np.testing.assert_array_equal(balls.height.numpy(), expected)
            np.testing.assert_array_equal(out.numpy(), -expected)
