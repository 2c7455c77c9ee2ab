"""Assertions that come late: which do, and that random programs leave the same in memory and that
each thread fails first where it did."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import i32, ir
from sharedoa.ir.core import Operation, operations_in
from sharedoa.ir.passes.late_assertions import delay_assertions
from sharedoa.ir.text import program_text
from sharedoa.ir.verify import verify

from ..differential.effort import examples
from .interpreter import Machine, Thing
from .test_flatten_loops import PLACES, THREADS, Farther, Place, program_of


@oa.func
def take(place: Place, value: i32) -> None:
    assert place.value != 2, "taken"
    place.value = value


@oa.func
def enter(place: Place) -> None:
    assert place.other is None, "another one"
    place.kind = 7


@oa.func
def leave(place: Place) -> None:
    assert place.next is not None, "none"
    place.next.kind = 6


CALLED = {each.__name__: each for each in (take, enter, leave)}


def delayed(program: ir.Program) -> None:
    """Delay what can be."""
    delay_assertions(program)
    verify(program)


_ROUND = "for k in range(c):\n    p = places[k]\n"
_BREAK = "    if p.kind > 1:\n        break\n"
BODIES = {
    "p = places[t]\nassert p.value > 0\np.value = 3": (0, 0, 0),
    "p = places[t]\ntake(p, 3)\np.kind = 4": (0, 0, 0),
    # Loops that may be endless, and what prints, keep it before them; so do ways to leave a loop.
    "p = places[t]\nassert p.value > 0\nwhile c < 2:\n    c += 1\np.value = 3": (2, 0, 0),
    "p = places[t]\nassert p.value > 0\nprint(c)\np.value = 3": (2, 0, 0),
    "p = places[t]\nassert p.value > 0\noa.syncthreads()\np.value = 3": (2, 0, 0),
    "p = places[t]\nassert p.value > 0\noa.delete(places[0])\np.value = 3": (2, 0, 0),
    # What says numbers of a failure is in a branch for it.
    "p = places[t]\nassert p.value > 0, f'at {c}'\np.value = 3": (2, 0, 1),
    "p = places[t]\nif c > 0:\n    assert p.value > 0\np.value = 3": (2, 0, 1),
    f"{_ROUND}    take(p, k)": (0, 0, 0),
    f"{_ROUND}{_BREAK}    take(p, k)": (0, 0, 1),
    f"{_ROUND}    take(p, k)\n{_BREAK}": (1, 1, 1),
    # What follows is left unless it asks nothing of what was promised.
    "enter(places[t])\nplaces[0].value = 4": (0, 0, 0),
    "leave(places[t])\nplaces[0].value = 4": (0, 0, 1),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_comes_behind_an_assertion(tmp_path: Path, body: str) -> None:
    """How many stores do; how many assertions are in loops; and how many branches there are."""
    program = program_of(tmp_path, body, **CALLED)
    delayed(program)
    every = [*operations_in(program.kernel)]
    kinds = [each.kind for each in every]
    rounds = [loop.regions[0] for loop in every if loop.kind == "for"]
    inside = [each for region in rounds for each in operations_in(region)]
    found = (
        kinds[kinds.index("assert") :].count("store"),
        sum(each.kind == "assert" for each in inside),
        kinds.count("if"),
    )
    assert found == BODIES[body]


def test_what_nobody_declared_keeps_them_where_they_are(tmp_path: Path) -> None:
    program = program_of(tmp_path, "p = places[t]\ntake(p, 3)\np.kind = 4", **CALLED)
    first = program.kernel.body.operations[0]
    program.kernel.body.operations.insert(0, Operation("unheard_of", [], first.location))
    before = program_text(program)
    delay_assertions(program)
    assert program_text(program) == before


def test_threads_that_share_rounds_report_in_them(tmp_path: Path) -> None:
    """Each has rounds of others, and the loop's results are made of those of all."""
    program = program_of(tmp_path, f"{_ROUND}    take(p, k)", **CALLED)
    (loop,) = (each for each in operations_in(program.kernel) if each.kind == "for")
    loop.attributes["shared"] = True
    delay_assertions(program)
    inside = operations_in(loop.regions[0])
    assert [each.kind for each in inside].count("assert") == 1


def test_rounds_note_which_failed_first(tmp_path: Path) -> None:
    body = "for k in range(6):\n    assert places[k].kind < 2, 'b'\n    take(places[k], k)"
    program = program_of(tmp_path, body, **CALLED)
    delayed(program)
    for kinds, values, first in ([0, 0, 9], [0, 2, 0], "taken"), ([0, 9, 0], [0, 0, 2], "b"):
        places = [
            Thing(Place.__sharedoa__, {"kind": kind, "value": value})
            for kind, value in zip((kinds * 2), (values * 2), strict=True)
        ]
        reports = Machine(program, 0).run((places, [6], [0], 6), 1)
        assert reports == [[(first, [])]]
        assert [place.fields["value"] for place in places] == [*range(6)]


