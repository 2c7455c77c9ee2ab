"""Kernels give the same whatever clusters objects have, and whenever they get them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cache
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64
from sharedoa.model.clusters import Clusters
from tests.codegen.interpreted import InterpretedGpu

from ..modes import rotated
from .things import CLASSES, LARGE, SMALL, Minus, Pair, Thing

THING = Thing.__sharedoa__
NONE = Clusters()
FEW = NONE.replace(THING, [("number", "whole"), ("row",)])
MANY = NONE.replace(THING, [("number", "whole", "byte", "pair"), ("row",)])
STRUCT = NONE.replace(THING, [("whole", "byte", "pair")])
ALL = (NONE, FEW, MANY, STRUCT)


class LargeInterpretedGpu(InterpretedGpu):
    """Threads take groups of neighbours, as in launches that fill a GPU."""

    prefers_few_launches = True

    def keeps_busy(self, threads: tuple[int, int], block: tuple[int, int]) -> bool:
        return True


@cache
def interpreted(is_large: bool) -> InterpretedGpu:
    return LargeInterpretedGpu() if is_large else InterpretedGpu()


BACKENDS: dict[str, Callable[[], Any]] = {
    "cpu": lambda: "cpu",
    "python": lambda: "python",
    "few launches": lambda: SMALL,
    "groups": lambda: LARGE,
    "interpreted": lambda: interpreted(False),
    "interpreted groups": lambda: interpreted(True),
}


@oa.kernel
def visit(things: oa.Array[Thing], out: oa.Array[f64]):
    i = oa.grid(1)
    if i < len(things):
        this = things[i]
        peer = this.peer
        out[i] = peer.measure(i64(2), f32(0.5)) + f64(peer.pair.small) + f64(peer.row[i % 3])


@oa.kernel
def grow(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        this = things[i]
        this.pair = Pair(this.pair.small, this.pair.large + 1.0)


@oa.kernel
def count(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        oa.atomic_add(things[i % 5].row, 1, i32(i))
        oa.atomic_max(things[i % 5], "whole", i64(i))
        oa.atomic_add(things[3], "number", f32(1))


@oa.kernel
def swap(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        this = things[i]
        for k in range(3):
            this.row[k] = this.row[k] * i32(2) + i32(this.byte)
        this.number, this.whole = f32(this.whole), i64(this.number)


def results(heap: oa.Heap, between: Callable[[], None], rounds: int = 2) -> list[Any]:
    """What a long sequence of launches leaves, with ``between()`` between any two."""
    random, found = np.random.default_rng(4), []
    for cls, many in zip(CLASSES, (70, 45, 33), strict=True):
        heap.new(
            cls,
            many,
            number=random.integers(0, 9, many),
            whole=random.integers(0, 9, many),
            byte=random.integers(0, 9, many),
            pair=[Pair(int(n), n + 0.5) for n in random.integers(0, 9, many)],
            row=random.integers(0, 9, (many, 3)),
        )
    everything = oa.concat(oa.all(Thing))
    everything.peer = everything[np.random.default_rng(5).permutation(len(everything))]
    out = heap.zeros(len(everything), f64)
    for _ in range(rounds):
        between()
        visit[len(everything)](everything, out)
        found.append(out.numpy().tolist())
        between()
        grow[len(everything)](everything)
        between()
        count[len(everything)](everything)
        between()
        heap.all(Thing).change(f32(2))
        found.append(heap.all(Thing).of_peer().numpy().tolist())
        between()
        swap[len(everything)](everything)
        between()
        heap.all(Minus).change(heap.array(f32, np.arange(45)))
        found.append(heap.all(Thing).measure(i64(2), f32(0.25)).numpy().tolist())
        found.append(heap.all(Thing).pair_with(3).numpy().tolist())
        between()
        found.append(heap.all(Thing).branch(i64(6)).numpy().tolist())
    for name in ("number", "whole", "byte", "row"):
        found.append(getattr(everything, name).numpy().tolist())
    return found


@cache
def expected(rounds: int = 2) -> list[Any]:
    with oa.Heap("auto", "cpu", "aos", "64MiB", 32) as heap:
        return results(heap, lambda: None, rounds)


QUICK = {
    ("cpu", False, "64"), ("cpu", True, "32"), ("python", False, "64"),
    ("few launches", False, "32"), ("groups", False, "32"), ("interpreted", False, "64"),
}  # fmt: skip
CASES = [
    pytest.param(*case, marks=[pytest.mark.slow] * (case not in QUICK))
    for case in product(BACKENDS, (False, True), ("64", "32"))
    # The checks of debug mode, which take long, are the same for both widths.
    if not (case[0].startswith("interpreted") and case[1:] == (True, "64"))
]


@pytest.mark.parametrize(("backend", "debug", "references"), CASES)
def test_launches_between_which_clusters_change(backend: str, debug: bool, references: str) -> None:
    with oa.Heap(
        "auto", BACKENDS[backend](), "tile", "64MiB", 32, debug=debug, references=references
    ) as heap:
        others, rounds = cycle(ALL), 1 if debug else 2
        assert results(heap, lambda: heap.rearrange(next(others)), rounds) == expected(rounds)


@pytest.mark.parametrize(
    ("mode", "backend", "clusters"),
    rotated(["range+switch", "bits+switch"], ["cpu", "interpreted"], range(1, len(ALL))),
)
def test_other_modes(mode: str, backend: str, clusters: int) -> None:
    with oa.Heap(mode, BACKENDS[backend](), "tile", "64MiB", 32) as heap:
        heap.rearrange(ALL[clusters])
        assert results(heap, lambda: None) == expected()


@pytest.mark.gpu
@pytest.mark.parametrize("references", ["64", "32"])
def test_on_a_gpu(references: str) -> None:
    with oa.Heap("auto", "cuda", "tile", "256MiB", 32, references=references) as heap:
        others = cycle(ALL)
        assert results(heap, lambda: heap.rearrange(next(others))) == expected()


@pytest.mark.parametrize("backend", ["cpu", "interpreted", "python"])
def test_captured_steps(backend: str) -> None:
    with oa.Heap("auto", BACKENDS[backend](), "tile", "64MiB", 32) as heap:
        things = heap.new(Minus, 50, number=range(50), whole=range(50), byte=1)
        with oa.capture() as step:
            swap[50](things)
            things.change(f32(1))
        number, whole = np.arange(50.0), np.arange(50.0)
        for clusters in ALL:
            heap.rearrange(clusters)
            step.run(3)
            for _ in range(3):
                number, whole = 1 - whole, number.copy()
            assert things.number.numpy().tolist() == number.tolist()
            assert things.whole.numpy().tolist() == whole.tolist()


def test_other_threads_launch_meanwhile() -> None:
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        problems: list[BaseException] = []
        ended = threading.Event()

        def work(seed: int) -> None:
            try:
                things = heap.new(Minus, 100, number=range(100), whole=seed)
                rounds = 0
                while not ended.is_set() or rounds % 2:
                    swap[100](things)
                    rounds += 1
                assert things.number.numpy().tolist() == list(range(100))
                assert things.whole.numpy().tolist() == [seed] * 100
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for number in range(40):
            heap.rearrange(ALL[number % 4])
        ended.set()
        for thread in threads:
            thread.join()
        assert problems == []


class Particle(oa.Object):
    """Four fields for one access; the fifth is a row."""

    x: f32
    y: f32
    z: f32
    mass: f32
    age: f32
    other: Particle

    def drift(self, by: f32) -> None:
        self.x += by
        self.y += by
        self.z += by
        self.mass += by


PARTICLE = Particle.__sharedoa__
FOUR = NONE.replace(PARTICLE, [("x", "y", "z", "mass")])


@oa.kernel
def total(particles: oa.Array[Particle], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(particles):
        this = particles[i].other
        out[i] = this.x + this.y + this.z + this.mass + this.age


@oa.kernel
def shift(particles: oa.Array[Particle]):
    i = oa.grid(1)
    if i < len(particles):
        this = particles[i].other
        this.x += 1
        this.y += 1
        this.z += 1
        this.mass += 1


@pytest.mark.parametrize("references", ["64", "32"])
@pytest.mark.parametrize("mode", ["range+switch", "auto"])
def test_fields_of_a_cluster_are_one_access(mode: str, references: str) -> None:
    with oa.Heap(mode, "cpu", "tile", "16MiB", references=references) as heap:
        for kernel, stores in ((total, 0), (shift, 1)):
            found = []
            for clusters in (NONE, FOUR):
                heap.rearrange(clusters)
                ptx = kernel.compile("nvptx").products["ptx"]
                accesses = (r"ld\.global\.(nc\.)?v4", r"st\.global\.v4")
                found.append([len(re.findall(each, ptx)) for each in accesses])
            assert found == [[0, 0], [1, stores]]
        heap.rearrange(FOUR)
        # Three instructions: where the object's part of the cluster is.
        ptx = shift.compile("nvptx").products["ptx"]
        assert len(re.findall(r"mad\.lo\.s64 .*, 3, ", ptx)) == 1


def test_members_of_a_group_have_their_fields_in_one_access_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = interpreted(True)
    with oa.Heap("auto", backend, "tile", "16MiB") as heap:
        heap.rearrange(FOUR)
        particles = heap.new(Particle, 128, x=range(128), age=3)
        loaded: list[str] = []
        load = LargeInterpretedGpu.load

        def noting(self: Any, symbol: str, stages: Any, *more: Any, **named: Any) -> Any:
            loaded.append(stages["ptx"])
            return load(self, symbol, stages, *more, **named)

        monkeypatch.setattr(LargeInterpretedGpu, "load", noting)
        heap.all(Particle).drift(f32(1))
        (ptx,) = loaded
        # Those of a group, and of an object that is left over.
        assert len(re.findall(r"ld\.global\.v4\.b32", ptx)) == 4 + 1
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 4 + 1
        assert particles.x.numpy().tolist() == list(range(1, 129))
        assert particles.mass.numpy().tolist() == [1] * 128
        assert particles.age.numpy().tolist() == [3] * 128


def test_clusters_are_explained() -> None:
    with oa.Heap("auto", "cpu", "tile", "16MiB") as heap:
        assert "clusters" not in total.explain()
        heap.rearrange(NONE.replace(PARTICLE, [("x", "y"), ("z", "mass")]))
        assert "layout tile, Particle clusters (x, y) (z, mass), target" in total.explain()
        assert "Particle clusters" not in visit.explain()


class Elsewhere(oa.Object):
    """Of another family."""

    value: i32


@oa.kernel
def read_elsewhere(things: oa.Array[Elsewhere], out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = things[i].value


def test_code_of_programs_that_use_none_of_the_classes_stays() -> None:
    with oa.Heap(mode="auto", backend="cpu", layout="tile", capacity="16MiB") as heap:
        oa.new(CLASSES[0], 40)
        others, out = oa.new(Elsewhere, 40, value=np.arange(40)), oa.zeros(40, i32)

        def unit() -> Any:
            read_elsewhere[40](others, out)
            assert np.array_equal(out.numpy(), np.arange(40))
            return read_elsewhere.program.binding.unit

        before = unit()
        heap.rearrange(FEW)
        assert unit() is before
        heap.rearrange(FEW.replace(Elsewhere.__sharedoa__, []))
        assert unit() is before
