"""Scalar types: the machine numbers that fields, arrays and locals hold.

A scalar type is also the conversion of that name, in kernels and on the host: ``i32(3.7)`` is 3.
Conversions are total and the same on every backend: integers wrap, a float becomes an integer by
truncation that saturates at the ends of the range, and NaN becomes 0.

Python's own ``int`` and ``float`` are *weak* (NEP 50): a literal, a loop counter or ``len(...)``
takes the type of the typed operand that it meets. On their own they are 64 bits wide.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np

from dispatch.dataclass import dataclass

from ..errors import ClassError

Kind = Literal["bool", "int", "uint", "float"]


def never_null(type: Any) -> ClassError:
    """Of ``type | None`` and ``Optional[type]``."""
    return ClassError(
        f"{type!r} may not be None, which only references to objects can be",
        "leave out None; an array may be empty, oa.zeros(0, f32), and of numbers one can mean that "
        "there is none",
    )


class NeverNull:
    """A type of which there is always something: ``T | None`` is refused, which Python evaluates
    where it stands."""

    def __or__(self, other: Any) -> NoReturn:
        if other is None:
            raise never_null(self)
        raise ClassError(
            "a union of several types has no one layout", "use a common base class as the type"
        )

    __ror__ = __or__


@dataclass(frozen=True)
class ScalarType(NeverNull):
    """A number type of ``bits``, stored as ``dtype``; Python's own int and float are ``weak``."""

    name: str
    kind: Kind
    bits: int
    dtype: np.dtype[Any]
    weak: bool = False

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, value: Any = 0) -> Any:
        """Convert one host number; the result is a NumPy scalar (a Python bool for ``bool``)."""
        if self.kind == "bool":
            return bool(value)
        if self.kind == "float":
            return self.dtype.type(_once_rounded(value))
        return self._to_integer(value)

    def _to_integer(self, value: Any) -> Any:
        low, high = self.range
        if isinstance(value, (float, np.floating)):
            if value != value:
                return self.dtype.type(0)
            whole = low if value <= low else high if value >= high else int(value)
        else:
            whole = (int(value) - low) % (1 << self.bits) + low
        return self.dtype.type(whole)

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type."""
        if self.kind == "uint":
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"


def _once_rounded(value: Any) -> Any:
    """The value as NumPy converts it to f32 in one step; Python's integers go by way of f64."""
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        return np.uint64(value) if value >= 0 else np.int64(value)
    return value


def _scalar(name: str, kind: Kind, bits: int) -> ScalarType:
    return ScalarType(name, kind, bits, np.dtype(f"{kind}{bits}"))


i8, i16, i32, i64 = (_scalar(f"i{bits}", "int", bits) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (_scalar(f"u{bits}", "uint", bits) for bits in (8, 16, 32, 64))
f32, f64 = (_scalar(f"f{bits}", "float", bits) for bits in (32, 64))
boolean = ScalarType("bool", "bool", 8, np.dtype(np.bool_))
live_byte = ScalarType("live_byte", "uint", 8, np.dtype(np.uint8))
"""What says whether an object lives in a slot (``dispatch.births``), in our own kernels alone."""

weak_int = ScalarType("int", "int", 64, np.dtype(np.int64), weak=True)
weak_float = ScalarType("float", "float", 64, np.dtype(np.float64), weak=True)

SCALARS: dict[str, ScalarType] = {
    scalar.name: scalar for scalar in (i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, boolean)
}
_BY_DTYPE = {scalar.dtype: scalar for scalar in SCALARS.values()}


def from_dtype(dtype: np.dtype[Any]) -> ScalarType | None:
    """The scalar type stored as ``dtype`` (any byte order the machine reads), or None."""
    return _BY_DTYPE.get(np.dtype(dtype))


def join(left: ScalarType, right: ScalarType) -> ScalarType | None:
    """The one type of a variable that is given both, or None when they have nothing in common.

    Typed scalars join only with themselves; a weak one takes the typed one's type where NumPy
    would (an int literal becomes any number, a float literal only a float).
    """
    if left == right:
        return left
    if left.weak and right.weak:
        return weak_float
    if left.weak or right.weak:
        weak, typed = (left, right) if left.weak else (right, left)
        if typed.kind == "bool" or (weak.is_float and not typed.is_float):
            return None
        return typed
    return None


def promote(left: ScalarType, right: ScalarType) -> ScalarType:
    """The type in which ``left op right`` is computed: NumPy 2's rule (NEP 50)."""
    if left == right:
        return left
    if left.weak and right.weak:
        return weak_float
    if left.weak or right.weak:
        weak, typed = (left, right) if left.weak else (right, left)
        if weak.is_float:
            return typed if typed.is_float else _weak_float_with(typed)
        return weak_int if typed.kind == "bool" else typed
    found = from_dtype(np.promote_types(left.dtype, right.dtype))
    assert found is not None
    return found


def _weak_float_with(typed: ScalarType) -> ScalarType:
    # NumPy computes int32(1) + 0.5 in float64; True + 0.5 is Python's own float.
    return weak_float if typed.kind == "bool" else f64


def can_store(source: ScalarType, target: ScalarType) -> bool:
    """Whether ``source`` converts to ``target`` without being asked to: NumPy's ``same_kind``."""
    if source == target:
        return True
    if source.weak:
        return target.is_float or (target.is_integer and source.is_integer)
    return bool(np.can_cast(source.dtype, target.dtype, casting="same_kind"))
