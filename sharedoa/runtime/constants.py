"""Names that kernels take constants from: looked at before every launch.

Definitions raise the world epoch; binding a name to another number does not. So the names that a
program took plain values from are compared one by one, which takes some 50 ns each.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from ..frontend.dependencies import Dependency, NameDependency


class ConstantNames:
    """The names among ``dependencies`` that were bound to something else than a function, class or
    module."""

    def __init__(self, dependencies: Iterable[Dependency]) -> None:
        self._names = [
            each
            for each in dependencies
            if isinstance(each, NameDependency)
            and not callable(each.value)
            and not inspect.ismodule(each.value)
        ]
        self._bound = [(each.read, each.value) for each in self._names]

    def __len__(self) -> int:
        return len(self._names)

    def hold(self) -> bool:
        """Whether every name means what it meant."""
        try:
            for read, value in self._bound:
                if read() is not value:
                    return self._are_equal()
        except (KeyError, AttributeError, ValueError):
            return False  # a name is gone
        return True

    def _are_equal(self) -> bool:
        if not all(each.current() for each in self._names):
            return False
        self._bound = [(each.read, each.read()) for each in self._names]
        return True
