"""What objects in slots are asked first is loaded with the bytes that say who lives: the same comes
of it, whatever lies where nobody lives, and nothing but regions' memory is read."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u8
from sharedoa.heap.living import births_by_class
from sharedoa.heap.regions import Region
from sharedoa.runtime import population_sequence, slot_calls
from sharedoa.runtime.launch_sequence import RecordedLaunch
from sharedoa.targets.ptxas import assemble
from tests.codegen.interpreted import InterpretedGpu
from tests.heap.invariants import check_invariants
from tests.ptxpass.interpreter.memory import Memory

JUNK = 0xE7
LAYOUTS: list[Any] = [("tile", "64"), ("aos", "32"), ("aos", "64"), ("tile", "32")]


class Sheep(oa.Object):
    wool: f64
    is_old: bool
    friend: Sheep
    number: i32
    kind: u8
    legs: oa.inline[i32, 3]

    def leave(self, turn: i32, left: oa.Array[i64]) -> None:
        if self.number % 3 == turn:
            self.go(left)

    def go(self, left: oa.Array[i64]) -> None:
        if oa.delete(self):
            oa.atomic_add(left, 0, i64(1))

    def leave_with_friend(self, turn: i32, left: oa.Array[i64]) -> None:
        """What is asked of others, who may end meanwhile."""
        friend = self.friend
        if self.is_old and self.wool > f64(0.5) and self.legs[1] == turn:
            self.go(left)
            if friend is not None and friend.kind == u8(1):
                friend.go(left)

    def count_up(self, turn: i32, left: oa.Array[i64]) -> None:
        """What was loaded with the byte is another value from here on."""
        self.number += 1
        if self.number % 3 == turn:
            self.wool = f64(self.number)
            self.go(left)


class Goat(Sheep):
    horns: f32

    def leave(self, turn: i32, left: oa.Array[i64]) -> None:
        if self.horns < f32(turn):
            self.go(left)


class Watched(InterpretedGpu):
    """Notes what launches that go by slot load, and their code."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: set[tuple[int, int]] = set()
        self.texts: list[str] = []
        self.calls: list[slot_calls.SlotCall | None] = []


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(slot_calls, "_FEWEST", 1)
    gpu, loader, bind = Watched(), Memory.loader, RecordedLaunch.bind

    def noting(*given: Any) -> Any:
        found = slot_calls.called_by_slot(*given)
        if given[1].receivers:
            gpu.calls.append(found)
        return found

    def loading(memory: Memory, space: str, size: int) -> Callable[[int], int]:
        load = loader(memory, space, size)

        def noted(address: int) -> int:
            gpu.loaded.add((address, size))
            return load(address)

        return noted if space == "global" else load

    def binding(launch: RecordedLaunch, *given: Any) -> Any:
        found = bind(launch, *given)
        gpu.texts.append(str(found.unit.compilation.products["ptx"]))
        return found

    monkeypatch.setattr(population_sequence, "called_by_slot", noting)
    monkeypatch.setattr(Memory, "loader", loading)
    monkeypatch.setattr(RecordedLaunch, "bind", binding)
    yield gpu
    assert gpu.calls and None not in gpu.calls


