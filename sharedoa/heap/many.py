"""What arrays and views of fields find out about all of their elements at once."""

from __future__ import annotations

from typing import Any

from . import hooks


class Many:
    """Computed where the elements are (``hooks.many``). The same bits on every backend, and on any
    number of threads.

    ``axis``, ``dtype``, ``out`` and other options are those of NumPy; with any of them, NumPy
    computes on the host."""

    __slots__ = ()

    def _many(self, name: str, **options: Any) -> Any:
        return hooks.many(self, name, options)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Integers of any width give 64 bits, bools are counted, floats keep their width."""
        if axis is dtype is out is None and not options:
            return hooks.plain(self, "sum")
        return self._many("sum", axis=axis, dtype=dtype, out=out, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Of integers and bools an f64."""
        if axis is dtype is out is None and not options:
            return hooks.plain(self, "mean")
        return self._many("mean", axis=axis, dtype=dtype, out=out, **options)

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """NaN if there is one. Raises ValueError if there are no elements."""
        if axis is out is None and not options:
            return hooks.plain(self, "min")
        return self._many("min", axis=axis, out=out, **options)

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """NaN if there is one. Raises ValueError if there are no elements."""
        if axis is out is None and not options:
            return hooks.plain(self, "max")
        return self._many("max", axis=axis, out=out, **options)

    def any(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Whether an element is not 0. NaN is not."""
        if axis is out is None and not options:
            return hooks.plain(self, "any")
        return self._many("any", axis=axis, out=out, **options)

    def all(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Whether no element is 0."""
        if axis is out is None and not options:
            return hooks.plain(self, "all")
        return self._many("all", axis=axis, out=out, **options)

    def argmin(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The index of the first of the smallest elements, or of the first NaN. Raises ValueError
        if there are no elements."""
        if axis is out is None and not options:
            return hooks.plain(self, "argmin")
        return self._many("argmin", axis=axis, out=out, **options)

    def argmax(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The index of the first of the largest elements, or of the first NaN. Raises ValueError
        if there are no elements."""
        if axis is out is None and not options:
            return hooks.plain(self, "argmax")
        return self._many("argmax", axis=axis, out=out, **options)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """A new array: element i is the sum of elements 0 to i, of the type that ``sum`` has."""
        if axis is dtype is out is None:
            return hooks.plain(self, "cumsum")
        return self._many("cumsum", axis=axis, dtype=dtype, out=out)

    def sort(self, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
        """Put the elements in ascending order in place, equal ones as they were; NaN comes last."""
        if axis == -1 and kind is order is None and not options:
            hooks.plain(self, "sort")
            return
        self._many("sort", axis=axis, kind=kind, order=order, **options)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
        """A new array of i64: where the elements that ``sort`` would put there are."""
        if axis == -1 and kind is order is None and not options:
            return hooks.plain(self, "argsort")
        return self._many("argsort", axis=axis, kind=kind, order=order, **options)
