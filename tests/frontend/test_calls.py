"""Calls: which function, virtual or direct, and arguments in Python's order of evaluation."""

# Kernels here are to be translated or refused; most are no good Python.
# mypy: disable-error-code="type-arg,assignment,index,comparison-overlap"

from __future__ import annotations

import math
import random
import re
from enum import IntFlag
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.frontend import tree

from ..source_files import load_module
from .translated import complaints, kernel_from, text_of, translate
from .tree_text import program_text


class Animal(oa.Object):
    age: i32
    mate: Animal

    def legs(self) -> i32: ...

    def older(self, years: i32 = 1) -> i32:
        return self.age + years

    def speed(self, wind: f32, slope: f32) -> f32:
        return wind - slope


class Dog(Animal):
    def legs(self) -> i32:
        return 4

    def speed(self, wind: f32, slope: f32) -> f32:
        return super().speed(wind, slope) * 2


class Puppy(Dog):
    def legs(self) -> i32:
        return Dog.legs(self)


class Bird(Animal):
    def legs(self) -> i32:
        return 2


class Ghost(oa.Object):
    def boo(self) -> i32: ...


@oa.func
def scale(x: f32, by: f32 = 2, plus: f32 = 0) -> f32:
    return x * by + plus


@oa.func
def factorial(n: i32) -> i32:
    return 1 if n < 2 else n * factorial(n - 1)


@oa.func
def is_even(n: i32) -> bool:
    return True if n == 0 else is_odd(n - 1)


@oa.func
def is_odd(n: i32) -> bool:
    return False if n == 0 else is_even(n - 1)


@oa.func
def divide(a: i32, b: i32) -> tuple[i32, i32]:
    return a // b, a % b


def host_only(x: float) -> float:
    return x


def test_an_overridden_or_abstract_method_is_virtual() -> None:
    def kernel(animal: Animal, dog: Dog, out: oa.Array[i32]):
        out[0] = animal.legs()
        out[1] = animal.older(3)
        out[2] = dog.legs()
        out[3] = animal.mate.legs()

    lines = text_of(kernel).splitlines()
    assert "virtual<Animal slot 0: Dog Puppy Bird> animal.legs()" in lines[0]
    assert "virtual" not in lines[1] and ".older(animal, i32(3))" in lines[1]
    assert "virtual<Dog slot 0: Dog Puppy> dog.legs()" in lines[2]
    assert "animal.mate.legs()" in lines[3]


def test_a_method_that_nothing_overrides_is_called_directly_through_any_subclass() -> None:
    def kernel(puppy: Puppy, out: oa.Array[i32]):
        out[0] = puppy.older()
        out[1] = puppy.legs()

    program = translate(kernel)
    text = program_text(program)
    assert "virtual" not in text
    assert any(symbol.startswith("Animal.") for symbol in program.functions)
    assert ".older(Animal(puppy), i32(1))" in text


def test_super_and_class_calls_are_not_virtual() -> None:
    def kernel(animal: Animal, puppy: Puppy, out: oa.Array[f32]):
        out[0] = animal.speed(1, 2)
        out[1] = Animal.speed(puppy, 1, 2)
        out[2] = f32(puppy.legs())

    text = program_text(translate(kernel))
    (dog_speed,) = [part for part in text.split("\n\n") if ".speed(self: Dog" in part]
    assert "virtual" not in dog_speed
    assert ".speed(Animal(self), wind, slope)" in dog_speed
    kernel_text = text.split("\n\n")[0]
    assert ".speed(Animal(puppy), f32(1.0), f32(2.0))" in kernel_text
    (puppy_legs,) = [part for part in text.split("\n\n") if ".legs(self: Puppy" in part]
    assert ".legs(Dog(self))" in puppy_legs and "virtual" not in puppy_legs


def test_keyword_arguments_keep_pythons_order_of_evaluation() -> None:
    def kernel(x: f32, out: oa.Array[f32]):
        out[0] = scale(plus=factorial(1), x=factorial(2))
        out[1] = scale(x, plus=1)

    first, second = translate(kernel).kernel.body
    assert isinstance(first, tree.Store) and isinstance(second, tree.Store)
    outer = first.value
    assert isinstance(outer, tree.Let) and outer.variable.type == f32
    inner = outer.body
    assert isinstance(inner, tree.Let)
    call = inner.body
    assert isinstance(call, tree.DirectCall)
    assert [getattr(a, "variable", None) for a in call.arguments] == [
        inner.variable,
        None,
        outer.variable,
    ]
    assert isinstance(second.value, tree.DirectCall), "in order already: nothing to bind"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("scale()", "scale lacks x"),
        ("scale(1, 2, 3, 4)", "scale takes 3 arguments, not 4"),
        ("scale(1, x=2)", "scale gets x twice"),
        ("scale(1, to=2)", "scale has no parameter to"),
        ("scale(*(1, 2))", "a starred argument is outside the subset"),
        ("scale(**d)", "** is outside the subset"),
        ("scale(animal)", "scale: x takes f32, not Animal"),
        ("factorial(1.5)", "factorial: n takes i32, and float does not convert"),
        ("factorial(3_000_000_000)", "3000000000 does not fit i32"),
        ("animal.speed(1)", "Animal.speed lacks slope"),
        ("animal.fly()", "Animal has no field or method fly"),
        ("Animal.legs(animal)", "Animal.legs is abstract and has no body to run"),
        ("Animal.older()", "Animal.older lacks its object"),
        ("ghost.boo()", "Ghost.boo is abstract and no class implements it"),
        ("host_only(1.0)", "host_only is a Python function that kernels cannot call"),
        ("Animal()", "Animal is abstract: legs has no body"),
        ("print(1)", "print gives no value"),
        ("complex(1)", "complex cannot be called in a kernel"),
        ("super().legs()", "super() has no meaning here"),
        ("math.floor(oa.u64(3))", "math.floor of a u64"),
        ("animal.legs", "method legs is not called"),
        ("animal.__repr__()", "Animal.__repr__ runs on the host only"),
    ],
)
def test_calls_that_cannot_be(tmp_path: Path, expression: str, message: str) -> None:
    names = {"Animal": Animal, "Ghost": Ghost, "scale": scale, "factorial": factorial}
    kernel = kernel_from(
        tmp_path, "animal: Animal, ghost: Ghost", f"r = {expression}", host_only=host_only, **names
    )
    (complaint,) = complaints(kernel)
    assert message in complaint.message
    assert complaint.help


