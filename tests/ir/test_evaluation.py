"""What is computed when code is compiled is what compiled code computes, bit for bit."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa.ir.core import Operation, Value
from sharedoa.ir.evaluation import evaluated, same
from sharedoa.ir.rewrite import make
from sharedoa.ir.text import NOWHERE
from sharedoa.model.scalars import SCALARS, ScalarType, boolean

from ..frontend.translated import kernel_from

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_NUMBERS = [t for t in SCALARS.values() if t != boolean]


def _samples(type: ScalarType) -> list[Any]:
    if type.kind == "bool":
        return [False, True]
    if type.is_integer:
        low, high = type.range
        whole = [0, 1, 2, 3, 7, low, low + 1, high, high - 1, high // 3, *[-1, -2, -7] * (low < 0)]
        if type.bits == 64:
            whole += [2**54 + 2**30 + 1, 2**24 + 1, 2**53 + 1]
        return list(dict.fromkeys(whole))
    limits = np.finfo(type.dtype)
    odd = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 1 / 3, 16777217.0, 1e18, -3e9, 4294967296.5]
    odd += [float(limits.max), float(limits.tiny), float("inf"), -float("inf")]
    return [type(each).item() for each in odd]


def _results(folder: Path, source: ScalarType, target: ScalarType, lines: list[str]) -> Any:
    """For each pair of samples and each line, what a kernel computes of variables."""
    pairs = [*itertools.product(_samples(source), repeat=2)]
    body = "i = oa.grid(1)\na = left[i]\nb = right[i]\n"
    body += "\n".join(f"out[i * {len(lines)} + {n}] = {line}" for n, line in enumerate(lines))
    names = {**SCALARS, "bool": bool, "oa": oa}
    types = {t: f"oa.Array[{t.name}]" for t in (source, target)}
    parameters = f"left: {types[source]}, right: {types[source]}, out: {types[target]}"
    kernel = oa.kernel(kernel_from(folder, parameters, body, **names))
    with oa.Heap(backend="cpu", capacity="64MiB") as heap:
        sides = ([pair[n] for pair in pairs] for n in (0, 1))
        columns = [heap.array(source, np.array(side, source.dtype)) for side in sides]
        out = heap.zeros(len(pairs) * len(lines), target)
        kernel[len(pairs)](*columns, out)
        found = out.numpy().reshape(len(pairs), len(lines)).tolist()
    return zip(pairs, found, strict=True)


def _operation(kind: str, source: ScalarType, target: ScalarType, count: int) -> Operation:
    return make(kind, [Value(source) for _ in range(count)], NOWHERE, [target])


def _check(operation: Operation, given: Any, expected: Any) -> bool:
    """False if it is not computed."""
    found = evaluated(operation, given)
    if found is not None:
        assert same(found, expected), (operation, operation.attributes, given)
    return found is not None


@pytest.mark.parametrize("type", _NUMBERS, ids=repr)
def test_operators(tmp_path: Path, type: ScalarType) -> None:
    without = ("lshift", "rshift", "and", "or", "xor") if type.is_float else ("truediv",)
    binary = [name for name in _BINARY if name not in without]
    unary = {"neg": "-a", "abs": "abs(a)"} | ({} if type.is_float else {"invert": "~a"})
    lines = [*(f"a {_BINARY[name]} b" for name in binary), *unary.values(), "a if a < b else b"]
    computed = asked = 0
    for (a, b), found in _results(tmp_path, type, type, lines):
        results = iter(found)
        for name in binary:
            operation = _operation("binary", type, type, 2)
            operation.attributes["operator"] = name
            computed += _check(operation, (a, b), next(results))
            asked += 1
        for name in unary:
            operation = _operation("unary", type, type, 1)
            operation.attributes["operator"] = name
            assert _check(operation, (a,), next(results))
        assert _check(_operation("select", type, type, 3), (a < b, a, b), next(results))
    assert computed > asked / 3


@pytest.mark.parametrize("type", [*_NUMBERS, boolean], ids=repr)
def test_comparisons(tmp_path: Path, type: ScalarType) -> None:
    lines = [f"a {sign} b" for sign in _COMPARE.values()]
    for pair, found in _results(tmp_path, type, boolean, [*lines, "bool(a)"]):
        for name, number in zip(_COMPARE, found, strict=False):
            operation = _operation("compare", type, boolean, 2)
            operation.attributes["operator"] = name
            assert _check(operation, pair, number)
        assert _check(_operation("truth", type, boolean, 1), pair[:1], found[-1])


def test_truth_values(tmp_path: Path) -> None:
    for pair, found in _results(tmp_path, boolean, boolean, ["a & b", "a | b", "a ^ b", "not a"]):
        *results, inverse = found
        for name, number in zip(("and", "or", "xor"), results, strict=True):
            operation = _operation("binary", boolean, boolean, 2)
            operation.attributes["operator"] = name
            assert _check(operation, pair, number)
        operation = _operation("unary", boolean, boolean, 1)
        operation.attributes["operator"] = "not"
        assert _check(operation, pair[:1], inverse)


@pytest.mark.parametrize(
    ("target", "sources"),
    [
        pytest.param(
            target,
            [*SCALARS.values()][first::2],
            marks=[pytest.mark.slow] * ((number + first) % 2),
            id=f"{target}-{first}",
        )
        for number, target in enumerate(SCALARS.values())
        for first in (0, 1)
    ],
)
def test_conversions(tmp_path: Path, target: ScalarType, sources: list[ScalarType]) -> None:
    for source in sources:
        for pair, (found,) in _results(tmp_path, source, target, [f"{target.name}(a)"]):
            assert _check(_operation("convert", source, target, 1), pair[:1], found)


def test_what_is_not_known() -> None:
    from sharedoa.model.scalars import f32, i32

    for kind, count in (("math", 1), ("length", 1), ("frobnicate", 2)):
        assert evaluated(_operation(kind, f32, f32, count), [1.0] * count) is None
    for name, given, type in (
        ("floordiv", (7, 0), i32), ("mod", (7, 0), i32), ("lshift", (7, 32), i32),
        ("rshift", (7, -1), i32), ("pow", (7, 2), i32), ("truediv", (0.0, 0.0), f32),
        ("mod", (7.0, 2.0), f32), ("add", (None, 1), i32),
    ):  # fmt: skip
        operation = _operation("binary", type, type, 2)
        operation.attributes["operator"] = name
        assert evaluated(operation, given) is None
    nan = make("constant", [], NOWHERE, [f32], value=float("nan"))
    large = make("constant", [], NOWHERE, [i32], value=1 << 31)
    assert evaluated(nan, ()) is None and evaluated(large, ()) is None


def test_what_is_the_same() -> None:
    assert not same(0.0, -0.0) and not same(1, True) and not same(1, 1.0) and not same(0, None)
    assert same(0.1, 0.1) and same(None, None)
