"""Loops that become straight code on a GPU: the same as CPython finds, in tiles and in records,
with each kind of reference; and the loads of all rounds come before what depends on them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32, u8
from sharedoa.targets.nvptx import NvptxTarget
from tests.codegen.interpreted import InterpretedGpu
from tests.runtime.everywhere import Results, check_everywhere, check_narrow_references

ROWS, COLUMNS = 5, 7
NUMBER = ROWS * COLUMNS


class Animal(oa.Object):
    age: i32
    kind: u8
    weight: f32
    friend: Animal | None

    def is_old(self) -> bool:
        return self.age > 4


class Field(oa.Object):
    animal: Animal | None
    seen: i32
    weight: f32
    near: oa.inline[Animal, 3]


@oa.func
def old_ones_around(fields: oa.Array[Field], place: i32, rows: i32, columns: i32) -> i32:
    row, column = place // columns, place % columns
    count = i32(0)
    for x in range(max(column - 1, 0), min(column + 2, columns)):
        for y in range(max(row - 1, 0), min(row + 2, rows)):
            animal = fields[y * columns + x].animal
            if animal is not None and animal.is_old() and animal.kind == 1:
                friend = animal.friend
                count += 1 if friend is None else friend.age
    return count


@oa.kernel
def look(fields: oa.Array[Field], rows: i32, columns: i32) -> None:
    i = oa.grid(1)
    field = fields[i]
    field.seen = old_ones_around(fields, i32(i), rows, columns)
    total = f32(0)
    for k in range(3):
        animal = field.near[k]
        if animal is not None:
            total = total * f32(0.5) + animal.weight
    field.weight = total


def _run() -> Results:
    random = np.random.default_rng(7)
    animals = oa.new(Animal, 40)
    animals.age, animals.kind = random.integers(0, 9, 40), random.integers(0, 3, 40)
    animals.weight = random.random(40)
    fields = oa.new(Field, NUMBER)
    for number in range(40):
        if number % 3:
            animals[number].friend = animals[int(random.integers(40))]
    for number in range(NUMBER):
        if random.random() < 0.6:
            fields[number].animal = animals[int(random.integers(40))]
        for k in range(3):
            if random.random() < 0.5:
                fields[number].near[k] = animals[int(random.integers(40))]
    look[NUMBER](fields, ROWS, COLUMNS)
    found = {"seen": np.array(fields.seen), "weight": np.array(fields.weight)}
    look[NUMBER](fields, 0, COLUMNS)  # a board without rows
    return found | {"none": np.array(fields.seen)}


def test_the_same_everywhere() -> None:
    found = check_everywhere(_run, "warps", "warps with tags")
    assert found["seen"].any() and found["weight"].any() and not found["none"].any()


@pytest.mark.parametrize("layout", ["tile", "aos"])
def test_narrow_references(layout: str) -> None:
    check_narrow_references(_run, layout)


def test_explain_tells() -> None:
    with oa.Heap(backend=InterpretedGpu(), layout="tile", capacity="64MiB"):
        _run()
        assert look.explain().count("the rounds of this loop are straight code") == 2


def test_no_branch_between_loads() -> None:
    with oa.Heap(backend="cpu", layout="tile", references="64") as heap:
        fields = heap.new(Field, NUMBER, animal=heap.new(Animal, 1)[0])
        look[0](fields, ROWS, COLUMNS)
        given = look.program.last_given(heap, heap.mode)
        made = look.program.compilation(heap, heap.mode, False, NvptxTarget("sm_90"), given)
    blocks = re.split(r"^\$?\w+:$|\bbra\b", str(made.products["ptx"]), flags=re.MULTILINE)
    # Of nine places the animal, its age, its kind and its friend, and the age of that.
    assert max(len(re.findall(r"\bld\.global", block)) for block in blocks) >= 9 * 5
