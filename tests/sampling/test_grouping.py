"""What clusters cost, counted one by one, and which are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i8
from sharedoa.model.layout import Layout
from sharedoa.model.record import Header
from sharedoa.sampling.grouping import WARP, Choice, Group, SampledCosts, Touch, Touches
from sharedoa.sampling.threads import sample


@oa.value
class Point:
    x: f32
    y: f32


class Body(oa.Object):
    x: f32
    y: f32
    wide: f64
    tiny: i8
    flag: bool
    half: oa.inline[f32, 3]
    other: Body
    where: Point
    far: oa.inline[f64, 10]
    last: f32


BODY = Body.__sharedoa__
NAMES = tuple(BODY.own_fields)
LAYOUT = Layout("tile", Header(0, 1), tiles=True, in_regions=True)
RECORD = LAYOUT.record(BODY)
BASE = 1 << 40


def scalars_of(name: str) -> list[tuple[int, int]]:
    """Offset and size of each."""
    start = RECORD.offsets[name]
    match name:
        case "half":
            return [(start + 4 * k, 4) for k in range(3)]
        case "far":
            return [(start + 8 * k, 8) for k in range(10)]
        case "where":
            return [(start, 4), (start + 4, 4)]
    return [(start, RECORD.dtypes[name].itemsize)]


@st.composite
def touch(draw: Callable[..., Any]) -> Touch:
    """Of one scalar of a field, in some lanes of two warps."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    name, lanes = draw(st.sampled_from(NAMES)), 2 * WARP
    runs = random.random(lanes) < draw(st.sampled_from([0.1, 0.6, 1.0]))
    slots = random.integers(0, 200, lanes) if draw(st.booleans()) else np.arange(lanes)
    tile, lane = np.divmod(slots, 32)
    objects = (BASE + tile * 32 * RECORD.size + 4 * lane).astype(np.uint64)
    choices = scalars_of(name)
    offsets: Any = np.array([choices[k][0] for k in random.integers(0, len(choices), lanes)])
    offsets = offsets.astype(np.uint64) if draw(st.booleans()) else np.uint64(choices[-1][0])
    weights = random.choice([0.5, 1.0, 3.0], lanes) * runs
    times = weights * random.choice([1, 2, 5], lanes)
    is_write = draw(st.booleans())
    times = times if is_write else weights
    for each in (objects, weights, times):
        each.flags.writeable = False
    return Touch(name, objects, offsets, choices[0][1], is_write, weights, times)


@st.composite
def all_touches(draw: Callable[..., Any]) -> list[Touch]:
    """Some of which are of the same objects."""
    found: list[Touch] = []
    for each in draw(st.lists(touch(), min_size=1, max_size=12)):
        same = found and draw(st.booleans())
        found.append(each._replace(objects=found[0].objects) if same else each)
    return [each for each in found if each.weights.any()]


