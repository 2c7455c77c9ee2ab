"""Members of classes besides plain methods, defaults of fields, and what mixins bring: the same in
CPython, compiled, and on a GPU that is an interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64, i32

from ..codegen.interpreted import InterpretedGpu
from ..source_files import load_module


class Noisy:
    size: ClassVar[Any]  # of the classes that it is mixed into
    LOUD: ClassVar[Any]

    def noise(self) -> f32:
        return self.size * self.LOUD

    @property
    def half(self) -> f32:
        return self.size / 2


class Shape(oa.Object):
    SIDES: ClassVar[int] = 0
    LOUD: ClassVar[float] = 0.5
    size: f32 = 1.5
    n: i32 = 7

    @property
    def area(self) -> f32:
        raise NotImplementedError

    @property
    def text(self) -> str:
        return f"{self.n}"

    @staticmethod
    def scale(x: f32, k: i32 = 2) -> f32:
        return x * k

    @classmethod
    def total(cls, x: i32) -> i32:
        return cls.SIDES + x

    def __add__(self, other: Shape) -> f32:
        return self.size + other.size

    def __radd__(self, x: f32) -> f32:
        return x + 100 * self.size

    def __lt__(self, other: Shape) -> bool:
        return self.size < other.size

    def __neg__(self) -> f32:
        return -self.size

    def __abs__(self) -> f32:
        return self.size

    def __call__(self, x: f32) -> f32:
        return x + self.area

    def __getitem__(self, k: i32) -> i32:
        return self.n + k

    def itself(self) -> Shape:
        return self

    def meet(self, o: Square) -> i32:
        return 1


class Square(Noisy, Shape):
    SIDES = 4
    size = 2.5

    @property
    def area(self) -> f32:
        return self.size * self.size

    def itself(self) -> Square:
        return self

    def meet(self, o: Shape) -> i32:
        return o.n


class Round(Shape, Noisy):
    LOUD = 0.25

    @property
    def area(self) -> f32:
        return self.size * 3

    @staticmethod
    def scale(x: f32, k: i32 = 2) -> f32:
        return x * k + 1000

    def __add__(self, other: Shape) -> f32:
        return self.size * other.size


@oa.kernel
def use(out: oa.Array[f64], shapes: oa.Array[Shape], q: Square) -> None:
    n = 0
    for s in shapes:
        out[n] = s.SIDES
        out[n + 1] = s.LOUD + s.size + s.n
        out[n + 2] = s.area
        out[n + 3] = s.scale(2.0) + Shape.scale(1.0, k=3)
        out[n + 4] = s.total(1) + Square.total(5)
        out[n + 5] = s + q
        out[n + 6] = 2.0 + s
        out[n + 7] = -s + (1 if s < q else 0)
        out[n + 8] = s(1.0)
        out[n + 9] = s[2] + abs(s) * 10
        out[n + 10] = s.itself().size + q.itself().half + q.noise() + s.meet(q)
        n += 11
    made = oa.new(Round, n=3)
    out[n] = made.size + made.n
    out[n + 1] = made.half + made.noise()
    other = Square()
    out[n + 2] = other.size + other.n


SQUARE = [4, 10, 6.25, 7, 14, 5, 252, -2.5, 7.25, 34, 12]
ROUND = [0, 7.75, 1.5, 1007, 10, 1.25, 52, 0.5, 2.5, 14, 4]


ON_A_GPU = pytest.param("cuda", marks=pytest.mark.gpu)


@pytest.mark.parametrize(
    "setting", ["python", "cpu", "cpu cuda", "cpu debug", "interpreted", ON_A_GPU]
)
def test_members(setting: str) -> None:
    backend, _, rest = setting.partition(" ")
    opened: Any = InterpretedGpu() if backend == "interpreted" else backend
    mode = "cuda" if rest == "cuda" else "auto"
    with oa.Heap(mode, opened, capacity="64MiB", debug=rest == "debug"):
        squares, disc = oa.new(Square, 2), oa.new(Round, size=0.5)
        out, shapes = oa.zeros(40, f64), oa.array(Shape, [squares[0], disc])
        oa.reserve(Round, 5)
        oa.reserve(Square, 5)
        use[1](out, shapes, squares[0])
        oa.synchronize()
        assert list(out.numpy()[:25]) == [*SQUARE, *ROUND, 4.5, 1.125, 9.5]
        assert (disc.half, disc.noise(), squares[1].size, disc.text) == (0.25, 0.125, 2.5, "7")
        assert Shape.scale(3, 4) == 12 and isinstance(Shape.scale(3), np.float32)
        if backend != "interpreted":  # whose launches of several objects are slow
            assert list(squares.area.numpy()) == [6.25, 6.25]
        with pytest.raises(AttributeError, match=r"call Square.scale\(...\)"):
            squares.scale(1.0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    def meet(self, o: Car) -> Thing: ...", "take that, and ask with isinstance"),
        ("    def meet(self, o: Thing) -> f32: ...", "a result may be of a subclass"),
        ("    @property\n    def meet(self) -> f32: ...", "is a property, but overrides a plain"),
    ],
)
def test_overrides_that_calls_through_the_base_do_not_fit(
    tmp_path: Path, body: str, message: str
) -> None:
    text = (
        "class Thing(oa.Object):\n    x: f32\n    def meet(self, o: Thing) -> Thing: ...\n"
        f"class Car(Thing):\n{body}\n"
    )
    with pytest.raises(oa.ClassError, match=message):
        load_module(tmp_path, text)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("x: oa.inline[f32, 2] = 1", r"the default of x: inline\[f32, 2\] has none"),
        ("x: i32 = 0.5", "the default of x takes i32"),
        ("x: i8 = 300", "the default of x takes i8, and 300 does not fit"),
    ],
)
def test_defaults_that_do_not_fit(tmp_path: Path, field: str, message: str) -> None:
    module = load_module(tmp_path, f"class C(oa.Object):\n    {field}\n")
    with pytest.raises(oa.ClassError, match=message):
        oa.new(module.C)


def test_mixins_have_methods_only(tmp_path: Path) -> None:
    for body, message in (
        ("    x: int\n", "has fields"),
        ("    def __init__(self): ...\n", "__init"),
    ):
        with pytest.raises(oa.ClassError, match=message):
            load_module(
                tmp_path,
                f"class Mixin:\n{body}class A(oa.Object):\n    a: f32\nclass B(A, Mixin): pass\n",
            )


class Doubling:
    def twice(self) -> f32:
        return super().twice()  # type: ignore[misc,no-any-return]


class Sized(oa.Object):
    size: f32

    @property
    def half(self) -> f32:
        return self.size / 2

    @half.setter
    def half(self, value: Any) -> None:
        self.size = value * 2

    def twice(self) -> f32:
        return self.size * 2

    def shrink(self) -> None:
        self.half = 1.0


class Doubled(Doubling, Sized):
    pass


def test_what_kernels_do_not_call_is_named() -> None:
    with oa.Heap(backend="cpu", capacity="16MiB"):
        with pytest.raises(oa.CompileError, match=r"self\.half is a property without a setter"):
            oa.new(Sized, 2).shrink()
        with pytest.raises(
            oa.CompileError, match=r"super\(\) in a mixin leads to .*(\n.*)*Shape\.t"
        ):
            oa.new(Doubled, 2).twice()


def test_methods_with_types_of_the_host_are_its_own(heap: oa.Heap) -> None:
    class Noted(oa.Object):
        n: i32

        def told(self, words: str = "n is ") -> str:
            return f"{words}{self.n}"

        def kept(self, **options: object) -> dict[str, Any]:
            return {"n": int(self.n), **options}

    class Louder(Noted):
        def told(self, words: str = "N IS ", times: int = 2) -> str:
            return super().told(words) * times

    class Kinds(oa.Object):
        def kinds(self) -> i32:
            return 1

    @oa.kernel
    def tell(noted: oa.Array[Noted]) -> None:
        noted[0].told()

    noted = oa.concat(oa.new(Noted, 1, n=3), oa.new(Louder, 1, n=4))
    assert [each.told() for each in noted] == ["n is 3", "N IS 4N IS 4"]
    assert noted[1].kept(a=1) == {"n": 4, "a": 1}
    with pytest.raises(AttributeError, match=r"Noted\.told runs on the host only"):
        noted.told()
    if heap.backend.name != "python":
        with pytest.raises(oa.CompileError, match=r"Noted\.told runs on the host only"):
            tell[1](noted)
    with pytest.raises(oa.ClassError, match="kinds is something else, but overrides a plain"):

        class Quiet(Kinds):
            def kinds(self) -> str:  # type: ignore[override]
                return ""


def test_what_is_said_of_the_object_itself_is_no_type_of_the_host() -> None:
    class Counted(oa.Object):
        n: i32

        def more(self: Any, by: i32) -> i32:
            return self.n + by

    assert [*oa.new(Counted, 2, n=3).more(4)] == [7, 7]
