"""What random programs are given, what comes of them by dual numbers, and what equal means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..source_files import PRELUDE_LINES
from . import plain
from .dual import Dual
from .source import Program

Floats = NDArray[np.float64]
INLINE_SIZE = 3
#: Arrays of f64 that a program has, beside those that its launches make.
NAMES = ("A", "B", "S")


@dataclass
class Inputs:
    """Numbers of a program before it runs: of each object its fields, then the arrays. Fields with
    several components are rows."""

    fields: list[dict[str, Floats]]
    counts: list[int]
    arrays: dict[str, Floats]


@dataclass
class Outcome:
    """What is seen of a program: the loss, values after it, and derivatives of the loss by all
    inputs, in their order. ``weights``: see ``dual``."""

    loss: float
    after: Inputs
    gradient: Inputs
    weights: Inputs | None = None


def make_inputs(program: Program, seed: int) -> Inputs:
    rng = np.random.default_rng(seed)
    fields, counts = [], []
    for cls, _, _ in program.objects:
        sizes = {name: _size(type) for name, type in program.fields[cls].items()}
        fields.append({name: rng.uniform(-1.5, 1.5, size) for name, size in sizes.items()})
        counts.append(int(rng.integers(0, 4)))
    arrays = {name: rng.uniform(-1.5, 1.5, size) for name, size in program.arrays.items()}
    return Inputs(fields, counts, arrays)


def _size(type: str) -> int:
    return {"f64": 1, "oa.vec2d": 2, "Pair": 2}.get(type, INLINE_SIZE)


# ------------------------------------------------------------------ dual numbers


class _Numbering:
    """Makes inputs dual numbers, and cuts derivatives by all of them into the form of inputs."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.next = inputs, 0
        groups = [value for each in inputs.fields for value in each.values()]
        self.count = sum(map(len, [*groups, *inputs.arrays.values()]))

    def duals(self, values: Floats) -> list[Dual]:
        made = []
        for value in values:
            parts = np.zeros((2, self.count))
            parts[:, self.next] = 1.0
            self.next += 1
            made.append(Dual(value, parts))
        return made

    def cut(self, row: Floats) -> Inputs:
        at = 0

        def take(like: Floats) -> Floats:
            nonlocal at
            at += len(like)
            return row[at - len(like) : at]

        fields = [{n: take(v) for n, v in each.items()} for each in self.inputs.fields]
        return Inputs(fields, [], {n: take(v) for n, v in self.inputs.arrays.items()})


def expected(program: Program, inputs: Inputs) -> Outcome:
    """By dual numbers in plain Python."""
    names = plain.run_source(program.text)
    numbering = _Numbering(inputs)
    objects = []
    for (cls, _, _), values, count in zip(
        program.objects, inputs.fields, inputs.counts, strict=True
    ):
        made = getattr(names, cls)()
        for name, numbers in values.items():
            parts = numbering.duals(numbers)
            setattr(made, name, _held(program.fields[cls][name], parts, names))
        made.n, made.me = count, made
        objects.append(made)
    for made, (_, peer, child) in zip(objects, program.objects, strict=True):
        made.peer, made.child = objects[peer], objects[child]
    arrays: dict[str, Any] = {
        name: plain.Array(list(numbering.duals(numbers))) for name, numbers in inputs.arrays.items()
    }
    arrays["L"] = plain.Array([0.0])
    groups = groups_of(program, plain.Array(objects), plain.Array(objects[: program.lead][::-1]))
    for launch in program.launches:
        arguments = [argument(arrays, each) for each in launch.arguments]
        if launch.kind == "kernel":
            first = groups[launch.objects] if launch.objects in groups else arrays[launch.objects]
            plain.launch(getattr(names, launch.name), len(first), first, *arguments)
        elif launch.kind == "call":
            result = plain.call(launch.name, groups[launch.objects], *arguments)
            arrays[launch.result] = result
        else:
            cls = getattr(names, launch.objects)
            plain.call(launch.name, [o for o in objects if isinstance(o, cls)], *arguments)
    loss = arrays["L"][0]
    after = Inputs(
        [{name: _seen(getattr(o, name)) for name in program.fields[type(o).__name__]}
         for o in objects],
        inputs.counts,
        {name: _seen(arrays[name]) for name in NAMES},
    )  # fmt: skip
    return Outcome(loss.value, after, numbering.cut(loss.derivatives), numbering.cut(loss.weights))


