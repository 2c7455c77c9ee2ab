"""Sums of floats in host memory by the tree of ``reduction``, in native code.

NumPy adds up rows of an array one after another, too, but keeps what it has in memory instead of
registers, and needs a call for each halving: 15 us for a thousand numbers, of which the code here
takes a tenth. It goes over a piece column by column, as many as fit registers at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.interpreter_function import (
    DECLARATIONS,
    exported_function,
    interpreter_addresses,
)
from ..backends.native_code import NativeLibrary, assembled
from ..once import once
from . import reduction

_TYPES = {"f": "float", "d": "double"}
_ABREAST = 64
"""Columns that are added up at a time: 8 registers of AVX2, 16 of doubles."""
_WIDE = 16
"""Columns onto which as many others are added up at a time."""

#: ``sums_f(values, totals)``: the sum of each piece of a buffer into another one.
_CODE = """
define internal void @add_pieces_{letter}(ptr %values, i64 %length, ptr %totals) {{
start:
  %columns = alloca [{lanes} x {type}], align 64
  br label %piece
piece:
  %first = phi i64 [ 0, %start ], [ %next_first, %finish ]
  %number = phi i64 [ 0, %start ], [ %next_number, %finish ]
  %base = getelementptr {type}, ptr %values, i64 %first
  %left = sub i64 %length, %first
  %size = call i64 @llvm.smin.i64(i64 %left, i64 {piece})
  %last = urem i64 %size, {lanes}
  %whole = sub i64 %size, %last
  br label %some
some:
  %column = phi i64 [ 0, %piece ], [ %next_column, %added ]
  %top = getelementptr {type}, ptr %base, i64 %column
  br label %row
row: ; -0.0 changes no number
  %at = phi i64 [ 0, %some ], [ %next_at, %add ]
  %sums = phi <{abreast} x {type}> [ splat ({type} -0.0), %some ], [ %more, %add ]
  %is_row = icmp ult i64 %at, %whole
  br i1 %is_row, label %add, label %added
add:
  %place = getelementptr {type}, ptr %top, i64 %at
  %given = load <{abreast} x {type}>, ptr %place, align {bytes}
  %more = fadd <{abreast} x {type}> %sums, %given
  %next_at = add i64 %at, {lanes}
  br label %row
added:
  %kept = getelementptr {type}, ptr %columns, i64 %column
  store <{abreast} x {type}> %sums, ptr %kept, align {bytes}
  %next_column = add i64 %column, {abreast}
  %is_column = icmp ult i64 %next_column, {lanes}
  br i1 %is_column, label %some, label %rest
rest: ; the last row, if it is not whole
  %row_of_rest = getelementptr {type}, ptr %base, i64 %whole
  br label %one
one:
  %place_of_one = phi i64 [ 0, %rest ], [ %next_one, %add_one ]
  %is_one = icmp ult i64 %place_of_one, %last
  br i1 %is_one, label %add_one, label %halve
add_one:
  %given_one = getelementptr {type}, ptr %row_of_rest, i64 %place_of_one
  %summand = load {type}, ptr %given_one
  %kept_one = getelementptr {type}, ptr %columns, i64 %place_of_one
  %before = load {type}, ptr %kept_one
  %after = fadd {type} %before, %summand
  store {type} %after, ptr %kept_one
  %next_one = add i64 %place_of_one, 1
  br label %one
halve:
  %count = phi i64 [ {lanes}, %one ], [ %half, %halved ]
  %half = lshr i64 %count, 1
  br label %fold
fold:
  %left_at = phi i64 [ 0, %halve ], [ %next_left, %fold ]
  %right_at = add i64 %left_at, %half
  %left_place = getelementptr {type}, ptr %columns, i64 %left_at
  %right_place = getelementptr {type}, ptr %columns, i64 %right_at
  %left_half = load <{wide} x {type}>, ptr %left_place, align {bytes}
  %right_half = load <{wide} x {type}>, ptr %right_place, align {bytes}
  %folded = fadd <{wide} x {type}> %left_half, %right_half
  store <{wide} x {type}> %folded, ptr %left_place, align {bytes}
  %next_left = add i64 %left_at, {wide}
  %is_left = icmp ult i64 %next_left, %half
  br i1 %is_left, label %fold, label %halved
halved:
  %is_wide = icmp ugt i64 %half, {wide}
  br i1 %is_wide, label %halve, label %finish
finish:
{halves}
  %total = extractelement <1 x {type}> %half1, i32 0
  %told = getelementptr {type}, ptr %totals, i64 %number
  store {type} %total, ptr %told
  %next_number = add i64 %number, 1
  %next_first = add i64 %first, {piece}
  %again = icmp slt i64 %next_first, %length
  br i1 %again, label %piece, label %done
done:
  ret void
}}

