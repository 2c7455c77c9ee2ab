"""Arithmetic and NumPy functions on what views heap memory; in-place operators write through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..errors import ArgumentError
from ..model.types import Type, ValueType
from . import hooks
from .conversion import holds_references, refuse_masked
from .export import cuda_array_interface, device_of, dlpack
from .many import Many
from .placement import Change, Values
from .recording import is_taped

if TYPE_CHECKING:
    from .heap import Heap

MOST_AT_HAND = 1 << 15
"""Elements that NumPy is done with before kernels are launched."""
MOST_IN_PLACE = 1 << 20
"""Numbers of an array that one thread goes over once before others would help."""

#: Keys of one element, and of several.
One = int | np.integer[Any] | tuple[int, ...]
Several = Union[slice, EllipsisType, Sequence[Any], np.ndarray[Any, Any], "NumPyLike"]


def advice_for(name: str, type: Type) -> str:
    """What to say of an attribute that there is not, of what holds many of ``type``."""
    if isinstance(type, ValueType) and name in type.fields:
        return f'; of many value structs it is ["{name}"]'
    return "; use .numpy() for what NumPy arrays have" if hasattr(np.ndarray, name) else ""


def is_traced(values: NumPyLike) -> bool:
    """Whether a tape has a record of what is computed of these floats."""
    return is_taped(values._heap) and _has_floats(values.dtype)


def _has_floats(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:
        return any(_has_floats(dtype[name].base) for name in dtype.names)
    return dtype.kind == "f"


def refuse_traced(values: NumPyLike) -> None:
    """Raise ArgumentError where NumPy takes floats that a tape has a record of, and would make
    constants of them."""
    if is_traced(values):
        raise ArgumentError(
            f"{values._description()} is taken for plain numbers in the block of a tape",
            "compute the loss with operators, functions such as np.sqrt, and .sum(); what is to be "
            "constant is view.numpy()",
        )


class NumPyLike(Many, NDArrayOperatorsMixin):
    """Operators make NumPy arrays; in-place operators change the memory itself, without a copy."""

    __slots__ = ()
    _heap: Heap

    if TYPE_CHECKING:
        # What selects elements; NumPy's own mixin says Any.
        def __eq__(self, other: object) -> Values: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Values: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Values: ...
        def __le__(self, other: Any) -> Values: ...
        def __gt__(self, other: Any) -> Values: ...
        def __ge__(self, other: Any) -> Values: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...

    def numpy(self) -> Values:
        raise NotImplementedError

    def _numpy(self) -> Values:
        """The same, whatever fields of objects are called."""
        return self.numpy()

    def _at_hand(self) -> Values | None:
        """What ``_numpy`` has, looked at only, where that is few numbers that lie in memory of the
        host and can be had without much ado; at least one."""
        return None

    def square(self) -> Values:
        """Each number times itself, for losses: ``objects.x.square().sum()`` (``oa.tape``)."""
        found: Values = np.square(self)
        return found

    def _change(self, change: Change) -> None:
        """Call ``change`` on the memory, piece by piece."""
        raise NotImplementedError

    def _description(self) -> str:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def _item(self) -> Type:
        """The type of one element."""
        raise NotImplementedError

    def _pieces(self) -> int:
        """How many pieces ``_change`` works on."""
        return 1

    def _operand(self, value: Any) -> Any:
        """What an operator computes with in place of ``value``."""
        return value._numpy() if isinstance(value, NumPyLike) else value

    def _shared(self) -> Values:
        """A view of the memory itself, which is not touched. Raises ExportError."""
        raise NotImplementedError

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """For ``from_dlpack`` of other libraries. Raises ExportError."""
        return dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return device_of(self._heap)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cuda_array_interface(self)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """A copy, for polars, pyarrow and others that take columns of Arrow; made by pyarrow.
        Raises ExportError for arrays in fields, and where pyarrow is missing."""
        from .arrow import arrow_array

        refuse_traced(self)
        self._note_numbers()
        made = arrow_array(self._numpy(), self._item, self._description())
        return made.__arrow_c_array__(requested_schema)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        refuse_traced(self)
        self._note_numbers()
        return np.array(self._numpy(), dtype=dtype, copy=copy)

    def _note_numbers(self) -> None:
        """Its values are given out. References are numbers then, which would be stale, and nobody
        would know, if objects moved by themselves (``automatic``)."""
        self._heap.upkeep.is_known_outside |= holds_references(self._item)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        if not out:
            if is_taped(self._heap):
                return hooks.traced_ufunc(ufunc, method, inputs, options)
            return getattr(ufunc, method)(*map(self._operand, inputs), **options)
        target = out[0]
        if not isinstance(target, NumPyLike):
            return getattr(ufunc, method)(*map(self._operand, inputs), out=out, **options)
        if len(out) != 1 or method != "__call__":
            return NotImplemented
        target._compute(ufunc, inputs, options)
        return target

    def _compute(self, ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        """``ufunc(*inputs)`` into this object's own memory."""
        operands = [value if value is self else self._independent(value) for value in inputs]

        mask = options.pop("where", True)
        compute = ufunc

        def change(values: Values, where: Any) -> None:
            pieces = (self._piece(operand, values, where) for operand in operands)
            chosen = self._piece(mask, values, where)
            compute(*pieces, out=values, where=chosen, **options)

        try:
            if ufunc is np.power and self.dtype.kind in "iu":
                # It may refuse an exponent halfway, and leaves rubbish in what it writes to.
                given: list[Any] = [self._numpy() if v is self else v for v in operands]
                # With out=None NumPy does not warn that what is masked is left as it was made.
                masked = {**options, "out": None, "where": self._operand(mask)}
                operands = [np.power(*given, **masked)]
                compute = np.positive
            self._change(change)
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                f"{self._description()} cannot take the result of {ufunc.__name__}: {error}",
                "convert the operand, or use the operator of the same kind (// for integers)",
            ) from None

    def _independent(self, value: Any) -> Any:
        """An operand; a copy if one piece might otherwise see what an earlier one wrote."""
        if isinstance(value, (bool, int, float)):
            return value
        refuse_masked(value, self._description())
        found = np.asarray(self._operand(value))
        return found if self._pieces() == 1 else found.copy()

    def _piece(self, operand: Any, values: Values, where: Any) -> Any:
        """The elements of an operand that meet one piece."""
        if operand is self:
            return values
        if isinstance(operand, np.ndarray) and operand.ndim:
            return np.broadcast_to(operand, self.shape)[where]
        return operand
