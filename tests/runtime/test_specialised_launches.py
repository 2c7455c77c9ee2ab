"""Numbers that launches repeat become constants of their code: results are the same, whatever
numbers come next, and what that costs is bounded."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8
from sharedoa.ir.job import Job
from sharedoa.runtime import background, knobs, launch, specialisation
from sharedoa.runtime.kernel import Kernel
from sharedoa.runtime.specialisation import MOST_VARIANTS, policy
from tests.codegen.interpreted import InterpretedGpu

from ..modes import quick_modes

COUNT = 8
BACKENDS: dict[str, Callable[[], Any]] = {
    "cpu": lambda: "cpu", "python": lambda: "python", "interpreted": InterpretedGpu,
}  # fmt: skip
COMPILED = ("cpu", "interpreted")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two equal launches are enough; variants are compiled by launches and taken for better."""
    monkeypatch.setattr(policy, "looks", 2)
    monkeypatch.setattr(policy, "worth", 0.0)
    monkeypatch.setattr(policy, "launches_on_device", 2)
    monkeypatch.setattr(policy, "pairs", 1)
    monkeypatch.setattr(policy, "least_part", -1e9)
    monkeypatch.setattr(policy, "least_seconds", -1e9)
    for kernel in KERNELS:
        kernel.program._drop_units()
    with knobs.scope(background=False):
        yield


class Body(oa.Object):
    x: f32
    hits: i32

    def move(self, dt: f32, turns: i32, back: bool) -> None:
        for _ in range(turns):
            self.x += -dt if back else dt
        self.hits += 1

    def split(self, limit: i32, weight: f32) -> None:
        if self.hits >= limit:
            oa.new(Body, x=self.x * weight)
            self.hits = 0
        else:
            self.hits += 1


class Planet(Body):
    def move(self, dt: f32, turns: i32, back: bool) -> None:
        self.x = self.x * dt + f32(turns)


