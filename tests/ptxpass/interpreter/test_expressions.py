"""Expressions say what functions say, of any bits and of registers that nobody has written."""

from __future__ import annotations

import random
from operator import itemgetter
from typing import Any

import pytest

from ptxpass.text import read_module
from ptxpass.text.syntax import Instruction

from .arithmetic import operation_of
from .expressions import Kind, expression_of, writing
from .frames import Frame
from .fused import Fused
from .numbers import Type

_TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
_CODES = [
    *(f"{name}.{t} %a, %b, %c" for name in ("add", "sub", "mul.lo", "min", "max") for t in _TYPES),
    *(f"{name}.{t} %a, %b, %c" for name in ("and", "or", "xor") for t in ("pred", *_TYPES[:3])),
    *(f"{name}.{t} %a, %b, %c" for name in ("shl", "shr") for t in _TYPES),
    *(f"{name}.{t} %a, %b" for name in ("neg", "not", "mov") for t in _TYPES),
    *(f"{name}.wide.{t} %a, %b, %c" for name in ("mul", "mad") for t in _TYPES if "64" not in t),
    *(f"mad.lo.{t} %a, %b, %c, %d" for t in _TYPES),
    *(f"setp.{order}.{t} %a, %b, %c" for order in _ORDERS for t in _TYPES),
    *(f"setp.{order}.u32 %a, %b, %c" for order in ("lo", "ls", "hi", "hs")),
    *(f"cvt.{to}.{source} %a, %b" for to in _TYPES[3:] for source in ("u8", "s8", *_TYPES[3:])),
    *(f"selp.{t} %a, %b, %c, %d" for t in ("b32", "f64")),
    "mov.f32 %a, %b",
    "cvta.global.u64 %a, %b",
    "cvta.to.global.u64 %a, %b",
]


def instruction_of(code: str) -> Instruction:
    head = ".version 7.8\n.target sm_80\n.address_size 64\n"
    module = read_module(f"{head}.visible .entry k() {{\n{code};\nret;\n}}\n")
    (found, _) = (s for s in module.functions["k"].body or [] if isinstance(s, Instruction))
    return found


def some(t: Type) -> int | None:
    """Limits, small numbers and any; now and then nothing."""
    limits = (0, 1, t.mask, t.mask >> 1, (t.mask >> 1) + 1, 7)
    choice = random.randrange(13)
    if choice == 12:
        return None
    return limits[choice] & t.mask if choice < len(limits) else random.getrandbits(t.bits)


def outcome(compute: Any) -> Any:
    """What comes of it: bits, or that a register was never written."""
    try:
        return compute()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("code", _CODES)
def test_they_say_what_functions_say(code: str) -> None:
    random.seed(code)
    instruction = instruction_of(code)
    expression = expression_of(instruction)
    function, types, _ = operation_of(instruction)
    assert expression is not None
    for _ in range(30):
        values = [some(t) for t in types]
        kinds: list[Kind] = random.choices(("register", "constant", "function"), k=len(values))
        operands = [
            (kind, {"register": place, "constant": value, "function": itemgetter(place)}[kind])
            for place, (kind, value) in enumerate(zip(kinds, values, strict=True))
        ]
        frame = Frame(None, [*values, *[None] * (4 - len(values))], [])

        def compute(operands: Any = operands, frame: Frame = frame) -> Any:
            writing(3, expression, function, operands)(frame)
            return frame.bits[3]

        def compute_fused(operands: Any = operands, frame: Frame = frame) -> Any:
            written = writing(3, expression, function, operands)
            Fused([written], lambda frame: None, 1).run(frame)
            return frame.bits[3]

        assert (
            outcome(compute_fused)
            == outcome(compute)
            == outcome(lambda values=values: function(*values))
        ), values


@pytest.mark.parametrize(
    "code",
    [
        "add.f32 %a, %b, %c", "add.cc.u32 %a, %b, %c", "mul.hi.u32 %a, %b, %c",
        "cvta.shared.u64 %a, %b", "setp.lt.and.u32 %a, %b, %c, %d", "not.pred %a, %b",
        "cvt.sat.u8.s32 %a, %b",
    ],
)  # fmt: skip
def test_others_are_left_to_functions(code: str) -> None:
    assert expression_of(instruction_of(code)) is None
