"""Tests that search and wait for those that load a field: which do, and that random ones mean the
same. The interpreter refuses to read what is no object, so whatever is asked too early is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.passes.cheap_tests import order_tests
from sharedoa.ir.text import program_text
from sharedoa.ir.verify import verify

from ..differential.effort import examples
from .programs import job
from .test_flatten_loops import BOTH, Place, outcome, program_of


class Deep(Place):
    more: i32


@oa.func
def first(place: Place) -> Place | None:
    """Its first link to a place of kind 0."""
    for k in range(3):
        link = place.links[k]
        if link is not None and link.kind == 0:
            return link
    return None


@oa.func
def count(place: Place) -> i32:
    found = i32(0)
    for link in place.links:
        if link is not None:
            found += link.value
    return found


@oa.func
def leads_to(place: Place, other: Place | None) -> bool:
    """Never to None."""
    for k in range(3):
        link = place.links[k]
        if link is not None and link is other:
            return True
    return False


@oa.func
def some(place: Place, rounds: i32) -> bool:
    for k in range(rounds):
        if place.links[k % 3] is None:
            return True
    return False


@oa.func
def follow(place: Place) -> bool:
    left = place.kind
    while left > 0:
        if place.next is None:
            return True
        place = place.next
        left -= 1
    return False


@oa.func
def mark(place: Place) -> bool:
    for k in range(3):
        link = place.links[k]
        if link is not None:
            link.value = 2
    return place.kind == 0


@oa.func
def perhaps(place: Place, other: Place | None) -> bool:
    """It asks the other one only if there is one."""
    if other is None or place.kind > 1:
        return False
    for k in range(3):
        if other.links[k] is place:
            return True
    return other.kind == 1


@oa.func
def deep(place: Place, n: i32) -> bool:
    found = False
    for k in range(3):
        link = place.links[k]
        if link is not None and n > 0 and deep(link, n - 1):
            found = True
    return place.value == 1 or found


_CALLED = first, count, leads_to, some, follow, mark, perhaps, deep
FUNCTIONS = {each.__name__: each for each in _CALLED}
P = "p = places[c % 6]\nq = p.other\n"
ORDERED = {
    "and": "if first(p) is None and p.kind > 0: s += 1",
    "or": "if first(p) is not None or p.kind > 0: s += 1",
    "three": "if first(p) is None and p.kind > 0 and q is not p.next: s += 1",
    "no loads of one": "if count(p) < 4 and not (p.kind == 1 or p.value == 2): s += 1",
    "within another": "if q is not None and count(q) > 1 and q.links[1] is None: s += 1",
    "two searches": "if count(p) < 5 and first(p) is None and p.value > 1: s += 1",
    "after another": "if p.value < 4 and first(p) is None and p.kind > 0: s += 1",
}  # fmt: skip
KEPT = {
    "no search": "if p.both() and p.kind > 0: s += 1",
    "what was found": "f = first(p)\nif f is not None and f.value > 1: s += 1",
    "another object": "if leads_to(p, q) and q.kind > 0: s += 1",
    "asked in some rounds": "if some(p, w - 6) and p.kind > 0: s += 1",
    "no end": "if follow(p) and p.value > 0: s += 1",
    "a store": "if mark(p) and p.value > 1: s += 1",
    "a store between": "f = first(p) is None\np.kind = 1\nif f and p.value > 1: s += 1",
    "a call": "if first(p) is None and p.is_live(): s += 1",
    "a division": "if count(p) > 0 and 7 // p.value > 1: s += 1",
    "an index": "if p.kind < 3 and first(p) is not None and p.links[p.kind] is None: s += 1",
    "a subclass": "if isinstance(p, Deep) and first(p) is None and p.more > 1: s += 1",
    "neither": "f = False if first(p) is None else p.kind > 0\nif f: s += 1",
    "needed before": "f = first(p) is None\nif f: r = 3\nif f and p.kind > 0: s += 1",
    "asked behind a return": "if perhaps(p, q) and q.kind > 0: s += 1",
    "itself": "if deep(p, 2) and p.kind > 0: s += 1",
    "a number": "s += p.kind if first(p) is None else 0",
    "a store otherwise": (
        "if first(p) is None: f = p.kind > 0\nelse:\n    p.value = 2\n    f = False\nif f: s += 1"
    ),
    "a return otherwise": (
        "if first(p) is None: f = p.kind > 0\nelse:\n    return\nif f: s += 1"
    ),
    "another result": "if first(p) is None: s += p.value",
    "many loads": (
        "if first(p) is None and (p.kind > 1 or p.value > 1 or p.next is p.other\n"
        "        or p.links[0] is p.links[1] or p.links[2] is None): s += 1"
    ),
}  # fmt: skip


def ordered(program: ir.Program) -> bool:
    """Put tests in order; whether any was."""
    before = program_text(program)
    order_tests(program, job(device=True, shares_loops=True))
    verify(program)
    assert bool(program.remarks) == (program_text(program) != before)
    return bool(program.remarks)


@pytest.mark.parametrize("name", [*ORDERED, *KEPT])
def test_which_wait(tmp_path: Path, name: str) -> None:
    lines = P + (ORDERED.get(name) or KEPT[name])
    program = program_of(tmp_path, lines, Deep=Deep, **FUNCTIONS)
    expected = [outcome(program, seed, BOTH) for seed in range(24)]
    assert ordered(program) == (name in ORDERED)
    assert [outcome(program, seed, BOTH) for seed in range(24)] == expected


@pytest.mark.parametrize(
    "search",
    [
        "f = count(p) + p.get() > 3\n",
        "f = False\nfor k in range(3):\n    if p.links[k] is None or p.get() > 2: f = True\n",
    ],
)
def test_searches_of_what_may_come_later(tmp_path: Path, search: str) -> None:
    """In a mode in which classes may come that nobody knows yet, a method may do anything."""
    lines = P + search + "if f and p.kind > 0: s += 1"
    for is_closed in (True, False):
        program, given = program_of(tmp_path, lines, **FUNCTIONS), job(device=True)
        order_tests(program, replace(given, mode=replace(given.mode, closed_world=is_closed)))
        assert bool(program.remarks) == is_closed


class _Conditions:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def kernel(self) -> str:
        lines = [f"if {self._of(2)}: s += {n + 1}\nelse: r += s" for n in range(3)]
        return P + "\n".join(lines)

    def _of(self, depth: int) -> str:
        random = self._random
        if depth == 0 or random.random() < 0.2:
            return self._atom()
        joined = f" {random.choice(('and', 'or'))} ".join(
            self._of(depth - 1) for _ in range(random.randint(2, 3))
        )
        return f"not ({joined})" if random.random() < 0.2 else f"({joined})"

    def _atom(self) -> str:
        p = self._random.choice(("p", "p", "p.links[0]", "q"))
        searches = ("first({}) is None", "count({}) > 4", "leads_to({}, q)", "mark({})")
        rare = ("some({}, r)", "perhaps({}, q)", "perhaps({}, q) and q.kind > 0")
        search = self._random.choice((*searches, self._random.choice(rare)))
        test = self._random.choice(("{}.kind > 0", "{}.value == 2", "{}.next is q", "{}.both()"))
        atom = self._random.choice((search, test)).format(p)
        return atom if p == "p" else f"({p} is not None and {atom})"


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_tests_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    body = _Conditions(seed).kernel()
    program = program_of(tmp_path_factory.getbasetemp(), body, **FUNCTIONS)
    # One thread, as others would read what it writes.
    expected = [outcome(program, seed + n, BOTH, threads=1) for n in range(9)]
    ordered(program)
    assert [outcome(program, seed + n, BOTH, threads=1) for n in range(9)] == expected, body


def test_random_tests_wait(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    programs = [program_of(tmp_path, _Conditions(seed).kernel(), **FUNCTIONS) for seed in range(24)]
    assert sum(map(ordered, programs)) > 4
