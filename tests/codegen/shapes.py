"""A small hierarchy with one virtual method, and programs that call it."""

from __future__ import annotations

from dataclasses import dataclass

from sharedoa.frontend import tree
from sharedoa.model.classes import ClassType
from sharedoa.model.scalars import boolean, f32, weak_int
from sharedoa.model.types import ReferenceType, Type

from .trees import (
    HERE,
    add,
    array,
    at,
    binary,
    const,
    convert,
    element,
    field_of,
    give,
    load,
    program,
    shared_class,
    store,
    use,
)


@dataclass
class Shapes:
    """``Shape`` is abstract; ``Circle`` and ``Square`` override ``area(scale: f32) -> f32``, and
    ``Round`` inherits the circle's. ``functions`` are the methods' bodies."""

    shape: ClassType
    circle: ClassType
    square: ClassType
    round: ClassType
    functions: list[tree.Function]
    candidates: list[tree.Candidate]


def make_shapes() -> Shapes:
    shape = shared_class("Shape", methods={"name": False, "area": True})
    circle = shared_class("Circle", shape, {"radius": f32}, {"area": False})
    square = shared_class("Square", shape, {"side": f32}, {"area": False, "corners": False})
    round = shared_class("Round", circle, {"extra": f32})
    functions = [
        _area(circle, "radius", const(3.0, f32)),
        _area(square, "side", const(1.0, f32)),
    ]
    symbols = {circle: "Circle.area", square: "Square.area", round: "Circle.area"}
    candidates = [tree.Candidate(cls, symbol) for cls, symbol in symbols.items()]
    return Shapes(shape, circle, square, round, functions, candidates)


def _area(cls: ClassType, field: str, factor: tree.Expression) -> tree.Function:
    receiver = tree.Variable("self", ReferenceType(cls))
    scale = tree.Variable("scale", f32)
    length = load(field_of(use(receiver), field))
    square = binary("mul", binary("mul", factor, length), length)
    return tree.Function(
        f"{cls.name}.area",
        "area",
        "method",
        [receiver, scale],
        f32,
        [give(binary("mul", square, use(scale)))],
        HERE,
        cls,
    )


def call_area(
    shapes: Shapes, receiver: tree.Expression, scale: tree.Expression, line: int = 1
) -> tree.VirtualCall:
    parameters: list[Type] = [f32]
    return tree.VirtualCall(
        f32,
        at(line),
        receiver,
        shapes.shape,
        "area",
        shapes.shape.slots["area"],
        parameters,
        [scale],
        shapes.candidates,
    )


def area_program(shapes: Shapes, line: int = 1) -> tree.Program:
    """``out[i] = array[i].area(2.0) + 1``"""
    receivers = array("receivers", ReferenceType(shapes.shape))
    out = array("out", f32)
    value = call_area(shapes, load(element(use(receivers))), const(2.0, f32), line)
    body = [store(element(use(out)), add(value, const(1.0, f32)))]
    return program([receivers, out], list(body), *shapes.functions)


def type_test_program(shapes: Shapes, cls: ClassType) -> tree.Program:
    """``out[i] = isinstance(array[i], cls)``"""
    receivers = array("receivers", ReferenceType(shapes.shape))
    out = array("out", weak_int)
    value = load(element(use(receivers)))
    test = tree.TypeTest(boolean, at(3), value, cls, tuple(cls.concrete()))
    return program([receivers, out], [store(element(use(out)), convert(weak_int, test))])