@oa.kernel
def numbers(out: oa.Array[f64], i: i32, j: i64, b: bool, n: u8, x: f32, y: f64) -> None:
    k = oa.grid(1)
    out[6 * k] = f64(i * 3 + k)
    out[6 * k + 1] = f64(j - i64(i))
    out[6 * k + 2] = 1.0 if b else -1.0
    out[6 * k + 3] = f64(n // u8(3))
    out[6 * k + 4] = 1.0 / f64(x) if x != 2.0 else f64(x * f32(0.1))
    out[6 * k + 5] = np.copysign(1.0, y) + y


@oa.kernel
def sides(before: oa.Array[f32], left: i32, after: oa.Array[f32], a: f32, right: i32) -> None:
    """Numbers that are not side by side among the arguments."""
    i = oa.grid(1)
    after[i] = before[i] * a + f32(left - 10 * right)


@oa.kernel
def ways(out: oa.Array[i64], way: i32) -> None:
    i = oa.grid(1)
    total = i64(0)
    for k in range(way):
        total += i64(k * i)
    out[i] = total


@oa.kernel
def hands(bodies: oa.Array[Body], dt: f32, turns: i32, back: bool) -> None:
    bodies[oa.grid(1)].move(dt, turns, back)


KERNELS: tuple[Kernel, ...] = (numbers, sides, ways, hands)


def constants(jobs: list[Job]) -> list[dict[str, Any]]:
    """What each job knows, by parameter."""
    return [
        {job.program.kernel.parameters[n].name: x for n, x in job.facts.constants.items()}
        for job in jobs
    ]


@pytest.fixture(params=COMPILED)
def heap(request: pytest.FixtureRequest) -> Iterator[oa.Heap]:
    with oa.Heap(backend=BACKENDS[request.param](), capacity="64MiB", initial_region=64) as made:
        yield made


VALUES = [
    (1, 2, True, 7, 0.5, 0.25), (0, -1, False, 0, 0.0, -0.0), (-5, 1 << 40, True, 255, -0.0, 0.0),
    (1 << 30, 0, False, 3, 1e-45, 5e-324), (7, 7, True, 9, math.inf, -math.inf),
    (7, 7, True, 9, math.nan, math.nan), (2, 2, False, 1, 2.0, 1e300),
]  # fmt: skip


@pytest.mark.parametrize("values", VALUES)
def test_results_are_those_of_variables(
    heap: oa.Heap, values: tuple[Any, ...], compiled: list[Job]
) -> None:
    out = heap.zeros(6 * COUNT, f64)
    with knobs.scope(specialise=False):
        numbers[COUNT](out, *values)
        expected = out.numpy().tobytes()
    numbers.program._drop_units()
    for _ in range(8):
        out[:] = 0.0
        numbers[COUNT](out, *values)
        assert out.numpy().tobytes() == expected
    names = ("i", "j", "b", "n", "x", "y")
    typed = (*values[:4], float(f32(values[4])), values[5])
    known = {n: v for n, v in zip(names, typed, strict=True) if v == v}
    assert repr(constants(compiled)[1:]) == repr([{}, known])
    if heap.backend.name == "interpreted":
        (variant,) = numbers.program.variants(heap, heap.mode, False)
        text = str(variant.products["ptx"])
        symbol = variant.lowered.kernel_symbol
        read = {n for n in range(8) if f"[{symbol}_param_{n}]" in text}
        places = {2 + names.index(name) for name in names if name not in known}
        assert read - {8, 9} == {0} | places


def test_each_launch_sees_its_own_numbers(heap: oa.Heap, compiled: list[Job]) -> None:
    """Numbers that compare equal and are not, and equal ones of other classes."""
    out = heap.zeros(6 * COUNT, f64)
    base: tuple[Any, ...] = (1, 1, True, 1, 0.0, 0.0)
    others = [
        (4, -0.0), (5, -0.0), (4, math.nan), (0, True), (2, False), (2, np.bool_(True)),
        (4, np.float32(0.0)), (4, np.float64(-0.0)), (0, np.int32(1)), (0, np.int64(2)), (3, 255),
        (5, 0), (1, np.uint8(1)),
    ]  # fmt: skip
    for place, other in others:
        for values in (base, base, (*base[:place], other, *base[place + 1 :]), base):
            numbers[COUNT](out, *values)
            assert out.numpy().tobytes() == oracle(*values).tobytes(), (place, other)
    assert len(compiled) <= 1 + MOST_VARIANTS


def oracle(i: Any, j: Any, b: Any, n: Any, x: Any, y: Any) -> Any:
    x, y = np.float32(x), np.float64(y)
    out = np.zeros((COUNT, 6))
    with np.errstate(all="ignore"):
        for k in range(COUNT):
            fifth = 1.0 / np.float64(x) if x != 2.0 else np.float64(x * np.float32(0.1))
            out[k] = (
                int(i) * 3 + k, int(j) - int(i), 1.0 if b else -1.0, int(n) // 3, fifth,
                np.copysign(1.0, y) + y,
            )  # fmt: skip
    return out


def test_only_those_that_repeat(heap: oa.Heap, compiled: list[Job]) -> None:
    before, after = heap.array(f32, [2.0] * COUNT), heap.zeros(COUNT, f32)
    for step in range(12):
        sides[COUNT](before, 4, after, 0.5, step)
        assert after.numpy().tolist() == [5.0 - 10 * step] * COUNT
    assert constants(compiled) == [{}, {"left": 4, "a": 0.5}]
    sides[COUNT](before, 3, after, 0.5, 1)
    assert after.numpy().tolist() == [-6.0] * COUNT
    sides[COUNT](before, 4, after, -0.5, 1)
    assert after.numpy().tolist() == [-7.0] * COUNT


def test_numbers_that_always_change_cost_nothing(heap: oa.Heap, compiled: list[Job]) -> None:
    out = heap.zeros(COUNT, i64)
    limit = 3 * (policy.looks + max(specialisation._PAUSES))
    with knobs.scope(specialise=True):
        for way in range(limit if heap.backend.name == "cpu" else 40):
            ways[1](out, way)
    assert len(compiled) == 1
    if heap.backend.name == "cpu":
        program = ways.program
        assert program.specialisation._watch is None and not program.specialisation._chosen
        ways[1](out, 3)
        (start,) = program.binding.starts.values()
        assert start.__module__ != specialisation.__name__


def test_variants_are_few(heap: oa.Heap, compiled: list[Job]) -> None:
    out = heap.zeros(COUNT, i64)
    for way in range(30):
        for _ in range(12):
            ways[COUNT](out, way)
        assert out.numpy()[2] == way * (way - 1)
    assert 1 < len(compiled) <= 1 + MOST_VARIANTS


def test_a_slower_variant_is_dropped(compiled: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "least_part", 1e9)
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(20):
            ways[COUNT](out, 3)
        assert constants(compiled) == [{}, {"way": 3}]
        assert not ways.program.binding.constants
        text = ways.explain()
        assert "with way = 3: code of its own" in text
        assert "no launch runs it, as it saves too little, " in text
        with oa.capture() as step:
            ways[COUNT](out, 3)
        step.run()
        assert len(compiled) == 2 and out.numpy()[2] == 6


def test_a_variant_that_saves_time_is_kept(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(20):
            ways[COUNT](out, 3)
        assert constants(compiled) == [{}, {"way": 3}] and ways.program.binding.constants
        assert "; launches run it, " in ways.explain()
        ways[COUNT](out, 4)
        assert "; captured steps run it, " in ways.explain()


@pytest.mark.parametrize(
    ("uses", "is_kept"),
    [
        ({"stack": 8, "registers": 40}, False), ({"stack": 0, "registers": 40}, False),
        ({"stack": 0, "registers": 32}, True), ({"stack": 0, "registers": 20}, True),
    ],
)  # fmt: skip
def test_what_a_device_says_of_the_code(uses: dict[str, int], is_kept: bool) -> None:
    class Device(InterpretedGpu):
        asked: list[Any] = []

        def attributes(self, handle: Any) -> dict[str, int]:
            if handle not in self.asked:
                self.asked.append(handle)
            return uses if self.asked.index(handle) else {"stack": 0, "registers": 32}

    with oa.Heap(backend=Device(), capacity="64MiB") as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(30):
            ways[COUNT](out, 3)
        assert bool(ways.program.binding.constants) is is_kept
        assert out.numpy()[2] == 6


def test_launches_that_make_objects(compiled: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is made ready by itself, and counts."""
    monkeypatch.setattr(policy, "looks", 3)
    monkeypatch.setattr(policy, "launches_on_device", 10)
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB", initial_region=64) as heap:
        heap.new(Body, COUNT, x=1.0)
        for _ in range(20):
            oa.all(Body).split(40, 0.5)
        assert [each for each in constants(compiled) if each] == [{"limit": 40, "weight": 0.5}]
        for _ in range(30):
            oa.all(Body).split(40, 0.5)
        assert [int(each.hits) for each in oa.all(Body)] == [9] * (2 * COUNT)


def test_several_sizes(heap: oa.Heap) -> None:
    """By turns; a variant is compared with launches of the same size."""
    out = heap.zeros(4 * COUNT, i64)
    for number in range(60):
        out[:] = -1
        size = (COUNT, 2 * COUNT, 4 * COUNT, 0)[number % 4]
        ways[size](out, 3)
        assert out.numpy().tolist() == [3 * i if i < size else -1 for i in range(4 * COUNT)]
    assert ways.program.specialisation._trial is None and ways.program.binding.constants


def test_launches_that_nobody_can_compare() -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(2000, i64)
        for size in range(1, 1200):
            ways[size](out, 3)
        assert ways.program.specialisation._trial is None
        assert not ways.program.binding.constants


def test_the_setting(compiled: list[Job]) -> None:
    with knobs.scope(specialise=False), oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(20):
            ways[COUNT](out, 3)
        assert len(compiled) == 1
        (start,) = ways.program.binding.starts.values()
        assert start.__module__ != specialisation.__name__


@pytest.mark.parametrize("settings", [{"debug": True}, {"fastmath": True}])
def test_where_results_might_differ(settings: dict[str, bool], compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB", **settings) as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(20):
            ways[COUNT](out, 3)
    assert len(compiled) == 1


def test_launches_with_settings_of_their_own(compiled: list[Job]) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        out = heap.zeros(COUNT, i64)
        for _ in range(20):
            ways[COUNT](out, 3, mode="auto")
            assert out.numpy()[2] == 6
    assert len(compiled) == 1


@pytest.mark.parametrize("backend", quick_modes("cpu", of=[*BACKENDS]))
def test_methods_of_populations(backend: str) -> None:
    """Populations that change in between, and numbers that do."""
    seen = []
    for specialises in (False, True):
        with (
            knobs.scope(specialise=specialises),
            oa.Heap(backend=BACKENDS[backend](), capacity="64MiB", initial_region=64) as heap,
        ):
            chance = random.Random(5)
            heap.new(Body, COUNT, x=[float(n) for n in range(COUNT)])
            choices = [(0.5, 3, False), (0.5, 3, True), (-0.0, 1, False)]
            arguments = choices[0]
            for step in range(40):
                if step % 7 == 6:
                    arguments = chance.choice(choices)
                if step in (10, 25):
                    heap.new(Planet, COUNT, x=1.0)
                if step in (20, 30):
                    heap.delete(next(iter(oa.all(Body))))
                oa.all(Body).move(*arguments)
                if step % 5 == 0:
                    oa.all(Body).split(2, 0.5)
                heap.array(Body, [*oa.all(Planet)][:3] or [*oa.all(Body)][:3]).move(*arguments)
            seen.append([(type(o).__name__, float(o.x), int(o.hits)) for o in oa.all(Body)])
    assert seen[0] == seen[1] and len(seen[0]) > COUNT


def test_a_method_that_is_redefined(heap: oa.Heap, compiled: list[Job]) -> None:
    class Item(oa.Object):
        x: i32

        def value(self, n: i32) -> i32:
            return self.x if n == 1 else 0

    @oa.kernel
    def values(items: oa.Array[Item], out: oa.Array[i32], n: i32) -> None:
        out[oa.grid(1)] = items[oa.grid(1)].value(n)

    items, out = heap.new(Item, COUNT, x=5), heap.zeros(COUNT, i32)
    for _ in range(6):
        values[COUNT](items, out, 1)
    assert out.numpy().tolist() == [5] * COUNT

    def value(self: Any, n: i32) -> i32:
        return self.x * 2 if n == 1 else 0

    Item.value = value  # type: ignore[method-assign]
    for _ in range(6):
        values[COUNT](items, out, 1)
        assert out.numpy().tolist() == [10] * COUNT
    assert constants(compiled) == [{}, {"n": 1}] * 2


def test_threads_with_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "pairs", 3)
    failures: list[Any] = []
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        outs = [heap.zeros(COUNT, i64) for _ in range(4)]

        def work(way: int, out: Any) -> None:
            with heap:
                for number in range(300):
                    now = way if number % 50 else 9
                    ways[COUNT](out, now)
                    if out.numpy()[1] != now * (now - 1) // 2:
                        failures.append((way, number))

        threads = [threading.Thread(target=work, args=each) for each in enumerate(outs)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not failures


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What is compiled beside launches waits for it; launches know nothing."""
    opened, compile = threading.Event(), launch.compile

    def waiting(job: Job, *instead: Any) -> Any:
        if threading.current_thread().name == "sharedoa background":
            assert opened.wait(60)
        else:
            assert job.facts._answer is not None and job.facts._answer(("constant", 1)) is None
        return compile(job, *instead)

    monkeypatch.setattr(launch, "compile", waiting)
    with knobs.scope(background=True):
        yield opened
    opened.set()
    assert background.wait()


@pytest.mark.parametrize("change", ["nothing", "the number", "a definition", "the population"])
def test_compiled_beside_the_launches(
    change: str, gate: threading.Event, heap: oa.Heap, compiled: list[Job]
) -> None:
    out = heap.zeros(COUNT, i64)

    def run(times: int, way: int = 3) -> None:
        for _ in range(times):
            ways[COUNT](out, way)
            assert out.numpy().tolist() == [i * way * (way - 1) // 2 for i in range(COUNT)]

    run(100)
    assert not ways.program.binding.constants
    if change == "the number":
        run(70, 5)
    elif change == "a definition":
        type("Other", (Body,), {"__module__": __name__})
    elif change == "the population":
        heap.new(Body, 200)
    gate.set()
    assert background.wait()
    if change == "the number":
        run(10)
        assert not ways.program.binding.constants
    else:
        run(100)
        assert ways.program.binding.constants == ((1, 3),)
        assert constants(compiled) == [{}, {"way": 3}]


@pytest.mark.parametrize("seed", range(3))
def test_random_histories(seed: int, heap: oa.Heap, compiled: list[Job]) -> None:
    """Runs of equal numbers, single changes, other arrays, new objects, another heap."""
    chance = random.Random(seed)
    pools: list[list[Any]] = [
        [1, 0, -7], [3, 1 << 40], [True, False], [0, 255], [0.0, -0.0, 2.0, math.nan], [0.0, -0.0],
    ]  # fmt: skip
    values = [pool[0] for pool in pools]
    with oa.Heap(backend="cpu", capacity="64MiB") as other:
        outs = [heap.zeros(6 * COUNT, f64), heap.zeros(6 * COUNT, f64), other.zeros(6 * COUNT, f64)]
        for step in range(60):
            if chance.random() < 0.3:
                place = chance.randrange(len(pools))
                values[place] = chance.choice(pools[place])
            if chance.random() < 0.05:
                heap.new(Body, 70)
            out = outs[0] if chance.random() < 0.8 else chance.choice(outs)
            numbers[COUNT](out, *values)
            assert out.numpy().tobytes() == oracle(*values).tobytes(), (step, values)
    assert len(compiled) <= 2 + 2 * MOST_VARIANTS


def test_launches_go_on_where_a_variant_cannot_be_compiled(
    heap: oa.Heap, compiled: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(specialisation, "_make", fails)
    out = heap.zeros(COUNT, i64)
    with knobs.scope(background=True):
        for _ in range(100):
            ways[COUNT](out, 5)
            assert background.wait()
    assert out.numpy().tolist() == [10 * i for i in range(COUNT)]
    assert constants(compiled) == [{}]