def counted(touches: list[Touch], group: Group) -> float:
    """The cost of a group, place by place."""
    names = NAMES[group.first : group.last + 1]
    begin = RECORD.offsets[names[0]]
    width = RECORD.offsets[names[-1]] + RECORD.dtypes[names[-1]].itemsize - begin
    often: dict[Any, float] = {}
    # What one scalar is written in all, whatever it was found by.
    in_all: dict[Any, float] = {}
    for each in touches:
        offsets = np.broadcast_to(each.offsets, len(each.weights)).tolist()
        for k, (address, offset) in enumerate(zip(each.objects.tolist(), offsets, strict=True)):
            scalar = k // WARP, each.is_write, address, offset
            before = in_all.get(scalar, 0.0)
            count = float(each.times[k])
            in_all[scalar] = before + count if each.is_write else max(before, count)

    def note(kind: str, place: Any, weight: float) -> None:
        often[kind, place] = max(often.get((kind, place), 0.0), weight)

    for each in touches:
        offsets = np.broadcast_to(each.offsets, len(each.weights)).tolist()
        for k, (address, offset) in enumerate(zip(each.objects.tolist(), offsets, strict=True)):
            if each.name not in names or not each.weights[k]:
                continue
            lane = address % 128 // 4
            tile = address - 4 * lane
            if group.is_cluster:
                at = tile + 32 * begin + width * lane + offset - begin
                part = (offset - begin) // math.gcd(16, width)
            else:
                at, part = tile + 32 * offset + each.size * lane, offset
            who = k // WARP, each.is_write
            factor = 3 if each.is_write else 1
            weight = float(each.weights[k]) * factor
            times = in_all[k // WARP, each.is_write, address, offset] * factor
            note("32 bytes", (who, at // 32), times)
            for size in (64, 128):
                note(f"{size} bytes", (who, at // size), weight)
            note("request", (who, at // 128, part), times)
    return sum(often.values())


@settings(max_examples=80)
@given(all_touches(), st.data())
def test_costs_are_counted_one_by_one(touches: list[Touch], data: Any) -> None:
    if not touches:
        return
    costs = SampledCosts(LAYOUT, BODY, touches)
    assert costs.used == {NAMES.index(each.name) for each in touches}
    for _ in range(4):
        first = data.draw(st.integers(0, len(NAMES) - 1))
        last = data.draw(st.integers(first, len(NAMES) - 1))
        is_cluster = first != last or data.draw(st.booleans())
        group = Group(first, last, is_cluster)
        if is_cluster and not LAYOUT.can_cluster(BODY, NAMES[first : last + 1]):
            continue
        assert costs.of(group) == pytest.approx(counted(touches, group))
        assert costs.of(group) == costs.of(group)


@settings(max_examples=60)
@given(st.lists(all_touches(), min_size=1, max_size=3), st.lists(st.integers(1, 9), min_size=3))
def test_what_is_chosen_is_never_dearer_than_rows(
    programs: list[list[Touch]], often: list[int]
) -> None:
    costs = [
        (SampledCosts(LAYOUT, BODY, touches), float(count))
        for touches, count in zip(programs, often, strict=False)
        if touches
    ]
    choice = Choice(LAYOUT, BODY, costs)
    best = choice.ways()[0]
    assert choice.cost(best) <= choice.cost(())
    fields = [name for names in best for name in names]
    assert len(set(fields)) == len(fields)
    assert all(LAYOUT.can_cluster(BODY, names) for names in best)
    used = frozenset().union(*(each.used for each, _ in costs))
    for names in best:
        assert {NAMES.index(names[0]), NAMES.index(names[-1])} <= used
    rows = sum(
        count * each.of(Group(place, place, False)) for each, count in costs for place in used
    )
    assert choice.cost(()) == pytest.approx(rows)


class Ball(oa.Object):
    a: f32
    b: f32
    c: f32
    d: f32
    unused: oa.inline[f32, 8]
    small: i8
    wide: f64


@oa.kernel
def first_four(balls: oa.Array[Ball], out: oa.Array[f32]):
    i = oa.grid(1)
    this = balls[i]
    out[i] = this.a + this.b + this.c + this.d


@oa.kernel
def uneven(balls: oa.Array[Ball], out: oa.Array[f32]):
    i = oa.grid(1)
    this = balls[i]
    out[i] = f32(this.small) + f32(this.wide)


def chosen(kernel: Any, in_order: bool) -> Any:
    with oa.Heap("auto", "cpu", "tile", "64MiB") as heap:
        balls, out = heap.new(Ball, 2048), heap.zeros(2048, f32)
        order = np.random.default_rng(1).permutation(2048)
        given = balls if in_order else balls[order]
        with heap.lock:
            touches: Touches = sample(
                kernel.program.translation().ir, heap, (2048, 1), (given, out)
            )
        ((cls, fields),) = touches.of_class.items()
        return Choice(heap.layout, cls, [(SampledCosts(heap.layout, cls, fields), 1.0)]).ways()[0]


def test_neighbours_have_rows() -> None:
    assert chosen(first_four, in_order=True) == ()
    assert chosen(uneven, in_order=True) == ()


def test_fields_of_objects_in_no_order_lie_together() -> None:
    assert chosen(first_four, in_order=False) == (("a", "b", "c", "d"),)


def test_what_cannot_be_aligned_lies_apart() -> None:
    # 1 byte at a multiple of 8 with padding: any multiple of 8 will do, so these two may.
    for names in chosen(uneven, in_order=False):
        assert LAYOUT.can_cluster(Ball.__sharedoa__, names)
    assert LAYOUT.can_cluster(BODY, ("tiny", "flag")) and not LAYOUT.can_cluster(BODY, ("x",))


@oa.kernel
def all_of_bodies(bodies: oa.Array[Body], out: oa.Array[f32]):
    i = oa.grid(1)
    if i < len(bodies):
        this = bodies[i].other
        total = this.x + this.y + f32(this.wide) + f32(this.tiny) + this.where.x + this.where.y
        for k in range(3):
            total += this.half[k]
        for k in range(10):
            total += f32(this.far[k])
        out[i] = total + this.last if this.flag else total


def test_sampling_leaves_what_is_sampled_as_it_is() -> None:
    """Costs are the same whichever group is asked for first."""
    with oa.Heap("auto", "cpu", "tile", "64MiB") as heap:
        bodies, out = heap.new(Body, 512), heap.zeros(512, f32)
        bodies.other = bodies[np.random.default_rng(2).permutation(512)]
        with heap.lock:
            touches = sample(all_of_bodies.program.translation().ir, heap, (512, 1), (bodies, out))
        fields = touches.of_class[BODY]
        groups = [Group(place, place, False) for place in range(len(NAMES))]
        groups.append(Group(0, len(NAMES) - 1, True))
        costs = [SampledCosts(heap.layout, BODY, each) for each in (fields, deepcopy(fields))]
        forwards = [costs[0].of(group) for group in groups]
        backwards = [costs[1].of(group) for group in reversed(groups)]
        assert forwards == backwards[::-1]
        assert forwards[-1] < sum(forwards[:-1])
