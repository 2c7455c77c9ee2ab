"""What is computed within the block of a tape of the values of fields and arrays: NumPy's numbers,
which know what they were computed of.

    loss = (oa.all(Node).pos - target).square().sum()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dispatch.dataclass import dataclass

from ..errors import ArgumentError
from ..heap import hooks
from ..heap.arrays import Array, FieldView
from ..heap.recording import not_recorded, recorder, refuse_change
from ..model.types import ValueType

if TYPE_CHECKING:
    from .tape import Tape

Numbers = np.ndarray[Any, Any]
#: From the adjoint of a result to that of an operand.
Pull = Callable[[Numbers], Numbers]


class Traced(NDArrayOperatorsMixin):
    """Numbers of the block of a tape; operators, NumPy's functions and ``sum``, ``mean``,
    ``square`` give others. ``numpy()`` has the plain ones."""

    __hash__ = object.__hash__

    def __init__(
        self, tape: Tape, values: Numbers, pulls: Sequence[tuple[Traced, Pull]] = ()
    ) -> None:
        self.tape, self._values, self._pulls = tape, np.asarray(values), pulls

    @classmethod
    def leaf(cls, tape: Tape, values: Numbers) -> Traced:
        return cls(tape, np.array(values))

    # ------------------------------------------------------------ as numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return self._values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._values.dtype

    @property
    def ndim(self) -> int:
        return self._values.ndim

    @property
    def size(self) -> int:
        return self._values.size

    def numpy(self) -> Numbers:
        """The numbers alone."""
        return self._values.copy()

    def item(self) -> Any:
        return self._values.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Numbers:
        raise _unknown("this function of NumPy")

    def __iter__(self) -> Iterator[Traced]:
        return (self[number] for number in range(len(self)))

    def __len__(self) -> int:
        return len(self._values)

    def __float__(self) -> float:
        if self.tape.is_recording:  # the functions of math, too, would make a constant of it
            raise ArgumentError(
                "what is computed in the block of a tape is taken for a plain number",
                "use NumPy's functions, such as np.sqrt, or x.item() where it is to be constant",
            )
        return float(self._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __format__(self, form: str) -> str:
        return format(self._values.item() if self.ndim == 0 else self._values, form)

    def __repr__(self) -> str:
        return f"Traced({self._values!r})"

    # ------------------------------------------------------------ computing

    # Numbers never change: these give new ones.
    __iadd__ = NDArrayOperatorsMixin.__add__
    __isub__ = NDArrayOperatorsMixin.__sub__
    __imul__ = NDArrayOperatorsMixin.__mul__
    __itruediv__ = NDArrayOperatorsMixin.__truediv__
    __ipow__ = NDArrayOperatorsMixin.__pow__
    __imatmul__ = NDArrayOperatorsMixin.__matmul__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(self.tape, ufunc, method, inputs, options)

    def __getitem__(self, key: Any) -> Traced:
        shape = self.shape

        def pull(adjoint: Numbers) -> Numbers:
            found = np.zeros(shape, np.asarray(adjoint).dtype)
            np.add.at(found, key, adjoint)
            return found

        return Traced(self.tape, self._values[key], [(self, pull)])

    def reshape(self, *shape: Any) -> Traced:
        own = self.shape
        return Traced(self.tape, self._values.reshape(*shape), [(self, lambda a: a.reshape(own))])

    def sum(self, axis: Any = None, **options: Any) -> Traced:
        _refuse_options("sum", options)
        shape = self.shape

        def pull(adjoint: Numbers) -> Numbers:
            return np.broadcast_to(_at_axis(adjoint, axis), shape)

        return Traced(self.tape, self._values.sum(axis), [(self, pull)])

    def mean(self, axis: Any = None, **options: Any) -> Traced:
        _refuse_options("mean", options)
        summed = self.sum(axis)
        return summed / (self.size / max(summed.size, 1))  # type: ignore[no-any-return]

    def min(self, axis: Any = None, **options: Any) -> Traced:
        _refuse_options("min", options)
        return self._extreme(self._values.min(axis), axis)

    def max(self, axis: Any = None, **options: Any) -> Traced:
        _refuse_options("max", options)
        return self._extreme(self._values.max(axis), axis)

    def _extreme(self, found: Numbers, axis: Any) -> Traced:
        """The first of those that are equal gets the adjoint."""
        values = self._values
        place = (values == _at_axis(found, axis)).astype(np.int8)
        if axis is None:
            first = np.arange(values.size).reshape(values.shape) == int(place.argmax())
        else:
            first = (np.cumsum(place, axis) == 1) & (place == 1)

        def pull(adjoint: Numbers) -> Numbers:
            return np.where(first, _at_axis(adjoint, axis), 0)

        return Traced(self.tape, found, [(self, pull)])

    def square(self) -> Traced:
        return cast("Traced", np.square(self))

    def sqrt(self) -> Traced:
        return cast("Traced", np.sqrt(self))

    def dot(self, other: Any) -> Traced:
        if getattr(other, "ndim", 0) > 2:
            raise _unknown("dot of more than two dimensions")
        return cast("Traced", self @ other)

    # ------------------------------------------------------------ backwards

    def leaf_adjoints(self, adjoint: Numbers) -> dict[Any, Numbers]:
        """The adjoints of all that it was computed of and that was read."""
        found: dict[Traced, Numbers] = {self: np.asarray(adjoint, np.result_type(self.dtype))}
        for each in reversed(self._in_order()):
            given = found.get(each)
            if given is None or not each._pulls:
                continue
            del found[each]
            for operand, pull in each._pulls:
                share = pull(given)
                before = found.get(operand)
                found[operand] = share if before is None else before + share
        return found

    def _in_order(self) -> list[Traced]:
        """All that it was computed of, each after its operands."""
        ordered: list[Traced] = []
        seen: set[Traced] = set()
        pending: list[tuple[Traced, bool]] = [(self, False)]
        while pending:
            each, is_done = pending.pop()
            if is_done:
                ordered.append(each)
            elif each not in seen:
                seen.add(each)
                pending.append((each, True))
                pending += [(operand, False) for operand, _ in each._pulls]
        return ordered


@dataclass(frozen=True, eq=False)
class Read:
    """A field or an array was read: what there was."""

    source: FieldView | Array
    values: Traced


def apply(
    tape: Tape, ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]
) -> Any:
    """``ufunc`` of numbers that may be traced."""
    operands = [traced(tape, each) for each in inputs]
    if any(isinstance(each, Traced) and each.tape is not tape for each in operands):
        raise ArgumentError(
            "numbers of two tapes are combined", "compute a loss in the block of one tape"
        )
    plain = [each._values if isinstance(each, Traced) else np.asarray(each) for each in operands]
    if method != "__call__" or options:
        raise _unknown(f"numpy.{ufunc.__name__} with {method} or options")
    result = ufunc(*inputs_of(plain, operands))
    kind = None if isinstance(result, tuple) else np.asarray(result).dtype.kind
    if kind in ("b", "i", "u"):
        return result  # of comparisons: constants to gradients
    slopes = SLOPES.get(ufunc) if kind == "f" else None
    if slopes is None:
        raise _unknown(f"numpy.{ufunc.__name__}")
    pulls: list[tuple[Traced, Pull]] = []
    for number, operand in enumerate(operands):
        if isinstance(operand, Traced) and operand.dtype.kind == "f":
            pulls.append((operand, _pull(slopes[number], plain, np.asarray(result), operand)))
    return Traced(tape, np.asarray(result), pulls)


def inputs_of(plain: Sequence[Numbers], operands: Sequence[Any]) -> list[Any]:
    """Python's own numbers stay what they are, as they take the width of others."""
    return [
        each if isinstance(each, (bool, int, float)) else values
        for values, each in zip(plain, operands, strict=True)
    ]


