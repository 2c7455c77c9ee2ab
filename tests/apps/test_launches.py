"""Every program says which kernels it launches, when it is asked to."""

from __future__ import annotations

from collections import Counter

import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.interface import RunOptions
from apps.registry import APPS


@oa.kernel
def double(values: oa.Array[oa.i32]):
    values[oa.grid(1)] *= 2


SIZES = {
    "traffic": 20, "game_of_life": 30, "structure": 300, "generation": 221, "routes": 100,
    "raytracer": 16, "scalability": 1024, "wator": 16, "sugarscape": 16,
    "wolf_sheep": 16, "forest_fire": 16, "wealth": 100, "schelling": 16,
    "flocking": 50, "circles": 50, "boids": 50, "nbody": 50, "collision": 50, "barnes_hut": 50,
}  # fmt: skip
GRAPH = 200


@pytest.mark.parametrize("name", APPS)
def test_launches_are_watched(name):
    seen: Counter[str] = Counter()
    options = RunOptions(
        size=SIZES.get(name, GRAPH),
        steps=2,
        backend="cpu",
        time_kernels=True,
        on_launch=lambda kernel: seen.update([kernel.name]),
    )
    timings = APPS[name].run(options).timings
    timed = {key.removeprefix("kernel ") for key in timings if key.startswith("kernel ")}
    assert set(seen) == timed
    # Whatever else is launched once, some kernel is launched in every step.
    assert max(seen.values()) >= 2


@pytest.mark.parametrize(("timed", "watched"), [(False, False), (True, False), (False, True)])
def test_what_repeats_is_captured_unless_kernels_are_looked_at(timed, watched):
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        seen: list[object] = []
        launches = Launches(heap, timed, seen.append if watched else None)
        arrays = [oa.array(oa.i32, [1, 2]) for _ in range(2)]
        called = []

        def sequence(number: int) -> None:
            called.append(number)
            launches(double, 2, arrays[number])
            launches(double, 1, arrays[number])

        for step in range(6):
            launches.repeat(step % 2, lambda step=step: sequence(step % 2))
        for values in arrays:
            assert values.numpy().tolist() == [64, 16]
        captured = not (timed or watched)
        assert called == ([0, 1] if captured else [0, 1] * 3)
        assert len(seen) == (12 if watched else 0)
        assert set(launches.seconds) == ({"double"} if timed else set())


def test_a_launch_without_threads_is_none():
    with oa.Heap(backend="cpu", capacity="16MiB") as heap:
        seen: list[object] = []
        launches = Launches(heap, True, seen.append)
        values = oa.array(oa.i32, [1, 2])
        for threads in (0, (0, 64)):
            launches(double, threads, values)
        assert seen == [] and launches.seconds == {}
        launches(double, (2, 64), values)
        assert seen == [double] and set(launches.seconds) == {"double"}
        assert values.numpy().tolist() == [2, 4]
