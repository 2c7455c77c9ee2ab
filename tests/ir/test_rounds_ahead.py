"""Elements of inline arrays that are loaded before the rounds of a loop: which are, and that loops
mean the same. The interpreter refuses to read what is no object or element."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharedoa import ir
from sharedoa.ir.core import operations_in
from sharedoa.ir.passes.rounds_ahead import load_rounds_ahead
from sharedoa.ir.verify import verify

from ..differential.effort import examples
from .test_flatten_loops import BOTH, outcome, program_of

P = "p = places[c % 6]\n"
AHEAD = {
    "a search": (
        "for k in range(3):\n  q = p.links[k]\n  if q is not None:\n    s = q.value\n    break"
    ),
    "a store": "for k in range(3):\n  q = p.links[k]\n  if q is not None: q.value = 2",
    "a method": "for k in range(3):\n  q = p.links[k]\n  if q is not None and q.is_live(): s += 1",
    "two of three": (
        "for k in range(1, 3):\n  q = p.links[k]\n  if q is None: continue\n  s += q.kind"
    ),
    "backwards": (
        "for k in range(2, -1, -1):\n  q = p.links[k]\n  if q is not None: s = s * 3 + q.kind"
    ),
    "what is passed on": (
        "for k in range(3):\n  q = p.links[k]\n  if q is not None and q.value > s: s += q.value\n"
        "  else: r = s"
    ),
}  # fmt: skip
NOT = {
    "unknown rounds": "for k in range(min(w, 3)):\n  q = p.links[k]\n  if q is not None: s += 1",
    "no tests": "for k in range(3):\n  s += i32(p.links[k] is None)",
    "behind a test": "for k in range(3):\n  if p.kind > k and p.links[k] is not None: s += 1",
    "another index": "for k in range(3):\n  q = p.links[2 - k]\n  if q is not None: s += q.kind",
    "another object": (
        "for k in range(3):\n  o = places[k]\n  q = o.links[k]\n  if q is not None: s += q.kind"
    ),
    "what is stored": (
        "for k in range(3):\n  q = p.links[k]\n  if q is not None: p.links[1] = None\n  s += 1"
    ),
    "behind an end": (
        "o = p.other\nfor k in range(3):\n  if o is None: break\n  q = o.links[k]\n"
        "  if q is not None: s += 1"
    ),
    "one round": "for k in range(1):\n  q = p.links[k]\n  if q is not None: s += q.kind",
}


def ahead(program: ir.Program) -> int:
    """Load ahead what can be; how many elements are."""
    load_rounds_ahead(program)
    verify(program)
    found = [each for each in operations_in(program) if each.kind == "together"]
    return sum(len(each.operands) for each in found)


@pytest.mark.parametrize("name", [*AHEAD, *NOT])
def test_which_are_loaded_ahead(tmp_path: Path, name: str) -> None:
    program = program_of(tmp_path, P + (AHEAD.get(name) or NOT[name]))
    expected = [outcome(program, seed, BOTH, threads=1) for seed in range(20)]
    assert ahead(program) == (2 if name == "two of three" else 3 if name in AHEAD else 0)
    assert [outcome(program, seed, BOTH, threads=1) for seed in range(20)] == expected


class _Lines:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def kernel(self) -> str:
        random = self._random
        bounds = ("3", "1, 3", "2, -1, -1", "0, 3, 2", "min(w, 3)")
        lines = [f"for k in range({random.choice(bounds)}):", " q = p.links[k]"]
        lines += [f" {line}" for _ in range(random.randint(1, 3)) for line in self._statement()]
        return P + "\n".join(lines)

    def _statement(self) -> list[str]:
        random = self._random
        inner = random.choice(
            ("s += q.value", "break", "continue", "q.value = s", "r = q.get()", "p.links[k] = None")
            if random.random() < 0.8
            else ("p = q",)
        )
        test = random.choice(("q is not None", "q is not None and q.kind > 0"))
        return random.choice(([f"if {test}: {inner}"], ["s = s * 3 + k"], ["if s > 4: r += 1"]))


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**32 - 1))
def test_random_loops_mean_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    body = _Lines(seed).kernel()
    program = program_of(tmp_path_factory.getbasetemp(), body)
    expected = [outcome(program, seed + n, BOTH, threads=1) for n in range(8)]
    ahead(program)
    assert [outcome(program, seed + n, BOTH, threads=1) for n in range(8)] == expected, body


def test_random_loops_load_ahead(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    programs = [program_of(tmp_path, _Lines(seed).kernel()) for seed in range(40)]
    assert sum(bool(ahead(program)) for program in programs) > 6
