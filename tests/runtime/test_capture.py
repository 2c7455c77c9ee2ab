"""``oa.capture()``: a step does what its launches do by hand, whatever happens between runs."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32

from ..differential.effort import examples


class Animal(oa.Object):
    weight: f32

    def sound(self) -> f32: ...

    def gain(self, by: f32):
        self.weight += by

    def doubled(self) -> f32:
        return self.weight * 2.0


class Dog(Animal):
    def sound(self) -> f32:
        return self.weight * 0.5


class Cat(Animal):
    def sound(self) -> f32:
        return self.weight + 1.0


class Bird(Animal):
    def sound(self) -> f32:
        return -self.weight


@oa.kernel
def feed(animals: oa.Array[Animal], by: f32):
    animals[oa.grid(1)].weight += by


@oa.kernel
def listen(animals: oa.Array[Animal], heard: oa.Array[f32]):
    i = oa.grid(1)
    heard[i] += animals[i].sound()


@oa.kernel
def turn(animals: oa.Array[Animal], into: oa.Array[Animal]):
    i = oa.grid(1)
    into[i] = animals[len(animals) - 1 - i]


@oa.kernel
def copy(source: oa.Array[f32], target: oa.Array[f32], factor: f32 = 1.0):
    i = oa.grid(1)
    target[i] = source[i] * factor


@oa.kernel
def pick(values: oa.Array[i32], index: i32):
    values[oa.grid(1)] = values[index]


class Farm:
    """The same animals each time, and what one can do with them."""

    COUNT = 9

    def __init__(self, heap: oa.Heap) -> None:
        self.heap = heap
        self.dogs = oa.new(Dog, 5, weight=[1, 2, 3, 4, 5])
        # Fills the region, so that it is a run.
        self.pack = oa.array(Animal, oa.new(Dog, 3, weight=100.0))
        self.cats = oa.new(Cat, 4, weight=[10, 20, 30, 40])
        self.animals = oa.concat(self.dogs, self.cats)
        self.other = oa.concat(self.cats, self.dogs)
        self.heard = oa.zeros(self.COUNT, f32)
        self.extra: list[oa.ObjectArray] = []

    def launch(self, what: str) -> None:
        match what:
            case "feed the dogs":
                feed[5](self.dogs, 1.5)
            case "feed":
                feed[self.COUNT](self.animals, -0.25)
            case "listen to the dogs":
                listen[5](self.dogs, self.heard)
            case "listen":
                listen[self.COUNT](self.other, self.heard)
            case "turn":
                turn[self.COUNT](self.animals, self.other)
            case "turn the dogs":
                turn[3](self.dogs, self.pack)
            case "listen to the pack":
                listen[3](self.pack, self.heard)
            case "gain":
                self.cats.gain(2.0)
            case "nothing":
                feed[0](self.animals, 1.0)

    def change(self, what: str) -> None:
        match what:
            case "write a field":
                self.dogs.weight += 3.0
            case "write an object":
                self.cats[2].weight = 7.0
            case "write numbers":
                self.heard[4] = 0.5
            case "write a reference":
                self.other[3] = self.dogs[0]
            case "write a reference to a run":
                self.pack[1] = self.dogs[3]
            case "more dogs":
                self.extra.append(oa.new(Dog, 70, weight=2.0))
            case "a bird":
                self.other[0] = oa.new(Bird, weight=6.0)
            case "delete":
                if self.extra:
                    oa.delete(self.extra.pop())
            case _:
                self.launch(what)

    def state(self) -> list[list[float]]:
        arrays = self.dogs, self.pack, self.cats, self.animals, self.other
        fields = [objects.weight.numpy().tolist() for objects in arrays]
        return [*fields, self.heard.numpy().tolist()]


LAUNCHES = (
    "feed the dogs", "feed", "listen to the dogs", "listen", "turn", "turn the dogs",
    "listen to the pack", "gain", "nothing",
)  # fmt: skip
CHANGES = (
    "write a field", "write an object", "write numbers", "write a reference",
    "write a reference to a run", "more dogs", "a bird", "delete", "feed", "turn",
)  # fmt: skip
histories = st.lists(st.one_of(st.sampled_from(CHANGES), st.integers(0, 3)), max_size=8)


def compare(mode: str, backend: str, launches: list[str], history: list[str | int]) -> None:
    with oa.Heap(mode, backend, capacity="64MiB", initial_region=8) as captured:
        farm = Farm(captured)
        with oa.capture() as step:
            for what in launches:
                farm.launch(what)
    with oa.Heap(mode, backend, capacity="64MiB", initial_region=8) as by_hand:
        twin = Farm(by_hand)
    for event in [*history, 1]:
        if isinstance(event, int):
            step.run(event)
            with by_hand:
                for what in launches * event:
                    twin.launch(what)
        else:
            with captured:
                farm.change(event)
            with by_hand:
                twin.change(event)
        assert farm.state() == twin.state()


@pytest.mark.parametrize("mode", ["auto", "coal", "typepointer", "concord"])
@settings(max_examples=examples(18))
@example(launches=["listen to the pack"], history=["write a reference to a run"])
@example(launches=["turn the dogs", "listen to the pack"], history=[2])
@example(launches=["listen"], history=["more dogs", "a bird", 1, "delete"])
@given(launches=st.lists(st.sampled_from(LAUNCHES), min_size=1, max_size=5), history=histories)
def test_a_step_is_its_launches(mode, launches, history):
    compare(mode, "cpu", launches, history)


@settings(max_examples=examples(10))
@given(launches=st.lists(st.sampled_from(LAUNCHES), min_size=1, max_size=3), history=histories)
def test_a_step_in_cpython(launches, history):
    compare("auto", "python", launches, history)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["auto", "coal", "concord"])
@settings(max_examples=15)
@given(launches=st.lists(st.sampled_from(LAUNCHES), min_size=1, max_size=5), history=histories)
def test_a_step_on_a_gpu(mode, launches, history):
    compare(mode, "cuda", launches, history)


def test_nothing_runs_in_the_block(heap):
    numbers, copies = oa.array(f32, range(4)), oa.zeros(4, f32)
    with oa.capture() as step:
        copy[4](numbers, copies, 2.0)
        copy[4](target=numbers, source=copies)
    assert copies.numpy().tolist() == [0, 0, 0, 0]
    step.run(0)
    assert copies.numpy().tolist() == [0, 0, 0, 0]
    step.run()
    assert numbers.numpy().tolist() == copies.numpy().tolist() == [0, 2, 4, 6]
    step.run(n=2)
    assert numbers.numpy().tolist() == [0, 8, 16, 24]


def test_an_empty_step(heap):
    with oa.capture() as step:
        pass
    step.run(5)


def test_results_of_methods_are_filled_by_every_run(heap):
    cats = oa.new(Cat, 3, weight=[1, 2, 3])
    with oa.capture() as step:
        sounds = cats.sound()
        copy[3](sounds, sounds, 10.0)
    for weight in (1, 5):
        cats.weight = weight
        step.run()
        assert sounds.numpy().tolist() == [10 * (weight + 1)] * 3


def test_launch_options():
    with oa.Heap(mode="header+vtable", backend="cpu", debug=True):
        farm = Farm(oa.current_heap())
        with oa.capture() as step:
            listen[9](farm.animals, farm.heard, mode="header+switch", debug=False)
        step.run()
        twin = Farm(oa.current_heap())
        twin.launch("listen")
        assert farm.heard.numpy().tolist() == [0.5, 1, 1.5, 2, 2.5, 11, 21, 31, 41]


def test_a_redefined_method_is_called(heap):
    class Counter(oa.Object):
        count: i32

        def step(self) -> i32:
            return self.count

    counters = oa.new(Counter, 4, count=5)
    with oa.capture() as step:
        results = counters.step()
    step.run()
    assert results.numpy().tolist() == [5] * 4

    def count_on(self) -> i32:
        return self.count + 1

    Counter.step = count_on
    step.run()
    assert results.numpy().tolist() == [6] * 4

    class Later(Counter):
        def step(self) -> i32:
            return -self.count

    counters[1] = oa.new(Later, count=3)
    step.run()
    assert results.numpy().tolist() == [6, -3, 6, 6]


def test_a_method_redefined_with_other_types(heap):
    class Counter(oa.Object):
        count: i32

        def step(self) -> i32:
            return self.count

    counters = oa.new(Counter, 4, count=5)
    with oa.capture() as step:
        counters.step()
    step.run()

    def in_halves(self) -> f32:
        return self.count * 0.5

    if heap.backend.name != "python":
        setattr(Counter, "step", in_halves)  # noqa: B010  of another type
        with pytest.raises(oa.SharedOAError, match="types"):
            step.run()


def test_heaps_share_a_kernel(mode, backend):
    """The state block of loaded code is that of one heap at a time."""
    farms = []
    for _ in range(2):
        with oa.Heap(mode, backend, capacity="64MiB", initial_region=8) as heap:
            farm = Farm(heap)
            with oa.capture() as step:
                farm.launch("listen")
            farms.append((heap, farm, step))
    for round in range(1, 4):
        for heap, farm, step in farms:
            step.run()
            with heap:
                farm.launch("listen")
            assert farm.heard.numpy()[4] == pytest.approx(2 * round * 0.5)


ACCESSES = {
    "read": lambda farm: farm.heard[0],
    "view": lambda farm: farm.heard.numpy(),
    "field of one": lambda farm: farm.dogs[0],
    "write": lambda farm: farm.heard.__setitem__(0, 1),
    "field": lambda farm: setattr(farm.dogs, "weight", 1),
    "delete": lambda farm: oa.delete(farm.dogs),
    "wait": lambda farm: oa.synchronize(),
    "new": lambda farm: oa.new(Dog, 3),
    "one new": lambda farm: Dog(weight=1),
    "zeros": lambda farm: oa.zeros(3, f32),
    "array": lambda farm: oa.array(f32, [1, 2]),
    "concat": lambda farm: oa.concat(farm.dogs, farm.cats),
    "results of a population": lambda farm: oa.all(Dog).sound(),
    "capture": lambda farm: oa.capture().__enter__(),
}


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_a_block_may_not_do(backend, access):
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        farm = Farm(heap)
        before = farm.state()
        with oa.capture() as step:
            farm.launch("feed")
            with pytest.raises(oa.HeapError, match=r"block of oa.capture\(\)") as caught:
                ACCESSES[access](farm)
            assert caught.value.help
        assert farm.state() == before
        step.run()
        assert farm.state() != before


def test_another_heap_may_be_used_in_a_block_but_not_launched_on():
    with oa.Heap(backend="cpu", capacity="64MiB") as other:
        numbers = oa.zeros(3, f32)
    with oa.Heap(backend="cpu", capacity="64MiB"):
        with oa.capture():
            numbers[0] = 1.0
            with other:
                assert len(oa.new(Dog, 3)) == 3
            with pytest.raises(oa.ArgumentError, match="launched on another heap"):
                copy[3](numbers, numbers)
    assert numbers[0] == 1.0


def test_mistakes_are_found_in_the_block(heap):
    numbers = oa.zeros(3, f32)
    with oa.capture() as step:
        with pytest.raises(oa.ArgumentError, match="takes 3 arguments, not 4"):
            copy[3](numbers, numbers, 1.0, 1.0)
        with pytest.raises(oa.ArgumentError, match="factor takes f32"):
            copy[3](numbers, numbers, "two")
    step.run()


def test_an_error_drops_the_recording(heap):
    numbers = oa.array(f32, [1, 2, 3])
    step = oa.capture()
    with pytest.raises(ZeroDivisionError), step:
        copy[3](numbers, numbers, 2.0)
        _ = 1 / 0
    with pytest.raises(oa.HeapError, match="block ended with an error"):
        step.run()
    with pytest.raises(oa.HeapError, match="one block"), step:
        pass
    copy[3](numbers, numbers, 3.0)
    assert numbers.numpy().tolist() == [3, 6, 9]


@pytest.mark.parametrize("n", [-1, 1.5, "2", None])
def test_numbers_of_runs_that_are_refused(heap, n):
    with oa.capture() as step:
        pass
    with pytest.raises(oa.ArgumentError, match="step"):
        step.run(n)


def test_running_in_a_block_is_refused(heap):
    with oa.capture() as step:
        with pytest.raises(oa.HeapError, match="its block has not ended"):
            step.run()
    with oa.capture():
        with pytest.raises(oa.HeapError, match="run inside a block"):
            step.run()


def test_other_threads_launch_as_ever(heap):
    numbers, copies = oa.array(f32, [1, 2]), oa.zeros(2, f32)
    with oa.capture():
        thread = threading.Thread(target=lambda: copy[2](numbers, copies, 5.0))
        thread.start()
        thread.join()
    assert copies.numpy().tolist() == [5, 10]


def test_threads_run_steps_side_by_side():
    """Each on a heap of its own, whose state blocks are the other's as well."""
    failures: list[object] = []

    def work(seed: int) -> None:
        with oa.Heap("auto", "cpu", capacity="64MiB", initial_region=8) as heap:
            oa.new(Bird, seed)
            farm = Farm(heap)
            with oa.capture() as step:
                farm.launch("listen to the dogs")
                farm.launch("listen")
            for _ in range(50):
                step.run(2)
            expected = 100 * (np.array([1, 2, 3, 4, 5]) * 0.5 + np.array([11, 21, 31, 41, 0.5]))
            if not np.allclose(farm.heard.numpy()[:5], expected):
                failures.append(farm.heard.numpy())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_device_errors_are_raised_by_the_next_wait(backend):
    with oa.Heap(backend=backend, debug=True, capacity="64MiB"):
        values = oa.zeros(3, i32)
        with oa.capture() as step:
            pick[3](values, 7)
        for _ in range(2):
            step.run(2)
            with pytest.raises(oa.DeviceError, match="index 7 is out of bounds for length 3"):
                oa.synchronize()
        assert values.numpy().tolist() == [0, 0, 0]


def test_errors_in_cpython_come_from_the_run():
    with oa.Heap(backend="python", capacity="64MiB"):
        values = oa.zeros(3, i32)
        with oa.capture() as step:
            pick[3](values, 7)
        with pytest.raises(oa.DeviceError, match="index 7"):
            step.run()


def test_a_step_keeps_its_arrays_and_outlives_the_with_statement(backend):
    with oa.Heap(backend=backend, capacity="64MiB") as heap:
        seen = oa.zeros(4, f32)
        hidden = oa.array(f32, range(4))
        with oa.capture() as step:
            copy[4](hidden, hidden, 2.0)
            copy[4](hidden, seen)
        gone = weakref.ref(hidden)
        del hidden
        oa.synchronize()
        oa.array(f32, [9] * 4)
    step.run(3)
    assert seen.numpy().tolist() == [0, 8, 16, 24]
    del step, heap
    gc.collect()
    assert gone() is None
