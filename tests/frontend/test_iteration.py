"""What loops that are written within expressions do besides giving a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32, i64, u8, u64
from sharedoa.frontend import translate_kernel
from sharedoa.ir.text import program_text

from ..source_files import load_module
from .translated import complaints, kernel_from

TABLE = (5, 6, 7)


class Counter(oa.Object):
    calls: i32

    def look(self, x: i32) -> i32:
        self.calls += 1
        return x


@oa.kernel
def count(out: oa.Array[i32], a: oa.Array[i32], c: Counter) -> None:
    if any(c.look(x) + y == 21 for x in a for y in (10, 20) if y > x):
        out[0] = c.calls
    out[1] = c.look(2) in (1, c.look(2), c.look(3))
    out[2] = c.calls
    for _ in range(c.look(3)):
        c.calls += 100
    for k, x in zip(range(c.look(1), c.look(9)), a, strict=False):
        a[len(a) - 1 - k] = x * 10  # what is gone through is read when its turn comes
    out[3] = c.calls
    x = 40
    out[4] = sum(x for x in a) + x
    last = 9
    out[5] = sum(k for k in range(4) if (last := k) < 2) + last
    out[6] = min(c.look(TABLE[k]) for k in range(3)) + c.calls


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_is_evaluated_and_how_often(backend: str, debug: bool) -> None:
    with oa.Heap(backend=backend, debug=debug, capacity="64MiB"):
        out, counter = oa.zeros(7, i32), oa.new(Counter)
        a = oa.array(i32, [1, 2, 3, 4])
        count[1](out, a, counter)
        # In debug mode nothing else is reported: no index is outside.
        oa.synchronize()
        assert list(out) == [2, 1, 5, 308, 210, 4, 316]


@oa.kernel
def assigning(out: oa.Array[i32], n: i32) -> None:
    x = y = z = 1
    out[0] = (x := 5) if n > 2 else (y := 7)
    if n > 1 and (z := n * 2) > 3 or (x := 9) > 9:
        y += 100
    out[1], out[2], out[3] = x, y, z


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_arms_of_expressions_assign(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        for n, expected in ((0, [7, 9, 7, 1]), (2, [7, 1, 107, 4]), (3, [5, 5, 101, 6])):
            out = oa.zeros(4, i32)
            assigning[1](out, n)
            assert list(out) == expected


@oa.kernel
def smallest(out: oa.Array[f32], a: oa.Array[f32]) -> None:
    out[0] = min(x for x in a if x > 0)


@oa.kernel
def paired(out: oa.Array[f32], a: oa.Array[f32]) -> None:
    for x, y in zip(out, a, strict=True):
        if y < -5:
            break
        out[0] = x + y


@pytest.mark.parametrize("backend", ["python", "cpu"])
def test_what_python_refuses_while_it_runs(backend: str) -> None:
    with oa.Heap(backend=backend, capacity="64MiB"):
        out, a = oa.zeros(1, f32), oa.array(f32, [-1, -2])
        with pytest.raises(oa.DeviceError, match=r"min\(\)"):
            smallest[1](out, a)
            oa.synchronize()
        with pytest.raises(oa.DeviceError, match=r"zip\("):
            paired[1](out, a)
            oa.synchronize()
        assert out[0] == -1
        a[0] = -7
        paired[1](out, a)
        oa.synchronize()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("if n > 0 and (m := n): pass\na[0] = m", "m may be read before it has a value"),
        ("if n > 0 or (m := n): pass\nelse: a[0] = m\na[1] = m", "m may be read before"),
        ("x = n if n else (m := n)\na[0] = m", "m may be read before it has a value"),
        ("x = sum(k for k in a)\na[0] = k", "k is not defined"),
        ("for k in a: last = k\na[0] = last", "last may be read before it has a value"),
        ("x = sum(TABLE)\na[TABLE[True]] = x", "a bool is no index here"),
        ("match n:\n    case 1: m = 1\na[0] = m", "m may be read before it has a value"),
        ("a[0] = MIXED[n]", "MIXED has int and bool, and an item has one type"),
        ("a[0] = UNEVEN[n][n]", "UNEVEN has rows of several lengths"),
        ("a[0] = BIG[n]", "BIG has 800000 bytes; as a table that is part of the code 262144"),
        ("a[0] = COMPLEX[n]", "COMPLEX is a 1-dimensional ndarray of complex128, which is no"),
        ("a[0] = ARRAY[n]", "ARRAY is an oa.Array around the kernel, which cannot be indexed"),
    ],
)
def test_complaints(tmp_path: Path, lines: str, message: str) -> None:
    import numpy as np

    with oa.Heap(backend="cpu", capacity="64MiB"):
        names: dict[str, Any] = {
            "TABLE": TABLE, "MIXED": (1, True), "UNEVEN": ((1, 2), (3,)), "BIG": np.zeros(100_000),
            "COMPLEX": np.zeros(3, complex), "ARRAY": oa.zeros(3, i32),
        }  # fmt: skip
        kernel = kernel_from(tmp_path, "a: oa.Array[i32], n: i32", lines, **names)
        assert message in complaints(kernel)[0].message


def test_constants_of_a_narrow_type_are_no_negative_indices(tmp_path: Path) -> None:
    """An index is looked at whether it counts from the end only where it may."""
    module = load_module(
        tmp_path,
        """
        NEXT = (2, 0, 1)
        BACK = (2, 0, -1)
        @oa.kernel
        def kernel(a: oa.Array[i32], n: u8) -> None:
            a[NEXT[n]] = 1
            a[BACK[n]] = 2
        """,
    )
    with oa.Heap(backend="cpu", capacity="64MiB"):
        a = oa.zeros(3, i32)
        module.kernel[1](a, u8(2))
        oa.synchronize()
        assert list(a) == [0, 1, 2]
        assert module.kernel.asm["ll"].count("icmp slt i64") == 1


@oa.kernel
def find(n: u64, k: u64, i: i64, found: oa.Array[bool]) -> None:
    found[0] = k in range(n)
    found[1] = i in range(n)
    found[2] = n - k in range(k, n)
    found[3] = k not in range(i, n)


@pytest.mark.parametrize("n", [0, 6, 2**63, 2**64 - 1])
def test_ranges_that_64_bits_with_a_sign_do_not_hold(n: int) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        found = oa.zeros(4, bool)
        for k, i in ((5, -3), (2**63 - 1, 2**62), (2**63, 0)):
            find[1](n, k, i, found)
            less = (n - k) % 2**64
            expected = [k in range(n), i in range(n), less in range(k, n), k not in range(i, n)]
            assert list(found) == expected


@oa.kernel
def count_far(begin: u64, end: u64, found: oa.Array[i64]) -> None:
    for i in range(begin, end):
        found[0] = i
        break
    found[1] = sum(1 for i in range(begin, end, begin) if i > 0)


@pytest.mark.parametrize("debug", [False, True])
def test_loops_that_64_bits_with_a_sign_do_not_count(debug: bool) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        found = oa.zeros(2, i64)
        count_far[1](2**63 - 9, 2**63 - 2, found, debug=debug)
        assert list(found) == [2**63 - 9, 1]
        for begin, end in ((2**63 - 1, 2**63), (2**63, 2**63 + 5), (2**64 - 1, 3)):
            count_far[1](begin, end, found, debug=debug)
            with pytest.raises(oa.DeviceError, match=r"bounds of range are below 2\*\*63"):
                oa.synchronize()


@oa.kernel
def count_by(step: oa.Array[i32], found: oa.Array[i32]) -> None:
    t = oa.grid(1)
    for k in range(3 * step[t], 7, step[t]):
        found[0] += k
    for k, i in enumerate(range(7, 3, -step[t])):
        found[0] += 100 * k + i
    for k in range(t, len(found), oa.gridsize(1)):
        found[k] += 1


@pytest.mark.parametrize("debug", [False, True])
def test_a_step_of_0_fails_as_in_cpython(debug: bool) -> None:
    with oa.Heap(backend="cpu", capacity="64MiB"):
        found = oa.zeros(2, i32)
        count_by[1](oa.array(i32, [2]), found, debug=debug)
        assert list(found) == [6 + 107 + 5 + 1, 1]
        count_by[1](oa.array(i32, [0]), found, debug=debug)
        with pytest.raises(oa.DeviceError, match=r"the step of range is not 0"):
            oa.synchronize()


@oa.kernel
def stride(found: oa.Array[i32]) -> None:
    all_threads, two = oa.gridsize(1), 2
    for k in range(oa.grid(1), len(found), all_threads):
        found[k] += 1
    for k in range(0, len(found), two):
        found[k] += 1


def test_steps_that_have_names_need_no_test() -> None:
    assert "assert" not in program_text(translate_kernel(stride.function).ir)


@oa.kernel
def by_all_threads(found: oa.Array[i32]) -> None:
    for k in range(oa.grid(1), len(found), oa.gridsize(1)):
        found[k] += 1


def test_indices_by_steps_of_all_threads_are_not_negative() -> None:
    text = program_text(translate_kernel(by_all_threads.function).ir)
    assert "may_be_negative = false" in text and "may_be_negative = true" not in text
