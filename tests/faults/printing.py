"""``print`` in kernels: what it prints, and where."""

from __future__ import annotations

from .catalogue import CPU, case
from .programs import program
from .verdicts import backend, check_equal

_HEAD = """
import sys
import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8, u64

class A(oa.Object):
    x: i32
"""


def prints(body: str, *expected: str, threads: int = 1) -> None:
    """A kernel with this body prints these lines."""
    ended = program(
        _HEAD
        + "@oa.kernel\ndef k(n: i32, x: f64, y: f32, b: oa.Array[i32]):\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + f"k[{threads}](7, 0.1, 0.1, oa.array(i32, [1, 2, 3]))\noa.synchronize()\n"
    ).well()
    check_equal(ended.out.splitlines(), list(expected), "what was printed")


@case(backends=CPU)
def floats_in_full() -> None:
    """Floats are printed as CPython prints them."""
    prints(
        "print(x)\nprint(x * 3)\nprint(1e300 * x)\nprint(1.0)\nprint(x * 1e-20)\n"
        "print(123456789.125)",
        "0.1",
        "0.30000000000000004",
        "1e+299",
        "1.0",
        "1e-21",
        "123456789.125",
    )


@case()
def special_floats() -> None:
    """Infinities, NaN and minus zero are printed as CPython prints them; a GPU's numbers may have
    other digits (``floats_in_full``), and the same value."""
    prints(
        "z = x * 0.0\nprint(1.0 / z)\nprint(-1.0 / z)\nprint(z / z)\nprint(-z)",
        "inf",
        "-inf",
        "nan",
        "-0" if backend() == "cuda" else "-0.0",
    )


@case()
def whole_numbers() -> None:
    """Integers of every width at their limits."""
    prints(
        "print(i8(-128), u8(255), u64(18446744073709551615), i64(-9223372036854775808))\n"
        "print(n, n == 7, n != 7)",
        "-128 255 18446744073709551615 -9223372036854775808",
        "7 True False",
    )


@case()
def text_with_percent_signs() -> None:
    """Text that formats of C would read."""
    prints("print('100%', '%d %s %n', n)", "100% %d %s %n 7")


@case()
def text_with_other_letters() -> None:
    """Text outside ASCII, and with line breaks."""
    prints("print('größe', '名前', 'a\\nb')", "größe 名前 a", "b")


@case()
def empty() -> None:
    """``print()`` and ``print('')``."""
    prints("print()\nprint('')\nprint('x')", "", "", "x")


@case()
def with_separators() -> None:
    """``sep`` and ``end``: as in CPython, or refused."""
    program(
        _HEAD
        + """
@oa.kernel
def k(n: i32):
    print(n, n, sep="-", end="!")
try:
    k[1](7)
    oa.synchronize()
except oa.CompileError as error:
    assert "sep" in str(error) or "print" in str(error), error
    print("7-7!")
"""
    ).well("7-7!")


@case()
def an_object() -> None:
    """An object, None, an array, a tuple: printed, or refused with a cure."""
    for given in ("a", "None", "many", "(1, 2)", "a.x > 0", "A"):
        program(
            _HEAD
            + f"""
@oa.kernel
def k(a: A, many: oa.Array[A]):
    print({given})
many = oa.new(A, 2)
try:
    k[1](many[0], many)
    oa.synchronize()
except oa.CompileError as error:
    assert "help:" in str(error), error
print("good")
"""
        ).well("good")


@case(backends=CPU)
def every_line_whole() -> None:
    """Lines of a hundred thousand threads do not run into each other."""
    ended = program(
        _HEAD
        + """
@oa.kernel
def k(n: i32):
    print("thread", oa.grid(1), "of", n)
k[100_000](100_000)
oa.synchronize()
"""
    ).well()
    found = sorted(ended.out.splitlines())
    check_equal(found, sorted(f"thread {i} of 100000" for i in range(100_000)), "the lines")


@case(backends=CPU)
def standard_output_closed() -> None:
    """A program has closed its standard output."""
    program(
        _HEAD
        + """
import os
@oa.kernel
def k(n: i32, out: oa.Array[i32]):
    print(n)
    out[0] = n
out = oa.zeros(1, i32)
os.close(1)
try:
    k[1](7, out)
    oa.synchronize()
except OSError as error:
    pass
except oa.SharedOAError as error:
    pass
assert out[0] == 7
os._exit(0)
"""
    ).well()


@case(backends=CPU)
def standard_output_replaced() -> None:
    """``sys.stdout`` is an object of the program's own, or None."""
    program(
        _HEAD
        + """
import io, contextlib
@oa.kernel
def k(n: i32):
    print("number", n)
caught = io.StringIO()
with contextlib.redirect_stdout(caught):
    k[1](7)
    oa.synchronize()
assert caught.getvalue() == "number 7\\n", caught.getvalue()
kept = sys.stdout
sys.stdout = None
k[1](7)
oa.synchronize()
sys.stdout = kept
print("good")
"""
    ).well("good")


@case(backends=CPU)
def standard_output_that_fails() -> None:
    """``sys.stdout`` raises in ``write``: the program is told, and the heap is whole."""
    program(
        _HEAD
        + """
class Bad:
    def write(self, text):
        raise ValueError("no more")
    def flush(self):
        pass
@oa.kernel
def k(n: i32, out: oa.Array[i32]):
    print("number", n)
    out[oa.grid(1)] = n
out = oa.zeros(1000, i32)
kept, sys.stdout = sys.stdout, Bad()
try:
    k[1000](7, out)
    oa.synchronize()
except ValueError as error:
    pass
finally:
    sys.stdout = kept
k[1](8, out)
oa.synchronize()
assert out[0] == 8
print("good")
"""
    ).well("good")


@case(backends=CPU)
def order_with_the_host() -> None:
    """Lines of a kernel come between those that the host prints before and after."""
    ended = program(
        _HEAD
        + """
@oa.kernel
def k(n: i32):
    print("kernel", n)
for n in range(3):
    print("before", n)
    k[1](n)
    oa.synchronize()
"""
    ).well()
    expected = [f"{word} {n}" for n in range(3) for word in ("before", "kernel")]
    check_equal(ended.out.splitlines(), expected, "the lines")


@case(backends=CPU)
def into_a_full_disk() -> None:
    """Standard output goes to a device that is full."""
    from .programs import command, written

    file = written(
        _HEAD
        + """
@oa.kernel
def k(n: i32):
    print("number", n)
k[1000](7)
oa.synchronize()
"""
    )
    with open("/dev/full", "w") as full:
        command(file, stdout=full.fileno()).refused("space", traceback=True)
