"""What kernels take from around them: source files, and names of the module."""

from __future__ import annotations

import math
from typing import Any

import sharedoa as oa
from sharedoa import f32, i32

from .catalogue import CPU, case
from .programs import program
from .verdicts import check_equal, may_refuse, refuses

_EDITED = """
import importlib, linecache, os, sys, time
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True
import sharedoa as oa
def write(text):
    with open("mine.py", "w") as file:
        file.write("import sharedoa as oa\\nfrom sharedoa import i32\\n" + text)
"""


def edited(before: str, after: str, launch: str, *expected: int) -> None:
    """Launch a kernel whose file has changed since it was imported."""
    program(
        _EDITED
        + f"""
write({before!r})
import mine
write({after!r})
out = oa.zeros(1, oa.i32)
try:
    {launch}
    oa.synchronize()
except oa.SharedOAError as error:
    text = str(error)
    assert "changed" in text or "source" in text, text
    print("refused clearly")
else:
    assert out[0] in {list(expected)!r}, f"the result is {{out[0]}}"
    print("right")
"""
    ).well("r")


@case(backends=CPU)
def constant_edited() -> None:
    """A number in the file of a kernel is edited before its first launch."""
    kernel = "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = {}\n"
    edited(kernel.format(5), kernel.format(9), "mine.k[1](out)", 5)


@case(backends=CPU)
def operator_edited() -> None:
    """An operator in the file of a kernel is edited before its first launch."""
    kernel = "@oa.kernel\ndef k(a: oa.Array[i32]):\n    n = oa.gridsize(1) + 6\n    a[0] = n {} 2\n"
    edited(kernel.format("+"), kernel.format("*"), "mine.k[1](out)", 9)


@case(backends=CPU)
def lines_shifted() -> None:
    """Lines are put in front of a kernel."""
    kernel = "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = 5\n"
    edited(kernel, "# one\n# two\n" + kernel, "mine.k[1](out)", 5)


@case(backends=CPU)
def another_function_in_its_place() -> None:
    """Another function of the same form lies at the lines of a kernel."""
    one = "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = 5\n"
    other = "@oa.kernel\ndef j(a: oa.Array[i32]):\n    a[0] = 7\n"
    edited(one + other, other + one, "mine.k[1](out)", 5)


@case(backends=CPU)
def name_of_a_global_edited() -> None:
    """A kernel's file comes to use another global."""
    head = "one, two = 5, 9\n"
    kernel = head + "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = {}\n"
    edited(kernel.format("one"), kernel.format("two"), "mine.k[1](out)", 5)


@case(backends=CPU)
def helper_edited() -> None:
    """A function that a kernel calls is edited before the first launch."""
    text = (
        "@oa.func\ndef f(n: i32) -> i32:\n    return n + {}\n"
        "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = f(1)\n"
    )
    edited(text.format(4), text.format(8), "mine.k[1](out)", 5)


@case(backends=CPU)
def method_edited() -> None:
    """A method is edited before the first vectorised call."""
    text = "class C(oa.Object):\n    x: i32\n    def m(self) -> i32:\n        return self.x + {}\n"
    edited(text.format(4), text.format(8), "out[0] = oa.new(mine.C, 3, x=1).m()[0]", 5)


@case(backends=CPU)
def annotation_of_a_local_edited() -> None:
    """The type in a conversion is edited."""
    kernel = "@oa.kernel\ndef k(a: oa.Array[i32]):\n    a[0] = i32(oa.{}(300) + 1)\n"
    edited(kernel.format("i32"), kernel.format("u8"), "mine.k[1](out)", 301)


@case(backends=CPU)
def file_deleted() -> None:
    """The file of a kernel is deleted before its first launch."""
    program(
        _EDITED
        + """
write("@oa.kernel\\ndef k(a: oa.Array[i32]):\\n    a[0] = 5\\n")
import mine
os.remove("mine.py")
linecache.clearcache()
out = oa.zeros(1, oa.i32)
try:
    mine.k[1](out)
    assert out[0] == 5
except oa.CompileError as error:
    assert "source" in str(error), error
print("right")
"""
    ).well("right")


@case(backends=CPU)
def module_reloaded() -> None:
    """A module is edited and loaded again: both versions of a kernel do what they did."""
    program(
        _EDITED
        + """
kernel = "@oa.kernel\\ndef k(a: oa.Array[i32]):\\n    a[0] = {}\\n"
write(kernel.format(5))
import mine
old = mine.k
out = oa.zeros(1, oa.i32)
old[1](out)
assert out[0] == 5
write("# more\\n" + kernel.format(9))
linecache.checkcache()
importlib.reload(mine)
mine.k[1](out)
assert out[0] == 9, out[0]
old[1](out)
assert out[0] == 5, out[0]
print("right")
"""
    ).well("right")


#: Bound anew by cases.
NUMBER: Any = 3
TYPE: Any = i32


@oa.func
def first(n: i32) -> i32:
    return n + 1


@oa.func
def second(n: i32) -> i32:
    return n * 100


CHOSEN: Any = first


class Shape(oa.Object):
    n: i32

    def get(self) -> i32:
        return self.n


class Round(Shape):
    def get(self) -> i32:
        return self.n + 10


class Square(Shape):
    def get(self) -> i32:
        return self.n + 20


KIND: Any = Round


@case(sample=True)
def number_rebound() -> None:
    """A global number is bound anew between launches."""
    global NUMBER

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = NUMBER

    out = oa.zeros(1, i32)
    for NUMBER in (3, 4, -7, 2**31 - 1, True, 3):
        k[1](out)
        check_equal(out.numpy(), [int(NUMBER)])


