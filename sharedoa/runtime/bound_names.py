"""Names that a program was made from, and constant tables: looked at before every launch.

Definitions raise the world epoch; binding a name to something else does not, nor does a change of a
NumPy array. So a function is written that looks whether each name means what it meant. It looks
names up as the user's functions do, in their globals and cells, which CPython makes quick: a few
nanoseconds each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import FunctionType
from typing import Any

from ..context_managers import contextmanager
from ..errors import HeapError
from ..frontend.dependencies import ContentDependency, Dependency, NameDependency

_SOURCE = """
def outer():
    {cells} = None
    def hold({parameters}):
        try:
            return {checks}
        except {errors}:
            return False
    return hold
"""
_OWN = "__sharedoa_{}"
"""What no name of a user's is."""


class BoundNames:
    """The names and tables among ``dependencies``. ``hold()``: whether every name means, and every
    table holds, what it did."""

    hold: Callable[[], bool]

    def __init__(self, dependencies: Iterable[Dependency]) -> None:
        given = [*dependencies]
        found = (each for each in given if isinstance(each, NameDependency))
        self._names = list({(e.kind, id(e.owner), e.name): e for e in found}.values())
        tables = (each for each in given if isinstance(each, ContentDependency))
        self._tables = list({id(each.array): each for each in tables}.values())
        self._look_for({each: each.value for each in self._names})

    def _look_for(self, values: dict[NameDependency, Any]) -> None:
        hold: Callable[[], bool] | None = None
        for group in _groups(self._names):
            hold = _written(group, values, hold)
        if self._tables:
            hold = _tables_too([each.current for each in self._tables], hold)
        self.hold = hold or (lambda: True)

    def changed(self) -> list[NameDependency | ContentDependency]:
        """Those that do not mean, or hold, what they did."""
        every: list[NameDependency | ContentDependency] = [*self._names, *self._tables]
        return [each for each in every if not each.current()]

    def are_equal(self) -> bool:
        """Whether every name that does not mean what it meant is bound to an equal number. Then
        ``hold`` takes that for what it means."""
        names = all(each.current() for each in self._names)
        if not names or not all(each.current() for each in self._tables):
            return False
        self._look_for({each: each.read() for each in self._names})
        return True


@contextmanager
def as_they_were(every: Iterable[BoundNames]) -> Iterator[None]:
    """In the block names mean, and tables hold, what they did when programs were made of them, for
    launches that were asked for then.

    Raises HeapError for a table that cannot hold that any more.
    """
    with ExitStack() as stack:
        for names in every:
            for each in names.changed():
                try:
                    stack.callback(each.restore())
                except Exception as error:
                    raise HeapError(
                        f"launches that wait in a block of oa.fuse() use what has changed since "
                        f"they were asked for, and cannot be as it was: {error}",
                        "change it after the block, or call oa.synchronize() before",
                    ) from error
        yield


def _groups(names: Sequence[NameDependency]) -> Iterable[list[NameDependency]]:
    """The names by whose globals they are in; of each group no two cells have one name."""
    by_globals: dict[int, list[NameDependency]] = {}
    cells: dict[str, list[NameDependency]] = {}
    others = []
    for each in names:
        if each.kind == "global":
            by_globals.setdefault(id(each.owner), []).append(each)
        elif each.kind == "cell":
            cells.setdefault(each.name, []).append(each)
        else:
            others.append(each)
    groups = list(by_globals.values()) or [[]]
    groups[0] += others
    most = max(map(len, cells.values()), default=0)
    groups += [[] for _ in range(most - len(groups))]
    for same in cells.values():
        for group, cell in zip(groups, same, strict=False):
            group.append(cell)
    return groups


def _written(
    names: Sequence[NameDependency],
    values: dict[NameDependency, Any],
    following: Callable[[], bool] | None,
) -> Callable[[], bool]:
    """A function that looks at one group of names, and calls the one that looks at others."""
    given: list[Any] = []

    def parameter(value: Any) -> str:
        given.append(value)
        return _OWN.format(len(given) - 1)

    checks = []
    for each in names:
        now = each.name
        if each.kind == "attribute":
            now = f"{parameter(each.owner)}.{each.name}"
        checks.append(f"{now} is {parameter(values[each])}")
    if following is not None:
        checks.append(f"{parameter(following)}()")
    cells = {each.name: each.owner for each in names if each.kind == "cell"}
    errors = parameter(Exception)
    source = _SOURCE.format(
        cells=" = ".join([*cells, _OWN.format("none")]),
        parameters=", ".join(f"{_OWN.format(place)}=None" for place in range(len(given))),
        checks=" and ".join(checks) or "True",
        errors=errors,
    )
    made: dict[str, Any] = {}
    exec(source, made)
    code = made["outer"]().__code__
    owners = (each.owner for each in names if each.kind == "global")
    closure = tuple(cells[name] for name in code.co_freevars)
    return FunctionType(code, next(owners, {}), "hold", tuple(given), closure)


def _tables_too(
    are_current: Sequence[Callable[[], bool]], names: Callable[[], bool] | None
) -> Callable[[], bool]:
    return lambda: (names is None or names()) and all(each() for each in are_current)


NO_NAMES = BoundNames(())