@pytest.mark.parametrize(
    ("expression", "help"),
    [
        ("random.random()", "oa.random(seed"),
        ("random.uniform(0, 1)", "oa.random(seed"),
        ("np.random.randint(3)", "oa.randint"),
        ("oa.all(Animal)", "it is for the host"),
        ("pow(2, 3, 5)", "write x ** y % n"),
        ("host_only(1.0)", "decorate it with @oa.func"),
        ("math.factorial(3)", "use those of math"),
        ("type(animal) is Animal", "ask isinstance(x, C)"),
        ("hasattr(animal, 'wings')", "ask isinstance(x, C)"),
        ("getattr(animal, 'size')", "write x.name"),
        ("str(3)", "print(f'{x}')"),
        ("Mood(3)", "use the number itself"),
        ("Mood.CALM in Mood.CALM | Mood.WILD", "a & b == a"),
        ("isinstance(animal, Animal | int)", "several: (A, B)"),
        ("3 in PRIMES", "make it a tuple"),
        ("3 in pow", "loops run over range(...)"),
    ],
)
def test_what_to_write_instead(tmp_path: Path, expression: str, help: str) -> None:
    names = {"Animal": Animal, "Ghost": Ghost, "random": random, "np": np, "math": math}
    names |= {"Mood": IntFlag("Mood", ["CALM", "WILD"]), "PRIMES": {2, 3, 5}}
    kernel = kernel_from(
        tmp_path, "animal: Animal", f"r = {expression}", host_only=host_only, **names
    )
    (complaint,) = complaints(kernel)
    assert help in (complaint.help or "")


def test_recursion_direct_and_mutual() -> None:
    def kernel(out: oa.Array[i32]):
        out[0] = factorial(5)
        out[1] = 1 if is_even(4) else 0

    names = {function.name for function in translate(kernel).functions.values()}
    assert names == {"kernel", "factorial", "is_even", "is_odd"}


def test_a_function_may_return_a_tuple_and_nothing() -> None:
    def kernel(out: oa.Array[i32]):
        quotient, rest = divide(7, 2)
        both = divmod(i32(7), -2)
        out[0] = quotient + rest + both[0]

    text = text_of(kernel)
    assert "(i32, i32)" in text

    @oa.func
    def store(a: oa.Array[i32], k: i32):
        a[k] = k

    def effect(out: oa.Array[i32]):
        store(out, 3)

    assert "store" in text_of(effect)

    def wrong(out: oa.Array[i32]):
        x = store(out, 3)

    (complaint,) = complaints(wrong)
    assert complaint.message == "this call gives no value"


def test_a_class_needs_every_abstract_method_to_be_a_candidate(tmp_path: Path) -> None:
    module = load_module(
        tmp_path,
        """
        class Base(oa.Object):
            def a(self) -> i32: ...
            def b(self) -> i32: ...
        class Half(Base):
            def a(self) -> i32:
                return 1
        class Whole(Half):
            def b(self) -> i32:
                return self.a()
        def kernel(x: Base, out: oa.Array[i32]):
            out[0] = x.a() + x.b()
        """,
    )
    text = text_of(module.kernel)
    assert "slot 0: Whole>" in text and "slot 1: Whole>" in text


def test_an_override_that_names_a_later_class_is_checked_when_it_would_be_called(
    tmp_path: Path,
) -> None:
    module = load_module(
        tmp_path,
        """
        class Base(oa.Object):
            def a(self, x: f32) -> i32:
                return 1
        class Wrong(Base):
            def a(self, x: "Later") -> i32:
                return 2
        class Later(oa.Object):
            y: f32
        def kernel(x: Base, out: oa.Array[i32]):
            out[0] = x.a(1.0)
        """,
    )
    with pytest.raises(oa.ClassError) as caught:
        translate(module.kernel)
    text = "Wrong.a(x: Later) -> i32 overrides Base.a(x: f32) -> i32 with another signature"
    assert text in str(caught.value)
    translate(module.kernel)  # without the class that had the error


@pytest.mark.parametrize(
    ("member", "help"),
    [("age", "age is a field.*: write self.age"), ("fly()", "its methods: none")],
)
def test_super_of_what_is_no_method(tmp_path: Path, member: str, help: str) -> None:
    module = load_module(
        tmp_path,
        f"""
        class Base(oa.Object):
            age: i32
        class Derived(Base):
            def older(self) -> i32: return super().{member}
        """,
    )
    kernel = kernel_from(tmp_path, "d: Derived", "r = d.older()", Derived=module.Derived)
    (complaint,) = complaints(kernel)
    assert "Base has no method" in complaint.message
    assert re.search(help, complaint.help)
