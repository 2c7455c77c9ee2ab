"""``print`` and messages of assertions: the same words in CPython, compiled, and on a GPU that
is an interpreter."""

from __future__ import annotations

from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32, u8, u16, u32, u64

from ..codegen.interpreted import InterpretedGpu

NAME = "größe {n} 100%"
BACKENDS: list[Any] = ["python", "cpu", InterpretedGpu()]


class Cell(oa.Object):
    size: i32
    next: Cell


@oa.kernel
def say(x: f32, y: f64, n: i32, u: u64):
    print(f"{n} {u} {n > 3} {NAME} {{}} 100%", NAME, 1, sep=", ", end="!\n")
    print(f"{x:.3f}|{y:8.2e}|{y:<9.3g}|{y:+.1F}|{x: .2f}|{y:>12.4G}|{n:.1f}|{u:.0f}", n, sep="")
    print(f"{n:5}|{n:<5d}|{n:05}|{n:+d}|{n: }|{u:>3}|{n!s}", end=None, sep=None)
    print(f"{u32(n):+}|{u8(u):+5}|{u16(n): d}|{u8(u):+05}")
    print(None, f"{None}", n)
    print(f"{y / 0.0:6.2f} {-(y - y):.1f} {(y - y) / (y - y):+.2f}")


@oa.kernel
def plain(x: f32, y: f64):
    print(x, y, f"{x} {y} {x!s}")


@oa.kernel
def four(n: i32, u: u64, x: f32, y: f64):
    assert n < 3, f"{{{n:3}}}, {u}, {x}, {y:.2f}"


@oa.kernel
def two(n: i32, x: f32):
    assert x < 0, f"{n < 0} {x!s} {NAME}"


@oa.kernel
def of_an_object(cell: Cell):
    assert cell.next is None, f"next is {cell.next.size}"
    cell.size += 1


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for backend in BACKENDS:
        with oa.Heap(backend=backend, capacity="16MiB"):
            say[1](0.1, 1234.56789, -7, 2**64 - 1)
            oa.synchronize()
        found.append(capsys.readouterr().out)
    assert found[0].startswith("-7 18446744073709551615 False größe {n} 100% {} 100%, größe")
    assert found[0].count("\n") == 6
    assert found[1:] == found[:1] * 2


@pytest.mark.gpu
def test_prints_of_a_gpu(capfd: pytest.CaptureFixture[str]) -> None:
    found = []
    for backend in ("cpu", "cuda"):
        with oa.Heap(backend=backend, capacity="16MiB"):
            say[1](0.1, 1234.56789, -7, 2**64 - 1)
            oa.synchronize()
        found.append(capfd.readouterr().out)
    assert found[0] == found[1]


def test_floats_without_format(capsys: pytest.CaptureFixture[str]) -> None:
    # NumPy has Python's float formatted.
    for backend in BACKENDS[:2]:
        with oa.Heap(backend=backend, capacity="16MiB"):
            plain[1](0.1, 0.1)
            oa.synchronize()
        assert capsys.readouterr().out == "0.1 0.1 0.10000000149011612 0.1 0.1\n"


def test_assertions_say_numbers() -> None:
    for backend in BACKENDS:
        with oa.Heap(backend=backend, capacity="16MiB"):
            for kernel, given, text in (
                (four, (-7 + 11, 2**64 - 1, 0.1, 1.005),
                 "{  4}, 18446744073709551615, 0.10000000149011612, 1.00"),
                (two, (-1, 0.1), f"True 0.1 {NAME}"),
            ):  # fmt: skip
                with pytest.raises(oa.DeviceError) as caught:
                    kernel[1](*given)
                    oa.synchronize()
                first, *_ = str(caught.value).splitlines()
                assert first.endswith(f": {text}"), first
            last, cell = oa.new(Cell, size=5), oa.new(Cell, size=7)
            # Where it holds nobody looks at what it says, which would be at a null reference.
            of_an_object[1](last)
            oa.synchronize()
            cell.next = last
            with pytest.raises(oa.DeviceError, match="next is 6"):
                of_an_object[1](cell)
                oa.synchronize()
            assert (last.size, cell.size) == (6, 7)
