"""Fields of the launch's objects that are loaded before loops: which are, and that random loops
mean the same. The interpreter refuses to read what is no object, so whatever is read too much is
found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.passes.hoist_fields import hoist_fields
from sharedoa.ir.verify import verify
from tests.codegen.interpreted import InterpretedGpu
from tests.ptxpass.interpreter.memory import AccessFault

from ..differential.effort import examples
from .interpreter import Machine, Thing
from .programs import job, program_from
from .test_flatten_loops import Place

PLACES, THREADS = 4, 3


class Deep(Place):
    more: i32


@oa.value
class Pair:
    one: i32
    two: i32


class Land(oa.Object):
    width: i32
    height: i32
    pair: Pair
    places: oa.Array[Place]
    first: Place | None
    near: oa.inline[Place, 2]

    def at(self, x: i32, y: i32) -> Place | None:
        if 0 <= x < self.width and 0 <= y < self.height:
            return self.places[y * self.width + x]
        return None

    def both(self) -> i32:
        return self.pair.one + self.pair.two


@oa.func
def wide(land: Land, n: i32) -> i32:
    found = i32(0)
    for _ in range(n):
        found += land.width
    return found


@oa.func
def down(land: Land, n: i32) -> i32:
    return i32(0) if n <= 0 else land.width + down(land, n - 1)


@oa.func
def even(land: Land, n: i32) -> i32:
    return i32(1) if n <= 0 else odd(land, n - 1)


@oa.func
def odd(land: Land, n: i32) -> i32:
    return i32(0) if n <= 0 else even(land, n - 1) + land.width


LOOPS = {
    # What rounds do, and which fields are loaded once.
    "q = land.at(k - 1, n)\n  if q is not None: s += q.value": ["height", "places", "width"],
    "if k > 1: s += land.width": ["width"],
    "s += land.both()": ["pair", "pair"],
    "if land.first is not None: s += k": ["first"],
    "if land.near[1] is not None: s += k": ["near"],
    "for j in range(k):\n   s += land.height * j": ["height"],
    "if land.near[k % 2] is not None: s += k": [],
    "s += k": [],
    "land.width = k\n  s += land.width + land.height": ["height"],
    "oa.atomic_add(land, 'height', 1)\n  s += land.width + land.height": ["width"],
    "q = land.first\n  if q is not None: s += q.value": ["first"],
    "q = places[k % 4]\n  s += q.value + q.kind": [],
    "s += down(land, k)": ["width"],
    "s += even(land, k)": ["width"],
}


def program_of(folder: Path, body: str) -> ir.Program:
    parameters = "land: Land, places: oa.Array[Place], out: oa.Array[i32], n: i32"
    names = {"oa": oa, "i32": i32, "Land": Land, "Place": Place, "Deep": Deep, "wide": wide}
    names |= {"down": down, "even": even}
    lines = f"t = oa.grid(1)\ns = i32(0)\n{body}\nout[t] = s"
    return program_from(folder, parameters, lines, **names)


def outside_loops(program: ir.Program) -> Counter[str]:
    """Which fields are named there."""
    pending = [each.body for each in program.functions.values()]
    found: Counter[str] = Counter()
    while pending:
        for each in pending.pop().operations:
            found.update([each["name"]] if each.kind == "field" else [])
            pending += [] if each.kind in ("for", "while") else each.regions
    return found


def hoisted(program: ir.Program, nones: Collection[int] = ()) -> list[str]:
    """Load before loops what can be, where these arguments are None; of which fields."""
    before = outside_loops(program)
    hoist_fields(program, job(device=True, shares_loops=True, nones=nones))
    verify(program)
    return sorted((outside_loops(program) - before).elements())


def outcome(program: ir.Program, seed: int, threads: int = THREADS) -> Any:
    random = Random(seed)
    places = [Thing(Place.__sharedoa__, {}) for _ in range(PLACES)]
    for place in places:
        place.fields = {
            "next": random.choice(places), "other": None, "value": random.randrange(5),
            "kind": random.randrange(3), "links": (None,) * 3,
        }  # fmt: skip
    fields = {
        "width": 2, "height": 2, "pair": {"one": random.randrange(4), "two": 1},
        "places": places, "first": random.choice([None, *places]), "near": (None, places[0]),
    }  # fmt: skip
    land = Thing(Land.__sharedoa__, fields)
    out = [0] * threads
    Machine(program, 0).run((land, places, out, random.randrange(4)), threads)
    return out, [land.fields[name] for name in ("width", "height")]


@pytest.mark.parametrize("body", LOOPS)
def test_which_are_loaded_once(tmp_path: Path, body: str) -> None:
    program = program_of(tmp_path, f"for k in range(n):\n  {body}")
    expected = [outcome(program, seed, threads=1) for seed in range(9)]
    assert hoisted(program) == LOOPS[body]
    assert len([*operations_in(program)]) < 100  # of a function that calls itself there is one more
    assert [outcome(program, seed, threads=1) for seed in range(9)] == expected


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("s = wide(land, n)", ["width"]),
        ("s = wide(land, n) + wide(land, 2 * n)", ["width"]),
        ("while s < n:\n  s += land.width", ["width"]),
        ("s = land.width", []),
    ],
)
def test_loops_of_functions(tmp_path: Path, body: str, fields: list[str]) -> None:
    assert hoisted(program_of(tmp_path, body)) == fields


def test_chains_of_small_functions_stay_calls_at_some_point(tmp_path: Path) -> None:
    """Each of five calls the next one six times: that would be some 10,000 bodies."""
    names: dict[str, Any] = {"oa": oa, "i32": i32, "Land": Land, "Place": Place}
    calls = " + ".join(f"below(land, n + {k})" for k in range(6))
    for number in range(5):
        source = tmp_path / f"chain_{number}.py"
        body = calls if number else "land.width if n > 3 else n"
        source.write_text(f"def chain(land: Land, n: i32) -> i32:\n    return {body}\n")
        exec(compile(source.read_text(), source, "exec"), names)
        names = {**names, "below": oa.func(names["chain"])}
    head = "land: Land, out: oa.Array[i32], n: i32"
    program = program_from(tmp_path, head, "for k in range(n):\n  out[k] = below(land, k)", **names)
    assert hoisted(program) == ["width"]
    assert 1000 < len([*operations_in(program)]) < 3000


def test_short_loops_are_written_out(tmp_path: Path) -> None:
    """LLVM would keep them, as their rounds have little left."""
    lines = "for k in range(3):\n for j in range({}):\n  if k > j: s += land.width"
    for rounds, is_written_out in ((8, True), (9, False)):
        program = program_of(tmp_path, lines.format(rounds))
        assert hoisted(program) == ["width"]
        outer, inner = (each for each in operations_in(program) if each.kind == "for")
        assert "written_out" not in outer.attributes
        assert ("written_out" in inner.attributes) == is_written_out


OTHERS = {
    "another object": "p = places[0]\nwhile s < n:\n  s += p.value + 1",
    "one of two": "p = land.first if n > 1 else places[0]\nwhile s < n:\n  s += p.value + 1",
    "a subclass": (
        "p = land.first\nfor k in range(n):\n  if isinstance(p, Deep): s += p.more\n  s += k"
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_objects_that_the_launch_was_not_given(tmp_path: Path, name: str) -> None:
    assert hoisted(program_of(tmp_path, OTHERS[name])) in ([], ["first"])


def test_what_is_given_once_by_the_launch_and_once_by_others(tmp_path: Path) -> None:
    @oa.func
    def values(place: Place, n: i32) -> i32:
        found = i32(0)
        for _ in range(n):
            found += place.value
        return found

    @oa.func
    def through(place: Place, n: i32) -> i32:
        return values(place, n) + 1

    names = {"oa": oa, "i32": i32, "Place": Place, "values": values, "through": through}
    head = "p: Place, places: oa.Array[Place], out: oa.Array[i32], n: i32"
    for lines, fields in (
        ("out[0] = values(p, n)", ["value"]),
        ("out[0] = values(p, n) + values(places[1], n)", []),
        ("out[0] = values(p, n) + through(p, n)", ["value"]),
        ("out[0] = values(p, n) + through(places[1], n)", []),
    ):
        assert hoisted(program_from(tmp_path, head, lines, **names)) == fields
    for lines, fields in (
        ("out[0] = values(q, n)", ["value"]),
        ("out[0] = values(p, n)", []),
        ("out[0] = through(p, n) + values(q, n)", []),
    ):
        program = program_from(tmp_path, f"q: Place, {head}", lines, **names)
        assert hoisted(program, nones=[1]) == fields


@oa.kernel
def widths(land: Land | None, other: Land | None, out: oa.Array[i32]) -> None:
    t = oa.grid(1)
    s = i32(0)
    for k in range(5):
        if t > k:
            s += land.width  # type: ignore[union-attr]
        if other is not None and k > 2:
            s += 100 * other.width
    out[t] = s


def test_none_is_asked_nothing() -> None:
    """What a field of None is nobody makes up, in whatever order launches come."""
    with oa.Heap(backend=InterpretedGpu(), capacity="64MiB") as heap:
        land, other = heap.new(Land, 2)
        land.width, other.width = 2, 3
        out = heap.zeros(3, i32)
        given = (land, None), (land, other), (None, other), (land, other), (land, None)
        for launch in given:
            with oa.capture() as step:
                widths[3](*launch, out)
            for run in (partial(widths[3], *launch, out), step.run):
                if launch[0] is None:
                    widths[1](*launch, out)  # nor does it ask
                    assert out[0] == 600
                    with pytest.raises(AccessFault):
                        run()
                    continue
                out[:] = -1
                run()
                assert np.array_equal(out, np.arange(3) * 2 + (600 if launch[1] else 0))
        for launch, is_object in (((None, other), False), ((land, other), True)):
            bindings = []
            for _ in range(3):
                widths[1](*launch, out)
                bindings.append(widths.program.binding)
                assert (0, is_object) in bindings[-1].objects
            assert bindings[1] is bindings[2]  # nothing is made ready again
        answers = {each.facts.answers["is_object", 0] for each in widths.program._compilations}
        assert answers == {True, False}


def test_fields_of_a_subclass(tmp_path: Path) -> None:
    names = {"oa": oa, "i32": i32, "Place": Place, "Deep": Deep}
    lines = "for k in range(n):\n  if isinstance(p, Deep): out[k] = p.more + p.kind"
    head = "p: Place, out: oa.Array[i32], n: i32"
    assert hoisted(program_from(tmp_path, head, lines, **names)) == ["kind"]


class _Lines:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def kernel(self) -> str:
        return "\n".join(line for k in "kl" for line in self._loop(k, ["n"]))

    def _loop(self, counter: str, numbers: list[str]) -> list[str]:
        stop = self._random.choice((*numbers, "n - 1", "min(n, 3)"))
        lines = []
        for _ in range(self._random.randint(1, 3)):
            lines += self._statement([*numbers, counter])
        if len(numbers) == 1 and self._random.random() < 0.3:
            lines += self._loop(f"{counter}j", [*numbers, counter])
        return [f"for {counter} in range({stop}):", *(f" {line}" for line in lines)]

    def _statement(self, numbers: list[str]) -> list[str]:
        random = self._random
        one, two = random.choice(numbers), random.choice(numbers)
        value = random.choice(
            ("land.width", "land.height * 2", "land.both()", "wide(land, 2)", one, "land.pair.one")
        )
        lines = random.choice(
            (
                [f"q = land.at({one} - 1, {two})", f"if q is not None: s += q.value + {value}"],
                [f"if {one} > 1: s += {value}"],
                [f"s += {value}"],
                [f"if land.first is not None: s += {two}", f"else: s -= {value}"],
            )
        )
        if random.random() < 0.1:
            lines = [*lines, "land.height = 1"]
        return lines


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_loops_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    body = _Lines(seed).kernel()
    program = program_of(tmp_path_factory.getbasetemp(), body)
    expected = [outcome(program, seed + n, threads=1) for n in range(6)]
    hoisted(program)
    assert [outcome(program, seed + n, threads=1) for n in range(6)] == expected, body


def test_random_loops_load_once(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    programs = [program_of(tmp_path, _Lines(seed).kernel()) for seed in range(10)]
    assert sum(bool(hoisted(program)) for program in programs) > 6