def _statements(random: Random, depth: int, is_loop: bool = False) -> list[str]:
    found: list[str] = []
    for _ in range(random.randrange(1, 5)):
        which = random.randrange(12)
        is_round = is_loop or which == 5
        inner = ["pass"] if depth > 2 else _statements(random, depth + 1, is_round)
        if which < 4:
            test = random.choice(["p.value > 1", "s % 3 != 1", "p.kind == 1", "p.other is None"])
            found += [f"assert {test}, 'a{random.randrange(1000)}'"]
        elif which == 4:
            test = random.choice(["p.value > 1", "p.kind == 1"])
            found += [f"if {test}:", *("    " + line for line in inner)]
        elif which == 5:
            found += [f"for k in range(c % {random.randrange(2, 5)}):"]
            found += ["    p = places[(k + s) % w]", *("    " + line for line in inner)]
            if random.random() < 0.3:
                last = random.choice(["break", "return"]) if is_loop else "print(s)"
                found += ["else:", "    if s % 2 == 1:", f"        {last}"]
        elif which == 6:
            found += [random.choice(["break", "continue"])] if is_loop else ["s += 2"]
        elif which == 7:
            found += ["return" if is_loop and random.random() < 0.3 else "print(s)"]
        elif which == 8:
            found += [random.choice(["take(p, s % 4)", "enter(p)", "r = p.put()"])]
        else:
            found += [random.choice(["s += p.value", "p.value = s % 5", "p.kind = s % 3"])]
    return found


def outcome(program: ir.Program, seed: int) -> Any:
    """What one thread leaves, what it prints, and its first failure with how much was printed
    before."""
    random = Random(seed)
    places = [Thing(random.choice([Place, Farther]).__sharedoa__, {}) for _ in range(PLACES)]
    for place in places:
        other = random.choice([None, *places])
        numbers = {name: random.randrange(4) for name in ("value", "kind")}
        place.fields = {"next": other, "other": other, **numbers}
    out = [0] * THREADS
    (reported,) = Machine(program, 0).run((places, [random.randrange(20)], out, PLACES), 1)
    failures = [n for n, (said, _) in enumerate(reported) if isinstance(said, str)]
    printed = [each for n, each in enumerate(reported) if n not in failures]
    return (
        out, [(each.fields["value"], each.fields["kind"]) for each in places], printed,
        [(failures[0], reported[failures[0]])] if failures else [],
    )  # fmt: skip


_LAST = "    assert p.value > 1, 'a'\n"
ORDERS = (
    f"{_ROUND}    print(k)\n{_LAST}",
    f"{_ROUND}    if p.kind > 2:\n        return\n{_LAST}",
    f"{_ROUND}{_BREAK}{_LAST}",
    f"{_ROUND}    if p.kind > 1:\n        continue\n{_LAST}",
    f"{_ROUND}{_LAST}else:\n    assert s > 0, 'b'",
    f"{_ROUND}{_LAST}else:\n    print(c)",
    "for j in range(c):\n    for k in range(w):\n        p = places[k]\n        p.value = j\n"
    "        assert p.kind > 1, 'a'\n    else:\n        if c > j:\n            break",
)


@pytest.mark.parametrize("body", ORDERS)
def test_the_first_failure_of_a_loop(tmp_path: Path, body: str) -> None:
    program = program_of(tmp_path, body.replace("range(c)", "range(w)"))
    expected = [outcome(program, seed) for seed in range(30)]
    delayed(program)
    assert [outcome(program, seed) for seed in range(30)] == expected


@oa.func
def here(place: Place, n: i32) -> i32:
    r = there(place, n - 1) if n > 0 else 0
    print(n)
    return r


@oa.func
def there(place: Place, n: i32) -> i32:
    place.value = n
    return here(place, n - 1)


def test_functions_that_call_each_other(tmp_path: Path) -> None:
    """Of which one prints, and the other is asked about after it."""
    one = "assert p.kind > 3, 'a'\n    r = here(p, 2)"
    body = f"p = places[0]\nif c > 3:\n    {one}\nassert p.kind > 2, 'b'\nr = there(p, 1)"
    program = program_of(tmp_path, body, here=here, there=there)
    expected = [outcome(program, seed) for seed in range(9)]
    delayed(program)
    assert [outcome(program, seed) for seed in range(9)] == expected


@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_programs_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    body = "p = places[0]\n" + "\n".join(_statements(Random(seed), 0))
    program = program_of(tmp_path_factory.getbasetemp(), body, **CALLED)
    expected = [outcome(program, seed + each) for each in range(4)]
    delayed(program)
    assert [outcome(program, seed + each) for each in range(4)] == expected, body
