"""Which threads are sampled, how often they stand for others, and what loops and tests count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, f64, i32, i64, u64
from sharedoa.sampling import threads
from sharedoa.sampling.control import ROUNDS, trip_count
from sharedoa.sampling.grouping import WARP
from sharedoa.sampling.threads import _spread

from .touching import sampled, touched


@pytest.mark.parametrize("apart", [2, 8, 32])
@pytest.mark.parametrize("width", [1, 64, 300, 1024])
def test_threads_of_a_warp_that_are_apart(width: int, apart: int) -> None:
    (x, _), weights = _spread((width, 3), apart)
    assert (np.diff(x.reshape(-1, WARP)) == apart).all()
    alike = weights.reshape(-1, WARP).max(axis=1)
    whole = width % (WARP * apart) == 0
    assert not whole or alike.sum() * WARP == width * 3
    assert ((x < width) == (weights > 0)).all()
    (every, _), _ = _spread((width, 1), apart)
    assert len({*every.tolist()}) == len(every)
    if len(every) <= threads.WARPS * WARP:
        assert {*range(width)} <= {*every.tolist()}


@given(st.integers(1, 5000), st.integers(1, 400))
def test_sampled_warps_stand_for_all(width: int, height: int) -> None:
    (x, y), weights = _spread((width, height))
    assert len(x) == len(y) == len(weights) and len(x) % WARP == 0
    runs = weights > 0
    assert ((x < width) == runs).all() and (y < height).all() and (x >= 0).all()
    warps = set(zip((x // WARP).tolist(), y.tolist(), strict=True))
    assert len(warps) == len(x) // WARP, "no warp twice"
    a_row = -(-width // WARP)
    assert weights[::WARP].sum() == a_row * height, "every warp is counted"
    if width % WARP == 0 or height == 1:
        assert weights.sum() <= a_row * WARP * height
    if width % WARP == 0:
        assert weights.sum() == width * height
    if a_row * height <= threads.WARPS:
        assert runs.sum() == width * height and set(weights[runs]) == {1.0}


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_of_launches_of_any_size_some_warps_are_sampled(width: int, height: int) -> None:
    (x, y), weights = _spread((width, height))
    assert len(x) <= 2 * threads.WARPS * WARP
    assert 0 <= x.min() and y.max() < height and (weights >= 0).all()


BOUNDS = st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)


@given(BOUNDS, BOUNDS, BOUNDS)
def test_rounds_of_a_loop(start: int, stop: int, step: int) -> None:
    with np.errstate(all="ignore"):
        found = trip_count(*(np.array([each], np.int64) for each in (start, stop, step)))[0]
    if step == 0:
        assert found == 0
        return
    distance = stop - start if step > 0 else start - stop
    wanted = max(0, -(-distance // abs(step)))
    assert found == wanted or math.isclose(found, wanted, rel_tol=1e-9)


@oa.value
class Spot:
    place: i32
    more: i32


class Link(oa.Object):
    next: Link
    spot: Spot
    other: Spot
    a: f32
    b: f32
    c: f32
    d: f32
    row: oa.inline[f32, 40]
    number: i32

    def first(self, n: i32) -> i32:
        if n > i32(2):
            return self.number
        return i32(0)

    def again(self, n: i32) -> f32:
        if n <= i32(0):
            return self.a
        return self.next.again(n - i32(1)) + self.b


class Short(Link):
    def again(self, n: i32) -> f32:
        return self.c


@oa.value
class Settings:
    limit: i32
    start: Link


def fields(found: Any, is_write: bool = False) -> dict[str, float]:
    """The weight of all touches of each field."""
    total: dict[str, float] = {}
    for (_, _, name, _, writes), weight in found.items():
        if writes == is_write:
            total[name] = total.get(name, 0.0) + weight
    return total


@pytest.fixture
def links() -> Any:
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        made = heap.new(Link, 64, a=range(64), number=range(64))
        made.next = made
        yield made


@oa.kernel
def long_loop(links: oa.Array[Link], rounds: i32):
    i = oa.grid(1)
    for k in range(int(rounds)):
        links[i].row[k] = f32(1)
    links[i].a = f32(2)


@pytest.mark.parametrize("rounds", [0, 1, ROUNDS, ROUNDS + 1, 17, 40])
def test_some_rounds_count_for_all(
    monkeypatch: pytest.MonkeyPatch, links: Any, rounds: int
) -> None:
    found = fields(sampled(monkeypatch, long_loop, (64, 1), links, rounds), is_write=True)
    assert found.get("row", 0.0) == pytest.approx(64 * rounds)
    assert found["a"] == 64


@oa.kernel
def leaves(links: oa.Array[Link], out: oa.Array[f32]):
    i = oa.grid(1)
    this = links[i]
    for k in range(20):
        if math.exp(f64(this.number)) < 2.0:
            break
        out[i] = this.row[k]
    else:
        this.b = f32(1)
    this.c = f32(1)
    for _ in range(20):
        if math.exp(f64(this.number)) < 2.0:
            return
    this.d = f32(1)


def test_of_those_that_may_leave_a_loop_half_do_each_time(
    monkeypatch: pytest.MonkeyPatch, links: Any
) -> None:
    out = oa.zeros(64, f32)
    found = sampled(monkeypatch, leaves, (64, 1), links, out)
    stays = [0.5 ** (k + 1) for k in range(ROUNDS)]
    reads, writes = fields(found), fields(found, is_write=True)
    assert reads["row"] == 64 * (20 / ROUNDS) * sum(stays)
    assert writes == {"b": 64 * stays[-1], "c": 64, "d": 64 * stays[-1]}


@oa.kernel
def both_ways(links: oa.Array[Link], out: oa.Array[f32]):
    i = oa.grid(1)
    this = links[i]
    if math.exp(f64(this.number)) < 2.0:
        this = links[0]
        out[i] = this.a
    else:
        out[i] = this.b
        if this.number < i32(32):
            return
        this.c = f32(1)
    this.d = f32(1)


def test_neither_way_sees_what_the_other_assigns(
    monkeypatch: pytest.MonkeyPatch, links: Any
) -> None:
    found = sampled(monkeypatch, both_ways, (64, 1), links, oa.zeros(64, f32))
    places = links._heap.encoding.address(links._selection().references)
    at = {name: {key[1] for key in found if key[2] == name} for name in "abcd"}
    assert at["a"] == {places[0]}
    assert at["b"] == {*places.tolist()}
    assert at["c"] == {*places[32:].tolist()}
    # Of those that return on one way the other one is left.
    assert at["d"] == {int(places[0]), *places[32:].tolist()}
    assert {weight for key, weight in found.items() if key[2] in "abc"} == {0.5}


@oa.kernel
def combined_tests(links: oa.Array[Link]):
    this = links[oa.grid(1)]
    is_low = math.exp(f64(this.number)) < 2.0
    if is_low and this.number < i32(8):
        this.a = f32(1)
    if is_low or this.number < i32(8):
        this.b = f32(1)
    flag = False
    if is_low:
        flag = True
    if flag:
        this.c = f32(1)
    if this.number < i32(8) and is_low:
        this.d = f32(1)


def test_what_rests_on_a_test_that_nobody_knows_is_not_known(
    monkeypatch: pytest.MonkeyPatch, links: Any
) -> None:
    found = sampled(monkeypatch, combined_tests, (64, 1), links)
    by_field: dict[str, dict[int, float]] = {name: {} for name in "abcd"}
    for (thread, _, name, _, is_write), weight in found.items():
        if is_write:
            by_field[name][thread[0]] = weight
    assert by_field["a"] == by_field["d"] == dict.fromkeys(range(8), 0.5)
    assert by_field["b"] == {k: 1.0 if k < 8 else 0.5 for k in range(64)}
    assert by_field["c"] == dict.fromkeys(range(64), 0.5)


@oa.kernel
def may_be_either(links: oa.Array[Link], others: oa.Array[Link], out: oa.Array[f32]):
    i = oa.grid(1)
    given = links
    if i % 3 == 0:
        given = others
    out[i] = given[i].a if i % 2 else given[0].b


@pytest.mark.parametrize("are_runs", [False, True])
def test_arrays_that_differ_by_thread(
    monkeypatch: pytest.MonkeyPatch, links: Any, are_runs: bool
) -> None:
    others = oa.new(Link, 64)
    if not are_runs:
        links, others = links[np.arange(64)[::-1]], oa.array(Link, [*others])
    given = links, others, oa.zeros(64, f32)
    found = sampled(monkeypatch, may_be_either, (64, 1), *given)
    assert found.keys() <= touched(monkeypatch, may_be_either, (64, 1), *given)
    wanted = touched(monkeypatch, may_be_either, (64, 1), *given)
    if not are_runs:
        assert found.keys() == wanted
    else:
        # Of a run and another run only one is known.
        assert {key for key in wanted if key[0][0] % 3} <= found.keys()


@oa.kernel
def spots(links: oa.Array[Link], out: oa.Array[f32]):
    i = oa.grid(1)
    this = links[i]
    spot = this.spot
    if i % 3 == 0:
        spot = links[i // 2].spot
    out[i] = links[spot.place].a
    if i % 3 == 1:
        spot = links[i // 3].other
    out[i] = links[spot.more].b
    if i % 5 == 0:
        spot = Spot(this.spot.more, i32(i))
    out[i] = links[spot.more].c
    if i % 5 == 0:
        this.d = f32(spot.place)


def test_value_structs_that_differ_by_thread(monkeypatch: pytest.MonkeyPatch, links: Any) -> None:
    numbers = np.random.default_rng(0).integers(0, 64, (4, 64)).tolist()
    for k, link in enumerate(links):
        link.spot = Spot(numbers[0][k], numbers[1][k])
        link.other = Spot(numbers[2][k], numbers[3][k])
    given = links, oa.zeros(64, f32)
    found = sampled(monkeypatch, spots, (64, 1), *given)
    wanted = touched(monkeypatch, spots, (64, 1), *given)
    assert found.keys() <= wanted
    # Of structs in two fields, or in memory and not, those of the ``else`` are known.
    assert {key[2] for key in wanted - found.keys()} == {"b", "c"}
    assert {key[0][0] for key in found if key[2] == "b"} == {k for k in range(64) if k % 3 != 1}
    assert {key[0][0] for key in found if key[2] == "c"} == {
        k for k in range(64) if k % 3 != 1 and k % 5
    }


@oa.kernel
def two_axes(
    links: oa.Array[Link], many: oa.Array[Link], settings: Settings, flag: bool, out: oa.Array[f32]
):
    x, y = oa.grid(2)
    width, _ = oa.gridsize(2)
    number = y * width + x
    if number < len(many) and flag:
        out[number] = many[number].a + settings.start.b
    if number < settings.limit:
        links[number].c = f32(1)
        oa.atomic_max(links[number], "number", i32(3))


def test_two_axes_and_arguments_of_all_kinds(monkeypatch: pytest.MonkeyPatch, links: Any) -> None:
    for many, flag in ((links[:40], True), (links[::-1], np.bool_(True)), (links[:0], False)):
        settings = Settings(i32(30), links[3])
        given = links, many, settings, flag, oa.zeros(70, f32)
        found = sampled(monkeypatch, two_axes, (7, 10), *given)
        wanted = touched(monkeypatch, two_axes, (7, 10), *given)
        assert found.keys() == {key for key in wanted if key[2] != "number" or key[4]}


@oa.kernel
def deep(links: oa.Array[Link], out: oa.Array[f32], n: i32):
    i = oa.grid(1)
    out[i] = links[i].again(n)


def test_functions_that_call_themselves(monkeypatch: pytest.MonkeyPatch, links: Any) -> None:
    shorts = oa.new(Short, 32)
    links.next = oa.concat(links[32:], shorts)
    given = oa.concat(links, shorts), oa.zeros(96, f32)
    found = sampled(monkeypatch, deep, (96, 1), *given, 5)
    assert found.keys() == touched(monkeypatch, deep, (96, 1), *given, 5)
    links.next = links
    found = sampled(monkeypatch, deep, (64, 1), links, oa.zeros(64, f32), 10**6)
    assert 0 < len(found) <= 64 * 20


def test_it_ends_when_it_has_seen_enough(monkeypatch: pytest.MonkeyPatch, links: Any) -> None:
    monkeypatch.setattr(threads, "_MOST_OPERATIONS", 30)
    found = sampled(monkeypatch, deep, (64, 1), links, oa.zeros(64, f32), 8)
    assert 0 < len(found) < 64 * 8


SUM = " + ".join(["this.a"] * 150)


def test_deep_expressions_end_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from tests.source_files import load_module

    text = f"""
    class Deep(oa.Object):
        a: f32
        b: f32
        def climb(self, n: i32) -> f32:
            this = self
            if n <= i32(0):
                return self.b
            return self.climb(n - i32(1)) + {SUM}

    @oa.kernel
    def run(these: oa.Array[Deep], out: oa.Array[f32]):
        out[oa.grid(1)] = these[oa.grid(1)].climb(i32(11))
    """
    module = load_module(tmp_path, text)
    monkeypatch.setattr(threads, "_MOST_OPERATIONS", 1 << 20)
    with oa.Heap("auto", "cpu", "tile", "64MiB", 32) as heap:
        these = heap.new(module.Deep, 32)
        sampled(monkeypatch, module.run, (32, 1), these, heap.zeros(32, f32))


@oa.kernel
def blocks(links: oa.Array[Link], out: oa.Array[i64]):
    i = oa.grid(1)
    oa.syncthreads()
    assert i >= 0, "a thread"
    if i == 3:
        print("three", links[i].a)
    out[i] = i64(len(links)) + i64(links[i].first(i32(i)))


def test_barriers_assertions_and_prints(
    monkeypatch: pytest.MonkeyPatch, links: Any, capsys: Any
) -> None:
    found = sampled(monkeypatch, blocks, (64, 1), links, oa.zeros(64, i64))
    assert {key[0][0] for key in found if key[2] == "number"} == {*range(3, 64)}
    assert capsys.readouterr().out == ""


@oa.kernel
def random_walk(links: oa.Array[Link], seed: u64, out: oa.Array[f32]):
    i = oa.grid(1)
    place = int(oa.random(seed, u64(i)) * f32(64.0))
    out[i] = links[place].a + links[-1 - place].b


@pytest.mark.parametrize("seed", [0, np.uint64(7), 2**64 - 1])
def test_random_numbers_lead_to_random_places(
    monkeypatch: pytest.MonkeyPatch, links: Any, seed: Any
) -> None:
    found = sampled(monkeypatch, random_walk, (64, 1), links, seed, oa.zeros(64, f32))
    assert fields(found) == {"a": 64, "b": 64}
    assert len({key[1] for key in found}) > 32