def traced(tape: Tape, value: Any) -> Any:
    """What an operand is: of a field or an array of floats its values now."""
    if isinstance(value, (FieldView, Array)):
        values = value._numpy()
        return tape.read(value, values) if values.dtype.kind == "f" else values
    return value


def where(tape: Tape, condition: Any, left: Any, right: Any) -> Any:
    """``np.where`` of numbers that may be traced."""
    test = np.asarray(_plain(condition))
    choices = [traced(tape, left), traced(tape, right)]
    values = [_plain(each) for each in choices]
    ways = (lambda a: np.where(test, a, 0), lambda a: np.where(test, 0, a))
    pulls: list[tuple[Traced, Pull]] = [
        (each, partial(_chosen, way, each.shape))
        for each, way in zip(choices, ways, strict=True)
        if isinstance(each, Traced)
    ]
    return Traced(tape, np.where(test, *values), pulls)


def _chosen(way: Pull, shape: tuple[int, ...], adjoint: Numbers) -> Numbers:
    return _summed(way(adjoint), shape)


def _plain(value: Any) -> Any:
    if isinstance(value, Traced):
        return value._values
    return value._numpy() if isinstance(value, (FieldView, Array)) else value


def _refuse_options(name: str, options: dict[str, Any]) -> None:
    if any(value is not None for value in options.values()):
        raise _unknown(f"{name} with options")


