"""Fields and elements that are loaded early: which are, and that random loops mean the same. The
interpreter refuses to read what is no object or element, so whatever is read too much is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.passes.early_loads import load_early
from sharedoa.ir.passes.shared_loops import share_loops
from sharedoa.ir.verify import verify
from sharedoa.model.layout import Header, Layout

from ..differential.effort import examples
from .programs import job, program_from
from .test_flatten_loops import Farther, Place, outcome, program_of

CLASSES = (Place, Farther)
WALK = """
p = places[0]
n = i32(0)
while n < c:
    {}
    n += 1
    following = p.next
    if following is None:
        break
    p = following
"""
#: What a round does, and how many values it loads early; of the place, the next one's is one.
ROUNDS = {
    "s += 1": 0,
    "if p.value > n:\n        s += p.kind": 2,
    "p.value = n\n    if p.value > 2:\n        s += p.kind": 2,
    "q = p.other\n    if q is not None and q.is_live():\n        s += 1": 1,
    # Behind a loop.
    "s += p.kept()\n    for k in range(n):\n        s += k\n    s += p.kind": 0,
    "s += p.both()": 1,
    "q = p.links[n % 3]\n    if q is not None:\n        s += q.value": 1,
    # The next element with it, which counts up to no end that is known.
    "q = places[n]\n    if q.value > 2:\n        s += q.kind": 2,
    "q = p.links[n]\n    if q is not None and q.value > 2:\n        s += q.kind": 1,
    "q = behind(places, n)\n    if q.value > 2:\n        s += q.kind": 1,
    # Which is the next one is known of neither.
    "q = places[c]\n    if q.value > 2:\n        s += q.kind\n    c = c * 2 % 6": 1,
    "q = places[c]\n    if q.value > 2:\n        s += q.kind\n    c = a[c]": 1,
    # What is asked first behind a test is not what is asked first in any case.
    "if c > 1:\n        s += p.kind\n    s += p.value": 0,
    # Rounds of an inner loop go to other arrays: fields of what they find alone.
    "for k in range(n):\n        e = p.links[k]\n        if e.value > 2:\n            p = e": 3,
}


def early(program: ir.Program) -> int:
    """Load early what can be; how many values are."""
    load_early(program, job(device=True, shares_loops=True))
    verify(program)
    found = [each for each in operations_in(program) if each.kind == "together"]
    return sum(len(each.operands) - 1 for each in found)


@pytest.mark.parametrize("body", ROUNDS)
def test_what_is_loaded_early(tmp_path: Path, body: str) -> None:
    assert early(program_of(tmp_path, WALK.format(body), **_CALLED)) == ROUNDS[body]


ONCE = {
    "q = p.next\n    if q.value > 1 or q.kind == 1:\n        s += 1": 1,
    "q = p.next\n    if q.value > 1:\n        q.value = 3\n        s += q.kind": 0,
    "q = p.next\n    if q.value > 1:\n        q.value = peek(q.other)": 0,
    # In any case, but for what a call asks behind a test of its own.
    "s += p.value\n    for k in range(c):\n        s += k\n    s += p.kind": 1,
    "q = p.next\n    if q is None:\n        s += 1\n    s += p.late()": 1,
}


@pytest.mark.parametrize("body", ONCE)
def test_what_is_loaded_early_outside_of_loops(tmp_path: Path, body: str) -> None:
    program = program_of(tmp_path, f"if c > 0:\n    p = places[t]\n    {body}", **_CALLED)
    assert early(program) == ONCE[body]
    # Where every thread comes, few may go on.
    outside = "\n".join(line.removeprefix("    ") for line in body.split("\n"))
    assert early(program_of(tmp_path, f"p = places[t]\n{outside}", **_CALLED)) == 0


def test_the_first_element_of_an_array_in_rows(tmp_path: Path) -> None:
    """Of an array in a record all are loaded early."""
    lines = "if p.value > n:\n        q = p.links[c % 3]\n        if q is not None:\n"
    body = WALK.format(lines + "            s += 1")
    for layout, loaded in (Layout("aos", Header(8, 8)), 4), (Layout("tile", Header(0, 0)), 2):
        program = program_of(tmp_path, body)
        load_early(program, replace(job(device=True, shares_loops=True), layout=layout))
        found = [each for each in operations_in(program) if each.kind == "together"]
        assert sum(len(each.operands) - 1 for each in found) == loaded


def test_no_next_element_where_a_function_gives_another_object(tmp_path: Path) -> None:
    """The array may have no elements then."""
    lines = "few = places[:n]\nfor k in range(w):\n    e = picked(few, places[t], k)\n"
    lines += "    if e.value > 1:\n        s += e.kind"
    program = program_of(tmp_path, "n = c * 0\n" + lines, **_CALLED)
    expected = outcome(program, 1, CLASSES, threads=1)
    assert early(program) == 1
    assert outcome(program, 1, CLASSES, threads=1) == expected


def test_rounds_that_threads_share_do_not(tmp_path: Path) -> None:
    lines = "for k in range(c, w):\n    e = places[k]\n    if e.value > 1:\n        s += e.kind"
    program = program_of(tmp_path, lines)
    share_loops(program)
    assert early(program) == 0
    assert early(program_of(tmp_path, lines)) == 2


def test_a_function_that_ends_in_a_call_of_itself(tmp_path: Path) -> None:
    """What element it gives is asked once."""
    lines = "while n < c:\n    e = endless(places, n)\n    if e.value > 1: s += e.kind\n    n += 1"
    assert early(program_of(tmp_path, "n = i32(0)\n" + lines, **_CALLED)) == 1


class Deep(Place):
    more: i32


def test_fields_of_subclasses_are_not(tmp_path: Path) -> None:
    """What is a place may be no deeper one."""
    lines = """
        while n > 0:
            if p.value > n:
                n -= p.kind
            if isinstance(p, Deep):
                n -= p.more
            p = p.next
    """
    names = {"oa": oa, "i32": i32, "Place": Place, "Deep": Deep}
    program = program_from(tmp_path, "p: Place, n: i32", dedent(lines).strip(), **names)
    assert early(program) == 2
    found = [each["name"] for each in operations_in(program) if each.kind == "field"]
    assert sorted(found) == ["kind", "kind", "more", "next", "next", "value"]


@pytest.mark.parametrize(
    ("ends", "place"), [("w", "k"), ("-1, -w - 1, -1", "k"), ("w", "k - 5"), ("0, w, 4", "k")]
)
def test_elements_at_the_ends(tmp_path: Path, ends: str, place: str) -> None:
    """Behind the last one there is none, nor before the first."""
    loop = f"for k in range({ends}):\n    e = places[{place}]"
    lines = f"{loop}\n    if e.value > 1:\n        s += e.kind"
    program = program_of(tmp_path, lines)
    expected = [outcome(program, seed, CLASSES, threads=1) for seed in range(3)]
    assert early(program) == 2
    assert [outcome(program, seed, CLASSES, threads=1) for seed in range(3)] == expected


@oa.func
def peek(place: Place | None) -> i32:
    if place is None:
        return 0
    if place.value > 1:
        return place.kind
    return 2


@oa.func
def peek_in_a_long_function(place: Place | None, n: i32) -> i32:
    """It stays a call."""
    if place is None:
        return 0
    found = place.value * 3 + n * 5 - (n + 1) * (n + 2) + (n + 3) * (n + 4) - (n - 5) * (n + 6)
    found += (n + 7) * (n + 8) - (n + 9) * (n + 10) + (n + 11) * (n + 12) - (n + 13) * (n - 14)
    if found % 3 > 0:
        return place.kind
    return found % 5


@oa.func
def picked(places: oa.Array[Place], other: Place, k: i32) -> Place:
    if k >= len(places):
        return other
    return places[k]


@oa.func
def behind(places: oa.Array[Place], k: i32) -> Place:
    return places[k + 1]


@oa.func
def endless(places: oa.Array[Place], k: i32) -> Place:
    places[k].value = k
    return endless(places, k)


_CALLED = {each.__name__: each for each in (peek, peek_in_a_long_function, picked, behind, endless)}


def _statements(random: Random, depth: int) -> list[str]:
    found: list[str] = []
    for _ in range(random.randrange(1, 4)):
        which = random.randrange(13)
        inner = ["pass"] if depth > 2 else _statements(random, depth + 1)
        if which < 4:
            test = random.choice(
                ["p.value > n", "p.kind == 1", "p.is_live()", "p.get() > s % 3", "p.both()"]
            )
            found += [f"if {test}:", *("    " + line for line in inner)]
        elif which == 4:
            found += [random.choice(["p.value = s % 7", "p.kind = n % 3", "r = p.put()"])]
        elif which == 5:
            link = random.choice(["p.next", "p.other", "p.links[n % 3]", "places[(s + n) % w]"])
            found += [f"q = {link}", "if q is not None:", "    s += q.value", "    p = q"]
        elif which == 6:
            found += [random.choice(["break", "continue"])] if depth else ["s += 2"]
        elif which == 7:
            place, ends = random.choice(
                [
                    ("k", "w"), ("k", "c % w"), ("k", "0, c % w, 2"), ("k - 1", "w"),
                    ("w - 1 - k", "w"), ("k", "w - 1, -1, -1"), ("k", "-w, w"),
                    ("k", "-1, -w - 1, -1"),
                ]
            )  # fmt: skip
            found += [
                f"for k in range({ends}):",
                f"    e = places[{place}]",
                "    if e.value > n:",
                "        s += e.kind",
                *(["        break"] if random.random() < 0.3 else []),
            ]
        elif which == 8:
            found += [
                "for k in range(c % 4):",
                f"    e = p.links[{random.choice(['k', 'k - 1', '2 - k', '-k'])}]",
                "    if e is not None and e.value > 1:",
                "        s += e.get()",
            ]
        elif which == 9:
            found += [
                f"few = places[:{random.choice(['c % 3', 'w', '0'])}]",
                "for k in range(c % 4):",
                "    e = picked(few, p, k)",
                "    if e.value > n:",
                "        s += e.kind",
            ]
        else:
            found += random.choice(
                [
                    ["s += p.value"], ["s += p.kind * 3"], ["s += p.late()"], ["s += p.turned(n)"],
                    ["q = p.other", "s += peek(q)"],
                    ["q = p.other", "s += peek_in_a_long_function(q, n)"],
                ]
            )  # fmt: skip
    return found


def _check_means_the_same(folder: Path, body: str, seed: int) -> None:
    """Of one thread, as what it stores to others would read."""
    program = program_of(folder, body, **_CALLED)
    expected = [outcome(program, seed + each, CLASSES, threads=1) for each in range(3)]
    early(program)
    assert [outcome(program, seed + each, CLASSES, threads=1) for each in range(3)] == expected, (
        body
    )


@settings(max_examples=examples(120))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_loops_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random, folder = Random(seed), tmp_path_factory.getbasetemp()
    lines = "\n    ".join(_statements(random, 0))
    body = f"p = places[0]\nn = i32(0)\nwhile n < 5:\n    n += 1\n    {lines}\ns += p.value"
    _check_means_the_same(folder, body, seed)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_branches_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random, folder = Random(seed), tmp_path_factory.getbasetemp()
    lines = "\n    ".join(_statements(random, 0)).replace("break", "pass")
    body = f"p = places[0]\nn = i32(1)\nif c > 0:\n    {lines.replace('continue', 'pass')}"
    _check_means_the_same(folder, body, seed)