define ptr @sums_{letter}(ptr %self, ptr %arguments, i64 %count) {{
start:
  %values = alloca %Buffer
  %totals = alloca %Buffer
  %first = load ptr, ptr %arguments
  %place = getelementptr ptr, ptr %arguments, i64 1
  %second = load ptr, ptr %place
  %refused = call i32 @PyObject_GetBuffer(ptr %first, ptr %values, i32 0)
  %is_refused = icmp ne i32 %refused, 0
  br i1 %is_refused, label %fail, label %ask
ask:
  %too = call i32 @PyObject_GetBuffer(ptr %second, ptr %totals, i32 1) ; to be written
  %are_refused = icmp ne i32 %too, 0
  br i1 %are_refused, label %return, label %work
work:
  %data = load ptr, ptr %values
  %size_place = getelementptr %Buffer, ptr %values, i32 0, i32 2
  %size = load i64, ptr %size_place
  %length = udiv i64 %size, {bytes}
  %target = load ptr, ptr %totals
  %state = call ptr @PyEval_SaveThread()
  call void @add_pieces_{letter}(ptr %data, i64 %length, ptr %target)
  call void @PyEval_RestoreThread(ptr %state)
  call void @PyBuffer_Release(ptr %totals)
  call void @PyBuffer_Release(ptr %values)
  %none = call ptr @PyLong_FromLong(i64 0)
  ret ptr %none
return:
  call void @PyBuffer_Release(ptr %values)
  br label %fail
fail:
  ret ptr null
}}
"""
_TYPES_OF_BUFFERS = """
%Buffer = type { ptr, ptr, i64, i64, i32, i32, ptr, ptr, ptr, ptr, ptr }
declare i64 @llvm.smin.i64(i64, i64)
"""
"""CPython's ``Py_buffer``."""


def _halves(type: str, wide: int) -> str:
    """The sum of the first ``wide`` columns: the right half onto the left one, until one is
    left."""
    lines = [f"  %half{wide} = load <{wide} x {type}>, ptr %columns, align 8"]
    count = wide
    while count > 1:
        half, vector = count // 2, f"<{count} x {type}> %half{count}"
        for name, first in (("left", 0), ("right", half)):
            places = ", ".join(f"i32 {first + lane}" for lane in range(half))
            lines.append(
                f"  %{name}{half} = shufflevector {vector}, <{count} x {type}> poison, "
                f"<{half} x i32> <{places}>"
            )
        lines.append(f"  %half{half} = fadd <{half} x {type}> %left{half}, %right{half}")
        count = half
    return "\n".join(lines)


@once
def _functions(lanes: int, piece: int) -> dict[str, Any]:
    """What adds up pieces of so many columns and elements, by type of numbers."""
    text, wide = DECLARATIONS + _TYPES_OF_BUFFERS, min(_WIDE, lanes // 2)
    for letter, type in _TYPES.items():
        text += _CODE.format(
            letter=letter, type=type, bytes=np.dtype(letter).itemsize, lanes=lanes, piece=piece,
            abreast=min(_ABREAST, lanes), wide=wide, halves=_halves(type, wide),
        )  # fmt: skip
    names = {letter: f"sums_{letter}" for letter in _TYPES}
    library = NativeLibrary(
        assembled(text, "sums of floats"), tuple(names.values()), interpreter_addresses()
    )
    return {letter: exported_function(library, name) for letter, name in names.items()}


def add_pieces(values: Any, totals: Any) -> None:
    """Write the sum of each piece of ``values`` (f32 or f64, one after another in memory; at least
    one) to ``totals``, which is of the same type and as long as there are pieces. Other threads of
    Python run meanwhile."""
    _functions(reduction.LANES, reduction.PIECE)[values.dtype.char](values, totals)