def _unknown(what: str) -> ArgumentError:
    return ArgumentError(
        f"{what} has no adjoint in the block of a tape",
        "compute the loss in a kernel, or of view.numpy() where it is to be constant",
    )


def _pull(slope: Any, plain: Sequence[Numbers], result: Numbers, operand: Traced) -> Pull:
    def pull(adjoint: Numbers) -> Numbers:
        if slope is None:
            return np.zeros(operand.shape, operand.dtype)
        return _summed(slope(adjoint, result, *plain), operand.shape).astype(operand.dtype)

    return pull


def _summed(adjoint: Numbers, shape: tuple[int, ...]) -> Numbers:
    """What was broadcast is added up."""
    adjoint = np.asarray(adjoint)
    extra = adjoint.ndim - len(shape)
    adjoint = adjoint.sum(tuple(range(extra))) if extra > 0 else adjoint
    ones = tuple(n for n, length in enumerate(shape) if length == 1 != adjoint.shape[n])
    return np.broadcast_to(adjoint.sum(ones, keepdims=True) if ones else adjoint, shape)


def _at_axis(adjoint: Numbers, axis: Any) -> Numbers:
    return np.asarray(adjoint) if axis is None else np.expand_dims(adjoint, axis)


def _matmul_left(a: Numbers, y: Numbers, x: Numbers, w: Numbers) -> Numbers:
    if x.ndim == w.ndim == 1:
        return a * w
    if w.ndim == 1:
        return np.expand_dims(a, -1) * w
    return _times_column(w, a) if x.ndim == 1 else a @ np.swapaxes(w, -1, -2)


def _matmul_right(a: Numbers, y: Numbers, x: Numbers, w: Numbers) -> Numbers:
    if x.ndim == w.ndim == 1:
        return a * x
    if x.ndim == 1:
        products: Numbers = np.expand_dims(x, -1) * np.expand_dims(a, -2)
        return products
    transposed: Numbers = np.swapaxes(x, -1, -2)
    return _times_column(transposed, a) if w.ndim == 1 else transposed @ a


def _times_column(matrices: Numbers, vectors: Numbers) -> Numbers:
    """Each matrix times its vector."""
    found: Numbers = matrices @ np.expand_dims(vectors, -1)
    return found[..., 0]


