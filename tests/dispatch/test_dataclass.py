"""Our dataclasses do what Python's do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import pytest

from dispatch import dataclass as ours


def classes(module: ModuleType) -> list[Any]:
    dataclass, field = module.dataclass, module.field

    @dataclass(frozen=True)
    class Point:
        x: int
        y: float = 2.5
        kind: ClassVar[str] = "point"

    @dataclass(frozen=True)
    class Named(Point):
        name: str = field(default="p", repr=False)
        parts: list[int] = field(default_factory=list)

    @dataclass(eq=False, slots=True)
    class Slots:
        x: int
        y: int = 3

    @dataclass
    class Counted:
        x: int
        y: Any = field(default_factory=dict, kw_only=True)
        total: int = field(init=False)
        seen: list[int] = field(init=False, default_factory=lambda: [7])

        def __post_init__(self) -> None:
            self.total = self.x + 1

        def __repr__(self) -> str:
            return f"counted {self.x}"

    @dataclass(frozen=True)
    class Alone:
        x: int

    @dataclass(frozen=True, eq=False, repr=False)
    class Plain:
        x: int = 1
        y: int = 2

    return [Point, Named, Slots, Counted, Alone, Plain]


def told(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except TypeError as error:
        return type(error), str(error)


@pytest.mark.parametrize("number", range(6))
def test_as_pythons(number: int) -> None:
    one, other = classes(ours)[number], classes(dataclasses)[number]
    parameters = [
        [(p.name, p.kind, p.default is p.empty) for p in inspect.signature(cls).parameters.values()]
        for cls in (one, other)
    ]
    assert parameters[0] == parameters[1]
    assert one.__match_args__ == other.__match_args__
    nan = float("nan")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}), ((1,), {}), ((1, 2), {}), ((1,), {"y": 4}), ((), {"x": 5}), ((1, 2, 3), {}),
        ((1,), {"z": 1}), ((nan,), {}), ((1,), {"total": 2}), (([1],), {}),
    ]  # fmt: skip
    made = [
        [told(lambda c=cls, g=given: c(*g[0], **g[1])) for given in calls] for cls in (one, other)
    ]
    shown = [[str(each).partition(" object at")[0] for each in some] for some in made]
    assert shown[0] == shown[1]
    same = [[a == b for a in some for b in some] for some in made]
    assert same[0] == same[1]
    hashes = [[told(lambda e=each: hash(e) and 0) for each in some] for some in made]
    assert hashes[0] == hashes[1]
    first, second = made[0][1], made[1][1]
    assert first != second and first != object()
    assert dataclasses.asdict(first) == ours.asdict(first) == dataclasses.asdict(second)
    replaced = ours.asdict(ours.replace(first, x=9))
    assert replaced == dataclasses.asdict(dataclasses.replace(first, x=9))
    assert replaced == dataclasses.asdict(dataclasses.replace(second, x=9))
    assert ours.asdict(copy.deepcopy(first)) == ours.asdict(first)
    assert [f.name for f in ours.fields(one)] == [f.name for f in dataclasses.fields(other)]
    assert [f.name for f in dataclasses.fields(one)] == [f.name for f in dataclasses.fields(other)]
    assert hasattr(first, "__dict__") == hasattr(second, "__dict__")


@ours.dataclass(frozen=True)
class Kept:
    x: int
    y: int = 2


def test_they_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(5))) == Kept(5)
    assert hash(Kept(5)) == hash(Kept(5, 2)) != hash(Kept(6))
