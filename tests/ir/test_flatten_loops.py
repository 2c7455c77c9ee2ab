"""Loops that become straight code: which do, and that random ones mean the same. The interpreter
refuses to read what is no object or element, so whatever is read too much is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32, i32, ir
from sharedoa.ir.passes.candidates import narrow_candidates
from sharedoa.ir.passes.flatten_loops import _DONE, _MUCH, _STALE, flatten_loops
from sharedoa.ir.passes.narrow_counters import narrow_counters
from sharedoa.ir.passes.shared_loops import share_loops
from sharedoa.ir.text import program_text
from sharedoa.ir.verify import verify

from ..differential.effort import examples
from .interpreter import Machine, Thing
from .programs import job, program_from

THREADS, PLACES = 3, 6
LARGEST = 2**31 - 1
TABLE = np.array([3, 1, 4, 1, 5, 9], np.int32)


class Place(oa.Object):
    next: Place | None
    other: Place | None
    value: i32
    kind: i32
    links: oa.inline[Place, 3]

    def get(self) -> i32:
        return self.value

    def is_live(self) -> bool:
        return self.kind == 0

    def both(self) -> bool:
        other = self.other
        return other is not None and other.is_live()

    def put(self) -> i32:
        self.value = 3
        return 3

    def kept(self) -> i32:
        return self.value

    def late(self) -> i32:
        if self.kind == 0:
            return self.value
        return 1

    def turned(self, n: i32) -> i32:
        found = n
        if self.kind == 0:
            return self.value
        else:
            found = self.value + n
        if self.value == 2:
            return found
        return found * 2

    def nth(self, n: i32) -> i32:
        return i32(TABLE[n])

    def partner(self) -> Place:
        return self

    def again(self, n: i32) -> i32:
        other = self.other
        return 1 if other is None or n < 1 else other.again(n - 1)


class Farther(Place):
    def get(self) -> i32:
        return self.value + self.kind

    def is_live(self) -> bool:
        return self.value > 2

    def put(self) -> i32:
        return 4

    def kept(self) -> i32:
        self.value = 3
        return 3

    def nth(self, n: i32) -> i32:
        return i32(TABLE[5 - n])

    def partner(self) -> Place:
        return self

    def again(self, n: i32) -> i32:
        return n


PARAMETERS = "places: oa.Array[Place], a: oa.Array[i32], out: oa.Array[i32], w: i32"
BEGIN = "t = oa.grid(1)\nc = a[t]\ns = i32(0)\nr = i32(1)\n"
END = "\nout[t] = s + r * 1000"


def program_of(folder: Path, body: str, **more: Any) -> ir.Program:
    names = {"oa": oa, "i32": i32, "f32": f32, "Place": Place, "TABLE": TABLE, **more}
    return program_from(folder, PARAMETERS, BEGIN + body + END, **names)


def flattened(program: ir.Program, classes: Sequence[type[Place]]) -> bool:
    """Flatten what can be; whether anything was."""
    met = {cls.__sharedoa__.type_index for cls in classes}
    given = job(device=True, shares_loops=True, populated=met)
    narrow_candidates(program, given)
    narrow_counters(program)
    before = program_text(program)
    flatten_loops(program, given)
    verify(program)
    return program_text(program) != before


def outcome(
    program: ir.Program,
    seed: int,
    classes: Sequence[type[Place]],
    w: int = PLACES,
    threads: int = THREADS,
) -> Any:
    random = Random(seed)
    places = [Thing(random.choice(classes).__sharedoa__, {}) for _ in range(PLACES)]
    for place in places:
        place.fields = {
            "next": random.choice([None, *places]),
            "other": random.choice([None, None, *places]),
            "value": random.randrange(5),
            "kind": random.randrange(3),
            "links": tuple(random.choice([None, *places]) for _ in range(3)),
        }
    numbers = [random.randrange(w - PLACES - 4, w + 4) for _ in range(threads)]
    numbers = [min(each, LARGEST) for each in numbers]
    out = [0] * threads
    Machine(program, 0).run((places, numbers, out, w), threads)
    return out, [each.fields["value"] for each in places]


AROUND = "for x in range(max(c - 1, 0), min(c + 2, w)):\n"
FLAT = {
    "neighbours": AROUND + "  q = places[x].next\n  if q is not None: s += q.value",
    "a method": AROUND + "  q = places[x].next\n  if q is not None and q.is_live(): s += 1",
    "one behind another": AROUND + "  if places[x].both(): s += 1",
    "in two ways": (
        "for x in range(max(c - 1, 0), min(c + 2, w)):\n"
        " for y in range(max(c - 2, 0), min(c + 1, w)):\n"
        "  q = places[(x + y) // 2].next\n  if q is not None: s += q.get()"
    ),
    "known rounds": "for x in range(3):\n  q = places[0].links[x]\n  if q is not None: s += q.kind",
    "some of few": "for x in range(min(w, 4)):\n  q = places[x].other\n  if q is not None: r += 1",
    "what is carried": AROUND + (
        "  q = places[x].next\n  if q is not None:\n    r = max(r, q.value)\n"
        "    if q.kind > 1: s = s * 2 + r\n  else:\n    r = r + 1"
    ),
    "zeros of both signs": AROUND + (
        "  q = places[x].next\n  z = f32(0.0)\n"
        "  if q is not None and q.kind == 1: z = f32(-0.0)\n"
        "  if math.copysign(f32(1), z) < f32(0): s += 1"
    ),
    "the last part": AROUND + "  q = places[x].next\n  if q is not None: s += q.value\nelse: r = s",
}  # fmt: skip
ROUND = {
    "no tests": "for x in range(3):\n  s += places[x].value",
    "many rounds": "for x in range(17):\n  q = places[x % 6].next\n  if q is not None: s += 1",
    "unknown rounds": "for x in range(0, w):\n  q = places[x].next\n  if q is not None: s += 1",
    "other bounds": (
        "for x in range(max(c - 1, 0), min(t + 2, w)):\n"
        "  q = places[x].next\n  if q is not None: s += q.kind"
    ),
    "a minimum": (
        "for x in range(max(min(c - 1, 2), 0), min(c + 2, w)):\n"
        "  q = places[x].next\n  if q is not None: s += q.kind"
    ),
    "a store": AROUND + "  q = places[x].next\n  if q is not None: s += q.put()",
    "a break": AROUND + "  q = places[x].next\n  if q is None: break\n  s += q.kind",
    "a return": AROUND + "  q = places[x].next\n  if q is None: return\n  s += q.kind",
    "a late return": AROUND + "  q = places[x].next\n  if q is not None: s += q.late()",
    "itself": AROUND + "  q = places[x].next\n  if q is not None: s += q.again(3)",
    "a test of what is carried": AROUND + "  p = places[x]\n  if s < 3: s += p.value",
    "a place by what is carried": AROUND + "  s += places[s % 6].value",
    "a place by what is carried around": AROUND + (
        "  k = i32(0)\n  u = i32(0)\n"
        "  for y in range(2):\n    u += places[k].value\n    k = r\n  s += u\n  r += 1"
    ),
    "a place by what an arm gives that is carried": AROUND + (
        "  k = i32(0)\n  if places[x].kind > 0: k = r\n  s += places[k].value\n  r += 1"
    ),
    "bounds that are read": AROUND + (
        "  p = places[x]\n"
        "  for y in range(max(p.kind - 1, 0), min(p.kind + 1, w)): s += places[y].value"
    ),
    "every other one": (
        "for x in range(max(t - 1, 0), min(t + 2, len(places)), 2):\n"
        "  q = places[x].next\n  if q is not None: s += q.value"
    ),
    "an element of a table by what is carried": (
        AROUND + "  s += places[x].value + TABLE[r]\n  r += 1"
    ),
    "an index behind a test": AROUND + "  if places[x].kind > 1: s += a[x & 1]",
    "an index in an object": AROUND + (
        "  q = places[x].next\n  if q is not None:\n    z = q.links[q.kind]\n"
        "    if z is not None: s += 1"
    ),
    "a division behind a test": AROUND + (
        "  q = places[x].next\n  if q is not None:\n    if q.kind > 0: s += 7 // q.kind"
    ),
    "much behind a test": AROUND + (
        "  q = places[x].next\n  if q is not None:\n"
        "    v = f32(q.value)\n    for k in range(4): v = v / (v + 1.5)\n    s += i32(v)"
    ),
}  # fmt: skip


WHY = {
    "a store": "they do more than compute and load",
    "a break": "they may be left",
    "a return": "they may be left",
    "a late return": "they may be left",
    "itself": "a call may run several methods, or leads back to itself",
    "a test of what is carried": _STALE,
    "a place by what is carried": _STALE,
    "a place by what is carried around": _STALE,
    "a place by what an arm gives that is carried": _STALE,
    "bounds that are read": "how many there are may be computed of anything",
    "an element of a table by what is carried": _STALE,
    "an index behind a test": "an element of an array is read behind a test",
    "an index in an object": "an index behind a test may be outside",
    "a division behind a test": "what is computed behind a test may fault",
    "much behind a test": _MUCH,
}


@pytest.mark.parametrize("name", [*FLAT, *ROUND])
def test_which_loops_are_flat(tmp_path: Path, name: str) -> None:
    program = program_of(tmp_path, FLAT.get(name) or ROUND[name])
    expected = [outcome(program, seed, [Place]) for seed in range(40)]
    assert flattened(program, [Place]) == (name in FLAT)
    told = [remark.text.rpartition(", as ")[2] for remark in program.remarks]
    assert told == [_DONE] if name in FLAT else told == [WHY[n] for n in [name] if n in WHY]
    assert [outcome(program, seed, [Place]) for seed in range(40)] == expected


WITHIN = {
    "bounds by what is carried": "v = max(c - 1, 0) + 1\n" + AROUND + (
        "  for y in range(v - 1, v): s += places[y].value\n  v += 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_loops_within_are_flat_alone(tmp_path: Path, name: str) -> None:
    program = program_of(tmp_path, WITHIN[name])
    expected = [outcome(program, seed, [Place]) for seed in range(40)]
    assert flattened(program, [Place])
    assert all(each.kind == "for" for each in program.kernel.body.operations if each.regions)
    assert [outcome(program, seed, [Place]) for seed in range(40)] == expected


BOTH = [Place, Farther]


def test_calls_that_may_run_several_methods_come_after_all_loads(tmp_path: Path) -> None:
    program = program_of(tmp_path, FLAT["in two ways"])
    expected = [outcome(program, seed, BOTH) for seed in range(40)]
    assert flattened(program, BOTH)
    assert [outcome(program, seed, BOTH) for seed in range(40)] == expected
    (straight,) = (
        r for o in program.kernel.body.operations if o.kind == "if" for r in o.regions[:1]
    )
    kinds = [operation.kind for operation in straight.operations]
    assert kinds.count("if") == 9
    # What is loaded in the rounds, and not within the methods.
    assert "load" not in kinds[kinds.index("if") :]


@pytest.mark.parametrize(
    "call", ["q.put()", "q.kept()", "q.again(3)", "q.nth(r)\n  r += 1", "q.partner().kind"]
)
def test_calls_that_may_run_several_methods_and_more_than_look_stay(
    tmp_path: Path, call: str
) -> None:
    program = program_of(
        tmp_path, AROUND + f"  q = places[x].next\n  if q is not None: s += {call}"
    )
    assert not flattened(program, BOTH)


def test_calls_of_what_may_come_later_stay(tmp_path: Path) -> None:
    """In a mode in which classes may come that nobody knows yet, calls find their methods."""
    program = program_of(tmp_path, FLAT["a method"])
    given = job(device=True, shares_loops=True, populated=[Place.__sharedoa__.type_index])
    given = replace(given, mode=replace(given.mode, closed_world=False))
    narrow_candidates(program, given)
    narrow_counters(program)
    before = program_text(program)
    flatten_loops(program, given)
    assert program_text(program) == before


def test_loops_that_threads_share_stay(tmp_path: Path) -> None:
    lines = "for x in range(c, c + 3):\n  q = places[x].next\n  if q is not None: s += q.value"
    program = program_of(tmp_path, lines)
    share_loops(program)
    assert any("shared" in each.attributes for each in ir.operations_in(program))
    assert not flattened(program, [Place])


def test_sums_that_overflow(tmp_path: Path) -> None:
    body = (
        "for x in range(max(c, 2147483646), min(c + 3, w)):\n"
        "  q = places[x % 6].next\n  s += 1\n  if q is not None: s += q.value"
    )
    program = program_of(tmp_path, body)
    expected = [outcome(program, seed, [Place], LARGEST) for seed in range(40)]
    assert flattened(program, [Place])
    assert [outcome(program, seed, [Place], LARGEST) for seed in range(40)] == expected
    assert any(any(out) for out, _ in expected)


_BESIDE = (
    "s += places[v].kind",
    "s += TABLE[v]",
    "k = i32(0)\nu = i32(0)\nfor y in range(2):\n u += places[k].kind\n k = v\nr += u",
    "k = i32(0)\nif places[v].kind > 0: k = v\nr += places[k].value",
    "n = v + 1\nfor y in range(n - 1, n): r += places[y].kind",
    "r += places[0].nth(v)",
)


class _Lines:
    """A kernel's loops over places and what they refer to."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._names = 0

    def kernel(self) -> str:
        lines = self._loop("x", [])
        if self._random.random() < 0.3:
            lines += self._loop("y", [])
        return "\n".join(lines)

    def _loop(self, counter: str, objects: list[str]) -> list[str]:
        low, high = self._random.randint(-2, 0), self._random.randint(1, 2)
        walks = counter != "z" and self._random.random() < 0.3
        bounds = [f"max(c {low:+d}, 0), min(c {high:+d}, w)"] if walks else [
            f"max(c {low:+d}, 0), min(c {high:+d}, w)", f"max(c {low:+d}, 0), min(w, c {high:+d})",
            f"max({low + 3}, c), min(c {high:+d}, w)", "3", f"min(w, {high})", "1, 6, 2",
            f"max(t {low:+d}, 0), min(t {high:+d}, len(places)), 2",
        ]  # fmt: skip
        if counter == "z":
            bounds.append("max(px.kind - 1, 0), min(px.kind + 1, w)")
        head = f"for {counter} in range({self._random.choice(bounds)}):"
        place = f"places[{counter}]"
        lines = [f"p{counter} = {place}"]
        inner = [*objects, f"p{counter}"]
        if counter == "x" and self._random.random() < 0.4:
            lines += self._loop("z", inner)
        lines += self._block(self._random.randint(1, 3), inner, 0)
        if walks:  # what is counted beside the counter is outside behind the last round
            lines += [*self._random.choice(_BESIDE).split("\n"), "v += 1"]
            return [f"v = max(c {low:+d}, 0)", head, *(f" {line}" for line in lines)]
        return [head, *(f" {line}" for line in lines)]

    def _block(self, count: int, objects: list[str], depth: int) -> list[str]:
        lines = []
        for _ in range(count):
            if depth < 3 and self._random.random() < 0.6:
                lines += self._guarded(objects, depth)
            else:
                lines.append(self._sum(objects))
        return lines

    def _guarded(self, objects: list[str], depth: int) -> list[str]:
        random, object = self._random, self._random.choice(objects)
        if random.random() < 0.5:
            self._names += 1
            name = f"q{self._names}"
            field = random.choice(("next", "other", "links[1]"))
            lines, test = [f"{name} = {object}.{field}"], f"{name} is not None"
            if random.random() < 0.4:
                test += f" and {name}.{random.choice(('is_live()', 'both()', 'kind > 0'))}"
            objects = [*objects, name]
        else:
            tests = (f"{object}.kind > {random.randrange(3)}", f"{object}.both()", "s % 2 == 0")
            lines, test = [], random.choices(tests, (5, 5, 1))[0]
        lines.append(f"if {test}:")
        lines += [f" {line}" for line in self._block(random.randint(1, 2), objects, depth + 1)]
        if random.random() < 0.3:
            lines += ["else:", f" {self._sum(objects[:1])}"]
        return lines

    def _sum(self, objects: list[str]) -> str:
        number = self._random.choice(("value", "kind", "get()"))
        number = f"{self._random.choice(objects)}.{number}"
        forms = ("s += {}", "r = max(r, {})", "s = s * 3 + {} - r", "s += 1", "r = {}")
        return self._random.choice(forms).format(number)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_loops_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    body, classes = _Lines(seed).kernel(), BOTH if seed % 2 else [Place]
    program = program_of(tmp_path_factory.getbasetemp(), body)
    expected = [outcome(program, seed + n, classes) for n in range(8)]
    flattened(program, classes)
    assert [outcome(program, seed + n, classes) for n in range(8)] == expected, body


def test_random_loops_are_flat(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    for classes in ([Place], BOTH):
        programs = [program_of(tmp_path, _Lines(seed).kernel()) for seed in range(30)]
        assert sum(flattened(program, classes) for program in programs) > 15