#: By function, for each operand: from the adjoint, the result and the operands to its adjoint.
SLOPES: dict[np.ufunc, tuple[Any, ...]] = {
    np.add: (lambda a, y, x, w: a, lambda a, y, x, w: a),
    np.subtract: (lambda a, y, x, w: a, lambda a, y, x, w: -a),
    np.multiply: (lambda a, y, x, w: a * w, lambda a, y, x, w: a * x),
    np.divide: (lambda a, y, x, w: a / w, lambda a, y, x, w: -a * y / w),
    np.power: (
        lambda a, y, x, w: a * w * np.power(x, np.where(w == 0, 1, w - 1)),
        lambda a, y, x, w: a * y * np.log(np.where(x > 0, x, 1)),
    ),
    np.matmul: (_matmul_left, _matmul_right),
    np.maximum: (
        lambda a, y, x, w: np.where(x >= w, a, 0),
        lambda a, y, x, w: np.where(x >= w, 0, a),
    ),
    np.minimum: (
        lambda a, y, x, w: np.where(x <= w, a, 0),
        lambda a, y, x, w: np.where(x <= w, 0, a),
    ),
    np.hypot: (lambda a, y, x, w: a * x / y, lambda a, y, x, w: a * w / y),
    np.arctan2: (
        lambda a, y, x, w: a * w / (x * x + w * w),
        lambda a, y, x, w: -a * x / (x * x + w * w),
    ),
    np.positive: (lambda a, y, x: a,),
    np.negative: (lambda a, y, x: -a,),
    np.absolute: (lambda a, y, x: np.where(x < 0, -a, a),),
    np.fabs: (lambda a, y, x: np.where(x < 0, -a, a),),
    np.square: (lambda a, y, x: 2 * a * x,),
    np.sqrt: (lambda a, y, x: a / (2 * y),),
    np.exp: (lambda a, y, x: a * y,),
    np.expm1: (lambda a, y, x: a * (y + 1),),
    np.log: (lambda a, y, x: a / x,),
    np.log1p: (lambda a, y, x: a / (x + 1),),
    np.sin: (lambda a, y, x: a * np.cos(x),),
    np.cos: (lambda a, y, x: -a * np.sin(x),),
    np.tanh: (lambda a, y, x: a * (1 - y * y),),
    np.reciprocal: (lambda a, y, x: -a * y * y,),
    np.sign: (None,),
    np.floor: (None,),
    np.ceil: (None,),
    np.rint: (None,),
}


# ---------------------------------------------------------------- hooks

_REDUCTIONS = frozenset({"sum", "mean", "min", "max"})
#: What gives no floats.
_CONSTANT = frozenset({"any", "all", "argmin", "argmax", "argsort"})


def _tape() -> Tape:
    found = recorder()
    assert found is not None and found.executes
    return cast("Tape", found)


def _many(values: Any, name: str, options: dict[str, Any]) -> Any:
    if name in _CONSTANT or values.dtype.kind != "f":
        if name == "sort":  # in place
            refuse_change(values._heap)
        with not_recorded():
            return hooks.many(values, name, options)
    if name not in _REDUCTIONS:
        raise _unknown(name)
    return getattr(traced(_tape(), values), name)(**options)


def _ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    return apply(_tape(), ufunc, method, inputs, options)


def _element(source: FieldView | Array, key: Any) -> Traced:
    if source.dtype.kind != "f" or (isinstance(key, str) and source.ndim < 2):
        raise ArgumentError(
            f"{source._description()} holds value structs, which the block of a tape does not take "
            "apart",
            "compute the loss of fields of objects, or in a kernel",
        )
    if isinstance(key, str):
        assert isinstance(source, Array) and isinstance(source.__sharedoa_element__, ValueType)
        key = ..., [*source.__sharedoa_element__.fields].index(key)
    found: Traced = traced(_tape(), source)[key]
    return found


def _where(*operands: Any) -> Any:
    return where(_tape(), *operands)


hooks.traced_many, hooks.traced_ufunc, hooks.traced_element = _many, _ufunc, _element
hooks.traced_where = _where
