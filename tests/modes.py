"""In which modes and layouts programs are tested: the whole product takes minutes."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import pytest

from dispatch.mode import MODES, parse_mode

#: Together they have every way to tell a class and to call. How a call finds its method is compiled
#: in one place for all programs.
FEW = (
    ("cuda", "range+switch"),
    ("concord", "typepointer"),
    ("coal", "header+vtable"),
    ("bits+switch", "auto"),
)
#: For what takes half a minute in each; the other modes have a smaller size.
LONG = FEW[2] + FEW[3]
#: The host places each object that kernels make there, and so takes minutes at paper sizes.
ONE_BY_ONE = tuple(mode for mode in MODES if parse_mode(mode).placement == "scattered")


def few_modes(part: Literal[0, 1, 2, 3]) -> list[Any]:
    """Parameters: every mode, all but a few marked slow. Tests of the same program have different
    parts."""
    return _parameters(MODES, FEW[part])


def quick_modes(*quick: str, of: Sequence[str] = MODES) -> list[Any]:
    """Parameters: every mode, all but those named marked slow."""
    return _parameters(of, quick)


def half_of(modes: Sequence[str], half: Literal[0, 1]) -> list[Any]:
    """Parameters: the modes, every second marked slow. For random programs, which are others in
    each mode."""
    return _parameters(modes, modes[half::2])


def third_of(modes: Sequence[str], third: Literal[0, 1, 2]) -> list[Any]:
    """Parameters: the modes, two thirds of them marked slow."""
    return _parameters(modes, modes[third::3])


def _parameters(modes: Sequence[str], quick: Sequence[str]) -> list[Any]:
    return [
        pytest.param(mode, marks=() if mode in quick else pytest.mark.slow, id=mode)
        for mode in modes
    ]


def modes_and_flavours(part: Literal[0, 1, 2, 3]) -> list[Any]:
    """Parameters ``mode`` and ``natural``: every mode of either flavour, all but the first of
    ``few_modes`` for the faithful one and the second for the natural one marked slow."""
    few = FEW[part]
    return [
        pytest.param(*each.values, natural, marks=each.marks, id=f"{each.id}-{name}")
        for name, natural, quick in (("faithful", False, few[:1]), ("natural", True, few[1:]))
        for each in _parameters(MODES, quick)
    ]


def modes_and_layouts(part: int) -> list[Any]:
    """Parameters ``mode`` and ``layout``: one pair, and ``auto`` in tiles for every fourth program,
    as their other tests have it in records; the rest of the product marked slow. Twelve programs
    have different parts, so that together they run half of the pairs, in every mode but concord:
    how a call finds its method, and where fields lie, is compiled in one place for all programs."""
    found, place = [], 0
    for mode in MODES:
        # Modes that place objects one by one have no tiles.
        able = ("aos", "tile") if parse_mode(mode).placement == "by_type" else ("aos",)
        for layout in able:
            if mode == "auto":
                is_quick = layout == "tile" and part % 4 == 1
            else:
                is_quick, place = place % 12 == part and place // 12 == part % 2, place + 1
            marks = () if is_quick else pytest.mark.slow
            found.append(pytest.param(mode, layout, marks=marks, id=f"{mode}-{layout}"))
    return found


def rotated(*axes: Iterable[Any], each: int = 1) -> list[Any]:
    """Parameters: the product of the axes. Each value of the first is met with ``each``
    combinations of the others, which take turns; the rest is marked slow. Values may be
    ``pytest.param`` of one value, whose marks and name stay."""
    first, *others = ([parameter(value) for value in axis] for axis in axes)
    rest = list(itertools.product(*others))
    found = []
    for number, one in enumerate(first):
        for place, more in enumerate(rest):
            is_quick = (place - number * each) % len(rest) < each
            marks = [*one.marks, *(mark for other in more for mark in other.marks)]
            marks += [] if is_quick else [pytest.mark.slow]
            values = [each.values[0] for each in (one, *more)]
            name = "-".join(each.id or name_of(each.values[0]) for each in (one, *more))
            assert " at 0x" not in name, f"{name} differs from process to process: give it an id"
            found.append(pytest.param(*values, marks=marks, id=name))
    return found


def parameter(value: Any) -> Any:
    return value if hasattr(value, "marks") and hasattr(value, "values") else pytest.param(value)


def name_of(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(name_of, value))
    return str(getattr(value, "__name__", value))


def few_places(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests that are to be slow: of those that the fixtures ``mode`` and ``backend`` repeat in
    every mode on every backend, all but a few. Which these are differs from one test to the next:
    how a call finds its method is compiled in one place for all. So it is with as many parameters
    of a fixture as the mark ``in_turns`` says."""
    tests: dict[tuple[str, str, int], list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            others = dict(item.callspec.params)
            marks = [*item.iter_markers()]
            given = [name for mark in marks if mark.name == "parametrize" for name in _names(mark)]
            turns = next((mark.args for mark in marks if mark.name == "in_turns"), None)
            names, few = ([turns[0]], turns[1]) if turns else (["mode", "backend"], 0)
            where = [others.pop(name, None) for name in names if name not in given]
            if any(where) and not any(mark.name in ("slow", "gpu") for mark in marks):
                test = item.nodeid.partition("[")[0], repr(others), few
                tests.setdefault(test, []).append(item)
    for (name, _, few), found in tests.items():
        count = len(found)
        few = min(count, few or max(2, count // 8))
        stride = next(n for n in itertools.count(max(1, count // few)) if math.gcd(n, count) == 1)
        quick = {(zlib.crc32(name.encode()) + step * stride) % count for step in range(few)}
        yield from (item for number, item in enumerate(found) if number not in quick)


def _names(mark: pytest.Mark) -> Sequence[str]:
    """The parameters that ``pytest.mark.parametrize`` gives."""
    names = mark.args[0]
    return [each.strip() for each in names.split(",")] if isinstance(names, str) else names