@case()
def number_becomes_a_float() -> None:
    """A global number becomes a float, and then something that is no number."""
    global NUMBER

    @oa.kernel
    def k(out: oa.Array[f32]):
        out[0] = NUMBER * 2

    out = oa.zeros(1, f32)
    NUMBER = 3
    k[1](out)
    check_equal(out.numpy(), [6.0])
    NUMBER = 2.5
    k[1](out)
    check_equal(out.numpy(), [5.0])
    bad: tuple[Any, ...] = ("three", None, [3], {})
    for given in bad:
        NUMBER = given
        with refuses(oa.CompileError, "NUMBER"):
            k[1](out)
    NUMBER = 4
    k[1](out)
    check_equal(out.numpy(), [8.0])


@case()
def function_rebound() -> None:
    """A global that a kernel calls is bound to another function."""
    global CHOSEN

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = CHOSEN(2)

    out = oa.zeros(1, i32)
    CHOSEN = first
    k[1](out)
    check_equal(out.numpy(), [3])
    CHOSEN = second
    k[1](out)
    check_equal(out.numpy(), [200])


@case()
def class_rebound() -> None:
    """A global that ``isinstance`` asks for is bound to another class."""
    global KIND

    @oa.kernel
    def k(shapes: oa.Array[Shape], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = 1 if isinstance(shapes[i], KIND) else 0

    shapes = oa.concat(oa.new(Round, 2), oa.new(Square, 2))
    out = oa.zeros(4, i32)
    KIND = Round
    k[4](shapes, out)
    check_equal(out.numpy(), [1, 1, 0, 0])
    KIND = Square
    k[4](shapes, out)
    check_equal(out.numpy(), [0, 0, 1, 1])


@case()
def type_rebound() -> None:
    """A global that a kernel converts with is bound to another type."""
    global TYPE

    @oa.kernel
    def k(out: oa.Array[f32]):
        out[0] = f32(TYPE(2.75))

    out = oa.zeros(1, f32)
    TYPE = i32
    k[1](out)
    check_equal(out.numpy(), [2.0])
    TYPE = f32
    k[1](out)
    check_equal(out.numpy(), [2.75])


@case()
def rebound_in_a_capture() -> None:
    """A global number and a function are bound anew between runs of a step."""
    global NUMBER, CHOSEN

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = CHOSEN(NUMBER)

    out = oa.zeros(1, i32)
    NUMBER, CHOSEN = 3, first
    with oa.capture() as step:
        k[1](out)
    step.run(1)
    check_equal(out.numpy(), [4])
    NUMBER = 5
    step.run(1)
    check_equal(out.numpy(), [6])
    CHOSEN = second
    step.run(1)
    check_equal(out.numpy(), [500])


@case()
def rebound_for_a_vectorised_call() -> None:
    """A global number that a method uses is bound anew."""
    global NUMBER

    class Scaled(oa.Object):
        n: i32

        def get(self) -> i32:
            return self.n * NUMBER

    many = oa.new(Scaled, 3, n=[1, 2, 3])
    for NUMBER in (1, 10, -1):
        check_equal(many.get().numpy(), [NUMBER, 2 * NUMBER, 3 * NUMBER])


@case()
def closure_changed() -> None:
    """A variable of the function around a kernel is assigned anew."""
    scale = 2

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = scale

    out = oa.zeros(1, i32)
    k[1](out)
    check_equal(out.numpy(), [2])
    scale = 7
    with may_refuse(oa.CompileError, "scale"):
        k[1](out)
        check_equal(out.numpy(), [7])


@case()
def module_attribute_rebound() -> None:
    """An attribute of a module that a kernel reads is bound anew."""
    from . import shared_names

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = shared_names.limit

    out = oa.zeros(1, i32)
    shared_names.limit = 5
    k[1](out)
    check_equal(out.numpy(), [5])
    shared_names.limit = 6
    k[1](out)
    check_equal(out.numpy(), [6])


@case()
def name_deleted() -> None:
    """A global that a kernel uses is deleted between launches."""
    global NUMBER

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = NUMBER

    out = oa.zeros(1, i32)
    NUMBER = 3
    k[1](out)
    globals().pop("NUMBER")
    with refuses(oa.CompileError, "NUMBER", "not defined|does not exist"):
        k[1](out)


@case()
def builtin_hidden() -> None:
    """A module defines a function with the name of a builtin that a kernel calls."""
    globals()["abs"] = second

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = abs(i32(-3))

    out = oa.zeros(1, i32)
    k[1](out)
    check_equal(out.numpy(), [-300])
    del globals()["abs"]
    k[1](out)
    check_equal(out.numpy(), [3])


@case()
def library_function_replaced() -> None:
    """``math.sqrt`` is replaced by a function of the user."""
    original = math.sqrt

    @oa.kernel
    def k(out: oa.Array[f32]):
        out[0] = math.sqrt(f32(16.0))

    out = oa.zeros(1, f32)
    k[1](out)
    check_equal(out.numpy(), [4.0])
    try:
        math.sqrt = lambda x: -1.0
        with may_refuse(oa.CompileError, "sqrt"):
            k[1](out)
            check_equal(out.numpy(), [-1.0])
    finally:
        math.sqrt = original
    k[1](out)
    check_equal(out.numpy(), [4.0])


@case()
def large_global() -> None:
    """A global number that no type of a kernel holds."""
    global NUMBER

    @oa.kernel
    def k(out: oa.Array[i32]):
        out[0] = NUMBER

    out = oa.zeros(1, i32)
    for given in (2**31, -(2**40), 2**64, 10**400, 1.5, 1j):
        NUMBER = given
        with refuses(oa.CompileError, "NUMBER|fit|float|complex|i32"):
            k[1](out)