def fill(heap: oa.Heap, kind: type[Sheep], count: int, seed: int) -> list[Sheep]:
    """Objects of which every fourth is deleted, at random; in its slot lies what would be ended,
    and references that lead nowhere."""
    random = np.random.default_rng(seed)
    made = heap.new(
        kind, count, number=random.integers(60, size=count), wool=random.random(count),
        is_old=random.random(count) < 0.7, kind=random.integers(2, size=count),
    )  # fmt: skip
    for each in made:
        for leg in range(3):
            each.legs[leg] = int(random.integers(3))
    if kind is Goat:
        made.horns = random.random(count) * 3
    order = random.permutation(count)
    kept = [made[int(n)] for n in np.sort(order[count // 4 :])]
    oa.delete(made[np.sort(order[: count // 4])])
    for each, number in zip(kept, random.permutation(len(kept)), strict=True):
        each.friend = kept[number] if number % 3 else None
    for region in regions(heap, kind):
        records = region.arrangement.records(region.memory)
        dead = np.flatnonzero(region.live[: region.unused_from] == 0)
        records[dead] = np.full(records.dtype.itemsize, JUNK, np.uint8).view(records.dtype)[0]
    return kept


def regions(heap: oa.Heap, kind: type[Sheep]) -> list[Region]:
    return [*births_by_class(heap).placement.regions(kind.__sharedoa__)]


def left_by(name: str, each: Any, turn: int, gone: list[Any]) -> None:
    """What a method does, in plain Python, of which ``gone`` are to end."""
    match name:
        case "leave" if isinstance(each, Goat):
            gone += [each] if each.horns < turn else []
        case "leave":
            gone += [each] if each.number % 3 == turn else []
        case "count_up":
            gone += [each] if (each.number + 1) % 3 == turn else []
        case _:
            if each.is_old and each.wool > 0.5 and each.legs[1] == turn:
                friend = each.friend
                gone += [each] if friend is None or friend.kind != 1 else [each, friend]


@pytest.mark.parametrize("name", ["leave", "leave_with_friend", "count_up"])
@pytest.mark.parametrize("kinds", [[Sheep], [Sheep, Goat]], ids=["one class", "two"])
@pytest.mark.parametrize(
    ("layout", "references"),
    [
        LAYOUTS[0],
        LAYOUTS[1],
        *(pytest.param(*each, marks=pytest.mark.slow) for each in LAYOUTS[2:]),
    ],
)
def test_the_same_as_in_plain_python(
    layout: str, references: str, kinds: list[type[Sheep]], name: str, gpu: Watched
) -> None:
    """Also in slots that nobody ever used, and in a last block that is not full."""
    options: dict[str, Any] = {"layout": layout, "references": references, "initial_region": 32}
    with oa.Heap(backend=gpu, capacity="1MiB", **options) as heap:
        kept = [each for n, kind in enumerate(kinds) for each in fill(heap, kind, 77 + 20 * n, n)]
        left = heap.zeros(1, i64)
        with oa.capture() as step:
            getattr(oa.all(Sheep), name)(1, left)
        gone: list[Any] = []
        for each in kept:
            left_by(name, each, 1, gone)
        ended = {id(each) for each in gone}
        numbers = [each.number + (name == "count_up") for each in kept if id(each) not in ended]
        step.run()
        assert 0 < len(ended) < len(kept) and left.numpy().tolist() == [len(ended)]
        assert [oa.is_alive(each) for each in kept] == [id(each) not in ended for each in kept]
        assert sorted(oa.all(Sheep).number.numpy().tolist()) == sorted(numbers)
        check_invariants(heap)


@oa.kernel
def lamb() -> None:
    i = oa.grid(1)
    if i % 2 == 0:
        Sheep(number=1)


@pytest.mark.parametrize(("layout", "references"), LAYOUTS)
def test_slots_are_in_the_memory_of_their_regions(
    layout: str, references: str, gpu: Watched
) -> None:
    """Up to the last one that is looked at, where there never was an object; its field is read as
    that of any other."""
    options: dict[str, Any] = {"layout": layout, "references": references, "initial_region": 32}
    with oa.Heap(backend=gpu, capacity="1MiB", **options) as heap:
        fill(heap, Sheep, 77, 1)
        left = heap.zeros(1, i64)
        with oa.capture() as step:
            lamb[60]()
            oa.all(Sheep).leave(1, left)
        gpu.loaded.clear()
        step.run()
        (region,) = regions(heap, Sheep)
        *_, call = gpu.calls
        assert call is not None
        fields = [(a, n) for a, n in gpu.loaded if region.start - 64 < a < region.end + 64]
        assert len(fields) == call.threads > region.unused_from
        assert all(region.start <= a and a + n <= region.end for a, n in fields)


def in_one_block(code: str, load: str, branch: str) -> int:
    """Loads."""
    blocks = re.split(rf"^[.$\w]+:|{branch}", code, flags=re.MULTILINE)
    return max(len(re.findall(load, block)) for block in blocks)


def test_no_branch_between_byte_and_field(gpu: Watched, tmp_path: Path) -> None:
    nvidia = pytest.importorskip("nvidia")
    with oa.Heap(backend=gpu) as heap:
        fill(heap, Sheep, 77, 1)
        left = heap.zeros(1, i64)
        with oa.capture() as step:
            oa.all(Sheep).leave(1, left)
        step.run()
    (text,) = gpu.texts
    assert in_one_block(text, r"\bld\.global", r"\bbra\b") == 2
    nvdisasm = next(Path(nvidia.__path__[0]).glob("cu*/bin/nvdisasm"))
    cubin = tmp_path / "leave.cubin"
    cubin.write_bytes(assemble(text, "sm_90").cubin)
    code = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True)
    assert in_one_block(code.stdout, r"\bLDG", r"\bBRA\b|\bEXIT\b") == 2