def _held(type: str, parts: list[Dual], names: Any) -> Any:
    if type == "f64":
        return parts[0]
    if type == "Pair":
        return names.Pair(*parts)
    return plain.OA.vec2d(*parts) if type == "oa.vec2d" else plain.Array(parts)


def _seen(held: Any) -> Floats:
    if isinstance(held, (Dual, float, int)):
        held = [held]
    elif hasattr(held, "a"):
        held = [held.a, held.b]
    return np.array([each.value if isinstance(each, Dual) else each for each in held])


def groups_of(program: Program, everybody: Any, backwards: Any) -> dict[str, Any]:
    return {
        "objects": everybody[: program.lead], "everybody": everybody, "backwards": backwards
    }  # fmt: skip


def argument(arrays: dict[str, Any], given: Any) -> Any:
    if isinstance(given, tuple):
        name, start, stop = given
        return arrays[name][start:stop]
    return arrays[given] if isinstance(given, str) else given


# ------------------------------------------------------------------------ equality

RELATIVE, OF_WEIGHT = 1e-10, 1e-12
"""Differences that rounding explains: of a derivative, and of the sum of what it is the sum of."""


def differences(wanted: Outcome, found: Outcome) -> list[str]:
    """What differs, a line each."""
    lines = []
    if not np.isclose(wanted.loss, found.loss, rtol=1e-12, atol=1e-13):
        lines.append(f"loss {found.loss!r}, expected {wanted.loss!r}")
    for what, one, other in (
        ("value", wanted.after, found.after), ("gradient", wanted.gradient, found.gradient)
    ):  # fmt: skip
        for where, value, got in _pairs(one, other):
            bound = RELATIVE * np.abs(value) + 1e-12
            if what == "gradient":
                assert wanted.weights is not None
                bound = RELATIVE * np.abs(value) + OF_WEIGHT * _at(wanted.weights, where) + 1e-15
            if got.shape != value.shape or not np.all(np.abs(got - value) <= bound):
                lines.append(f"{what} of {where}: {got}, expected {value}")
    return lines


def _pairs(one: Inputs, other: Inputs) -> list[tuple[tuple[Any, str], Floats, Floats]]:
    pairs: list[tuple[tuple[Any, str], Floats, Floats]] = []
    for number, (left, right) in enumerate(zip(one.fields, other.fields, strict=True)):
        pairs += [((number, name), left[name], right[name]) for name in left]
    return pairs + [(("array", name), one.arrays[name], other.arrays[name]) for name in one.arrays]


def same_inputs(one: Inputs, other: Inputs) -> bool:
    """Whether all numbers have the same bits."""
    return all(value.tobytes() == got.tobytes() for _, value, got in _pairs(one, other))


def _at(inputs: Inputs, where: tuple[Any, str]) -> Floats:
    number, name = where
    return inputs.arrays[name] if number == "array" else inputs.fields[number][name]


def is_tame(outcome: Outcome) -> bool:
    """Whether all numbers are of moderate size, so that rounding does not hide what is wrong."""
    numbers = [*outcome.gradient.arrays.values()]
    numbers += [v for each in outcome.gradient.fields for v in each.values()]
    numbers += [v for each in outcome.after.fields for v in each.values()]
    return bool(abs(outcome.loss) < 1e6) and all(np.all(np.abs(v) < 1e8) for v in numbers)


def tame(program: Program, inputs: Inputs) -> Outcome | None:
    """What is expected of a program; None if its numbers are too large to be compared."""
    try:
        with np.errstate(all="ignore"):
            found = expected(program, inputs)
    except OverflowError:
        return None
    except ValueError as error:
        if str(error).startswith("math domain error"):  # as the sine of infinity
            return None
        raise
    return found if is_tame(found) else None


def numbered(program: Program) -> str:
    """The program with the numbers of its lines, as errors name them."""
    lines = program.text.splitlines()
    return "\n".join(f"{n + PRELUDE_LINES + 1:3} {line}" for n, line in enumerate(lines))
