"""Frozen objects stay as they are made, so code may know them: results are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32
from sharedoa.errors import ClassError, CompileError, SharedOAError
from sharedoa.ir.job import Job
from sharedoa.runtime import frozen_contents, knobs
from sharedoa.runtime.kernel import Kernel
from sharedoa.runtime.specialisation import policy
from tests.codegen.interpreted import InterpretedGpu

COUNT = 8
BACKENDS: dict[str, Callable[[], Any]] = {
    "cpu": lambda: "cpu", "python": lambda: "python", "interpreted": InterpretedGpu,
}  # fmt: skip


@oa.value
class Light:
    power: f32
    on: bool


class Sun(oa.Object, frozen=True):
    heat: f64
    light: Light


class Scene(oa.Object, frozen=True):
    gain: f32
    turns: i32
    light: Light
    wind: oa.vec3
    table: oa.inline[i32, 4]
    sun: Sun | None

    def lit(self, x: f32) -> f32:
        if self.light.on:
            return x * self.light.power
        return -x


class Indoors(Scene):
    walls: i32


class Thing(oa.Object):
    x: f32
    scene: Scene | None


@oa.kernel
def render(things: oa.Array[Thing], scene: Scene, out: oa.Array[f64], step: i32) -> None:
    i = oa.grid(1)
    x = things[i].x * scene.gain + scene.wind.y
    for k in range(scene.turns):
        x += f32(scene.table[1] + k)
    x = scene.lit(x)
    heat = f64(step)
    sun = scene.sun
    if sun is not None:
        heat += sun.heat * f64(sun.light.power)
    out[i] = f64(x) + heat


@oa.kernel
def through(things: oa.Array[Thing], out: oa.Array[f64]) -> None:
    """Nobody knows which scene it is."""
    i = oa.grid(1)
    scene = things[i].scene
    out[i] = 0.0 if scene is None else f64(scene.gain)


KERNELS: tuple[Kernel, ...] = (render, through)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (
        ("looks", 2), ("worth", 0.0), ("launches_on_device", 2), ("pairs", 1),
        ("least_part", -1e9), ("least_seconds", -1e9),
    ):  # fmt: skip
        monkeypatch.setattr(policy, name, value)
    for kernel in KERNELS:
        kernel.program._drop_units()
    with knobs.scope(background=False):
        yield


@pytest.fixture(params=BACKENDS)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with oa.Heap(backend=BACKENDS[request.param](), capacity="64MiB", initial_region=64) as made:
        yield made


def scene_of(heap: oa.Heap, cls: type = Scene, **values: Any) -> Any:
    sun = heap.new(Sun, 1, heat=0.1, light=Light(3.0, True))[0]
    usual = {
        "gain": 0.5, "turns": 2, "light": Light(2.0, True), "wind": oa.vec3(1.0, -0.25, 3.0),
        "table": [[4, 5, 6, 7]], "sun": sun,
    }  # fmt: skip
    return heap.new(cls, 1, **{**usual, **values})[0]


@np.errstate(invalid="ignore")
def check(out: Any, things: Any, scene: Any, step: int) -> None:
    """By what the host reads."""
    found = []
    for thing in things:
        x = np.float32(thing.x) * np.float32(scene.gain) + np.float32(scene.wind.y)
        for k in range(scene.turns):
            x += np.float32(scene.table[1] + k)
        x = x * np.float32(scene.light.power) if scene.light.on else -x
        sun = scene.sun
        heat = 0.0 if sun is None else float(sun.heat) * float(sun.light.power)
        found.append(float(x) + (step + heat if sun is not None else float(step)))
    np.testing.assert_array_equal(out.numpy(), found)


def known(jobs: list[Job]) -> list[int]:
    """How many values of frozen objects each job knows."""
    found = []
    for job in jobs:
        objects = [each for _, each in job.facts.asked("frozen") if each is not None]
        found.append(sum(len(each.contents) for each in objects))
    return found


@pytest.mark.parametrize("way", ["steps", "launches"])
def test_results_are_those_of_what_is_read(heap: oa.Heap, way: str, compiled: list[Job]) -> None:
    things = heap.new(Thing, COUNT, x=[float(n) for n in range(COUNT)])
    out = heap.zeros(COUNT, f64)
    for change in (
        {}, {"gain": -0.0, "light": Light(0.0, False)}, {"gain": math.inf, "sun": None},
        {"turns": 0},
    ):  # fmt: skip
        scene = scene_of(heap, **change)
        if way == "steps":
            with oa.capture() as step:
                render[COUNT](things, scene, out, 1)
            step.run(2)
            check(out, things, scene, 1)
            continue
        for number in range(8):
            render[COUNT](things, scene, out, number)
            check(out, things, scene, number)
    if heap.backend.name != "python":
        assert max(known(compiled)) == 12


def test_nothing_is_loaded(compiled: list[Job]) -> None:
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        things, out = heap.new(Thing, COUNT, x=1.0), heap.zeros(COUNT, f64)
        scene = scene_of(heap)
        with oa.capture() as step:
            render[COUNT](things, scene, out, 3)
        step.run()
        (variant,) = render.program.variants(heap, heap.mode, False)
        text = str(variant.products["ptx"])
        assert text.count("ld.global") == 1, "the x of a thing"
        assert "with step = 3, scene = one object: code of its own" in render.explain()
        assert "scene: always one object, 12 values known" in str(variant.job)


def test_a_deleted_object_is_not_remembered(heap: oa.Heap, compiled: list[Job]) -> None:
    """Another one comes to lie in its place."""
    things, out = heap.new(Thing, COUNT, x=1.0), heap.zeros(COUNT, f64)
    scene = scene_of(heap, sun=None)
    heap.new(Scene, 3)
    for gain in (0.5, 2.0, 3.0):
        if gain != 0.5:
            place = scene._reference
            oa.delete(scene)
            scene = scene_of(heap, sun=None, gain=gain)
            assert heap.backend.name == "python" or scene._reference == place
        for _ in range(6):
            render[COUNT](things, scene, out, 0)
            check(out, things, scene, 0)


def test_moved_objects(heap: oa.Heap) -> None:
    things, out = heap.new(Thing, COUNT, x=1.0), heap.zeros(COUNT, f64)
    others = heap.new(Scene, 100)
    scene = scene_of(heap)
    with oa.capture() as step:
        render[COUNT](things, scene, out, 1)
    step.run()
    heap.delete(others)
    heap.new(Scene, 5, gain=7.0)
    oa.compact(Scene)
    step.run()
    check(out, things, scene, 1)
    for _ in range(6):
        render[COUNT](things, scene, out, 0)
        check(out, things, scene, 0)


def test_subclasses_and_other_scenes(heap: oa.Heap) -> None:
    things, out = heap.new(Thing, COUNT, x=1.0), heap.zeros(COUNT, f64)
    scenes = [scene_of(heap), scene_of(heap, Indoors, gain=9.0, walls=3), scene_of(heap, turns=1)]
    for many in range(2, 8):  # code knows the first one by now, is being compared, or not yet
        render.program._drop_units()
        for scene in (*[scenes[0]] * many, *scenes):
            render[COUNT](things, scene, out, 0)
            check(out, things, scene, 0)
    for number in range(30):
        scene = scenes[number // 6 % 3 if number < 24 else number % 3]
        render[COUNT](things, scene, out, number % 5 // 3)
        check(out, things, scene, number % 5 // 3)
    things.scene = scenes[1]
    for _ in range(6):
        through[COUNT](things, out)
    assert out.numpy().tolist() == [9.0] * COUNT


def test_large_objects_are_read(compiled: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_contents, "MOST_BYTES", 32)
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        things, out = heap.new(Thing, COUNT, x=1.0), heap.zeros(COUNT, f64)
        scene = scene_of(heap)
        for number in range(8):
            render[COUNT](things, scene, out, number)
            check(out, things, scene, number)
    assert not any(known(compiled))


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a field": lambda one, all: setattr(one, "gain", 1.0),
    "an inline array": lambda one, all: setattr(one, "table", [1, 2, 3, 4]),
    "an element": lambda one, all: one.table.__setitem__(0, 1),
    "some elements": lambda one, all: one.table.__setitem__(slice(0, 2), 1),
    "elements that were read": lambda one, all: one.table[:2].__setitem__(0, 1),
    "a field of many": lambda one, all: setattr(all, "gain", 1.0),
    "a view": lambda one, all: all.gain.__setitem__(0, 1.0),
    "all of a view": lambda one, all: all.gain.__setitem__(slice(None), 1.0),
    "a component": lambda one, all: all.light["power"].__setitem__(0, 1.0),
    "in place": lambda one, all: all.gain.__iadd__(1.0),
    "NumPy": lambda one, all: all.gain.numpy().__setitem__(0, 1.0),
    "NumPy, of a view": lambda one, all: all.gain[...].__setitem__(0, 1.0),
    "NumPy, of rows": lambda one, all: all.table[0].__setitem__(0, 1),
    "NumPy, of a vector": lambda one, all: all.wind.numpy().__setitem__((0, 0), 1),
    "NumPy in place": lambda one, all: np.add(all.gain, 1.0, out=all.gain),
    "references": lambda one, all: all.sun.__setitem__(0, None),
    "all references": lambda one, all: setattr(all, "sun", None),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("layout", ["aos", "tile"])
def test_the_host_cannot_write(write: str, layout: str) -> None:
    for backend in ("cpu", "python"):
        with oa.Heap(backend=backend, capacity="64MiB", layout=layout) as heap:
            scene = scene_of(heap)
            scenes = heap.array(Scene, [scene])
            for objects in (scenes, oa.all(Scene)):
                with pytest.raises((SharedOAError, ValueError, TypeError)) as caught:
                    WRITES[write](scene, objects)
                assert "frozen" in str(caught.value) or "read-only" in str(caught.value)
            assert (scene.gain, list(scene.table)) == (0.5, [4, 5, 6, 7]) and scene.sun is not None
            assert (scene.light.power, scene.wind.x) == (2.0, 1.0)


def scenes_change() -> list[Kernel]:
    @oa.kernel
    def field(scene: Scene) -> None:
        scene.gain = 1.0

    @oa.kernel
    def element(scene: Indoors) -> None:
        scene.table[oa.grid(1)] += 1

    @oa.kernel
    def member(things: oa.Array[Thing]) -> None:
        scene = things[0].scene
        if scene is not None:
            scene.light.power = 1.0

    @oa.kernel
    def atomic(scene: Scene) -> None:
        oa.atomic_add(scene, "turns", 1)

    @oa.kernel
    def new(things: oa.Array[Thing]) -> None:
        things[0].scene = oa.new(Scene, gain=1.0)

    @oa.kernel
    def end(scene: Scene) -> None:
        oa.delete(scene)

    return [field, element, member, atomic, new, end]


@pytest.mark.parametrize("kernel", scenes_change(), ids=lambda kernel: kernel.name)
def test_kernels_cannot_write(kernel: Kernel) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"), pytest.raises(CompileError, match="frozen"):
        kernel.compile("host")


def test_cpython_cannot_write_in_kernels() -> None:
    with oa.Heap(backend="python", capacity="64MiB") as heap:
        scene = scene_of(heap)
        with pytest.raises(SharedOAError, match="frozen"):
            scenes_change()[0][1](scene)
        assert scene.gain == 0.5


def test_what_can_be_frozen() -> None:
    with pytest.raises(ClassError, match="neither True nor False"):
        type(oa.Object)("A", (oa.Object,), {"__module__": __name__}, frozen=1)
    with pytest.raises(ClassError, match="is frozen"):
        type(oa.Object)("B", (Scene,), {"__module__": __name__}, frozen=False)
    with pytest.raises(ClassError, match="cannot be frozen: fields that it has from Thing"):
        type(oa.Object)("C", (Thing,), {"__module__": __name__}, frozen=True)
    with pytest.raises(ClassError, match="has an __init__"):
        members = {"__module__": __name__, "__init__": lambda self: None}
        type(oa.Object)("D", (oa.Object,), members, frozen=True)
