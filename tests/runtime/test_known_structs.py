"""Numbers within value structs that launches repeat become constants as other numbers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64
from sharedoa.ir.core import operations_in
from sharedoa.ir.job import Job
from sharedoa.ir.number_parts import known_struct, name_of, number_parts, place_of_part, slot_of
from sharedoa.model.types import ValueType
from sharedoa.runtime import knobs
from sharedoa.runtime.specialisation import policy
from tests.codegen.interpreted import InterpretedGpu

COUNT = 4


@oa.value
class Step:
    dt: f32
    turns: i32


@oa.value
class Setting:
    gain: f64
    step: Step
    on: bool
    wind: oa.vec3


class Box(oa.Object):
    x: f64


@oa.value
class Mixed:
    gain: f64
    box: Box


@oa.func
def turned(x: f64, step: Step) -> f64:
    for k in range(step.turns):
        x += f64(step.dt) + f64(k)
    return x


@oa.kernel
def apply(out: oa.Array[f64], setting: Setting, offset: i64) -> None:
    i = oa.grid(1)
    x = f64(i) * setting.gain + f64(setting.wind.y)
    if setting.on:
        x = turned(x, setting.step)
    out[i] = x + f64(offset)


@oa.kernel
def alone(out: oa.Array[f64], step: Step) -> None:
    """No other argument is a number."""
    i = oa.grid(1)
    out[i] = turned(f64(i), step)


@oa.kernel
def scaled(out: oa.Array[f64], mixed: Mixed) -> None:
    i = oa.grid(1)
    out[i] = mixed.box.x * mixed.gain + f64(i)


@oa.kernel
def waves(out: oa.Array[f64], step: Step) -> None:
    out[oa.grid(1)] = f64(np.sin(step.dt))


def replace(setting: Setting, **changes: Any) -> Setting:
    names = ("gain", "step", "on", "wind")
    return Setting(**{name: changes.get(name, getattr(setting, name)) for name in names})


def expected(setting: Setting, offset: int) -> Any:
    out = []
    for i in range(COUNT):
        x = i * setting.gain + float(f32(setting.wind.y))
        if setting.on:
            for k in range(setting.step.turns):
                x += float(f32(setting.step.dt)) + k
        out.append(x + offset)
    return np.array(out)


@pytest.fixture(params=["cpu", "interpreted"])
def heap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[oa.Heap]:
    """Two equal launches are enough; variants are compiled by launches and taken for better."""
    for name in ("looks", "launches_on_device"):
        monkeypatch.setattr(policy, name, 2)
    monkeypatch.setattr(policy, "worth", 0.0)
    monkeypatch.setattr(policy, "pairs", 1)
    for name in ("least_part", "least_seconds"):
        monkeypatch.setattr(policy, name, -1e9)
    for kernel in (apply, alone, scaled, waves):
        kernel.program._drop_units()
    backend = "cpu" if request.param == "cpu" else InterpretedGpu()
    with knobs.scope(background=False), oa.Heap(backend=backend, capacity="64MiB") as made:
        yield made


FIRST = Setting(0.5, Step(0.25, 2), True, oa.vec3(1, -0.0, 3))


def known(jobs: list[Job]) -> list[dict[str, Any]]:
    found = []
    for job in jobs:
        parameters = job.program.kernel.parameters
        numbers = job.facts.constants.items()
        found.append(
            {
                name_of(place, parameters[place & 0xFFFF].name, parameters[place & 0xFFFF].type): n
                for place, n in numbers
            }
        )
    return found


def test_each_number_by_itself(heap: oa.Heap, compiled: list[Job]) -> None:
    out = heap.zeros(COUNT, f64)
    for _ in range(6):
        apply[COUNT](out, FIRST, 7)
        assert out.numpy().tobytes() == expected(FIRST, 7).tobytes()
    assert repr(known(compiled)[-1]) == repr(
        {
            "setting.gain": 0.5, "setting.step.dt": 0.25, "setting.step.turns": 2,
            "setting.on": True, "setting.wind.x": 1.0, "setting.wind.y": -0.0,
            "setting.wind.z": 3.0, "offset": 7,
        }
    )  # fmt: skip
    (variant,) = apply.program.variants(heap, heap.mode, False)
    left = [each for each in operations_in(variant.program) if each.kind == "value_field"]
    assert all(isinstance(each.result.type, ValueType) for each in left)
    assert "setting.step.turns = 2" in apply.explain()


def test_changes_are_seen(heap: oa.Heap) -> None:
    out = heap.zeros(COUNT, f64)
    settings = [
        FIRST, replace(FIRST, on=False), replace(FIRST, step=Step(0.25, 3)), FIRST,
        replace(FIRST, wind=oa.vec3(1, 0.0, 3)), replace(FIRST, gain=-0.0), FIRST,
    ]  # fmt: skip
    for setting in settings:
        for _ in range(5):
            apply[COUNT](out, setting, 7)
            assert out.numpy().tobytes() == expected(setting, 7).tobytes()


def test_changes_of_the_only_numbers_are_seen(heap: oa.Heap, compiled: list[Job]) -> None:
    out = heap.zeros(COUNT, f64)
    for dt, turns in ((0.5, 2), (0.5, 3), (0.25, 3), (0.5, 2)):
        for _ in range(5):
            alone[COUNT](out, Step(dt, turns))
            assert out[1] == 1 + dt * turns + turns * (turns - 1) // 2
    assert {"step.dt": 0.5, "step.turns": 2} in known(compiled)


def test_captured_steps_know_them_at_once(heap: oa.Heap, compiled: list[Job]) -> None:
    out = heap.zeros(COUNT, f64)
    with oa.capture() as step:
        apply[COUNT](out, FIRST, 7)
    step.run()
    assert out.numpy().tobytes() == expected(FIRST, 7).tobytes()
    assert known(compiled)[-1]["setting.step.turns"] == 2


def test_structs_with_references_stay(heap: oa.Heap, compiled: list[Job]) -> None:
    out, boxes = heap.zeros(COUNT, f64), heap.new(Box, 1, x=3.0)
    for _ in range(6):
        scaled[COUNT](out, Mixed(2.0, boxes[0]))
        assert out.numpy().tolist() == [6.0, 7.0, 8.0, 9.0]
    assert known(compiled) == [{}]


def test_what_a_library_is_given_stays(compiled: list[Job]) -> None:
    waves.program._drop_units()
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(1, f64)
        with oa.capture() as step:
            waves[1](out, Step(0.3, 1))
        step.run()
        assert out[0] == float(f32(np.sin(f32(0.3))))
    assert "step.dt" not in known(compiled)[-1]


def test_places() -> None:
    type = apply.program.translation().ir.kernel.parameters[1].type
    parts = number_parts(type)
    assert [".".join(path) for path in parts] == [
        "gain", "step.dt", "step.turns", "on", "wind.x", "wind.y", "wind.z"
    ]  # fmt: skip
    assert [slot_of(place_of_part(1, n), (0, 2, 9)) for n in range(7)] == list(range(2, 9))
    assert slot_of(2, (0, 2, 9)) == 9
    some = known_struct({("a",): None, ("b", "c"): 3, ("b", "d"): None})
    assert some is not None and some.part("a") is None and some.part("b").part("c") == 3
    assert known_struct({("a",): None}) is None
