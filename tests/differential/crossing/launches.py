"""Random launches of the program, on a heap and plainly."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from copy import copy
from random import Random
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from ...runtime import grid_oracle
from .plain import I32, I64, Plain, PlainWorld, Scenery

KINDS = ("Plant", "Animal", "Fox", "Late")
BELOW = {
    "Being": KINDS, "Plant": ("Plant",), "Animal": ("Animal", "Fox", "Late"),
    "Fox": ("Fox", "Late"),
}  # fmt: skip
I32S = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 12345, -99)
MOST = 60
"""Objects of one world, roughly."""
_CELL, _SIZE = 2.0, (8.0, 8.0)
_SIMPLE = ("look", "swap", "forget", "feed")
_OTHERS = (
    "grow", "write", "bump", "lean", "flow", "walk", "tell", "breed", "die", "hunt", "census",
    "meet", "fade", "mix", "tick", "blur", "stamp", "gather", "grow each",
)  # fmt: skip


class Launch:
    """What runs on the heap and in the plain world. ``quietly`` is the same without results, which
    captured steps do not give; it calls nothing on objects of ``held`` arrays but by these."""

    def __init__(
        self,
        name: str,
        here: Callable[[], Any],
        there: Callable[[], Any],
        held: tuple[str, ...] = (),
        quietly: Callable[[], Any] | None = None,
    ) -> None:
        self.name, self.here, self.there, self.held = name, here, there, held
        self.quietly = quietly or here

    @property
    def ends(self) -> bool:
        return any(each in self.name for each in ("die", "hunt", "fade"))

    @property
    def meets(self) -> bool:
        return "meet" in self.name

    @property
    def breeds(self) -> bool:
        return "breed" in self.name


class Launches:
    """A heap and its plain world, and what may be launched on both."""

    def __init__(self, module: Any, heap: oa.Heap, random: Random) -> None:
        self.m, self.heap, self.random = module, heap, random
        #: Draws how arguments are given, beside what happens.
        self.forms = copy(random)
        self.p = PlainWorld()
        #: Of class Late, once it was defined.
        self.late: Any = None
        #: Arrays of objects by name, with the numbers of these, None for null.
        self.held: dict[str, tuple[Any, list[int | None]]] = {}
        self.arrays: dict[str, Any] = {}
        self.plain: dict[str, np.ndarray[Any, Any]] = {}
        #: What ``gather`` has written to values, and what they hold then.
        self.tags: Any = None
        self.plain["clock"], self.plain["counts"] = self.p.clock, self.p.counts
        for name, length in (("a", 9), ("b", 9), ("out", 9), ("words", 4), ("none", 0)):
            self.plain[name] = np.array([random.choice(I32S) for _ in range(length)], np.int32)
        for name, values in self.plain.items():
            self.arrays[name] = heap.array(values.dtype, values)
        picture = np.array([[random.choice(I32S) for _ in range(8)] for _ in range(3)], np.int32)
        self.plain["picture"], self.plain["blurred"] = picture, np.zeros((3, 8), np.int32)
        self.arrays["picture"] = heap.array(i32, picture)
        self.arrays["blurred"] = heap.zeros((3, 8), i32)
        self.new_scene()
        self.new_grid()

    def new_scene(self) -> None:
        r = self.random
        table = [r.choice(I32S) for _ in range(4)]
        shift = (r.choice([0.5, -1.25]), r.choice([0.1, 3.0]))
        self.scenery = Scenery(r.randint(-4, 4), table, shift)
        with self.heap:
            self.scene = self.m.Scene(factor=self.scenery.factor, table=table, shift=shift)

    def new_grid(self) -> None:
        self.periodic = self.random.random() < 0.5
        with self.heap:
            self.grid: Any = oa.HashGrid(cell=_CELL, size=_SIZE, periodic=self.periodic)

    def cls(self, name: str) -> Any:
        return self.late if name == "Late" else getattr(self.m, name)

    def find(self, number: int | None) -> Plain | None:
        return None if number is None else self.p.beings[number]

    def given(self, called: Any, *values: Any) -> Callable[[Any], Any]:
        """Calls with these arguments, by position or by name as ``called`` takes them; some that
        are its defaults are left out."""
        parameters = [*inspect.signature(called).parameters.values()][-len(values) :]
        by_position = self.forms.randint(0, len(values))
        first: list[Any] = []
        named: list[tuple[str, Any]] = []
        for each, value in zip(parameters, values, strict=True):
            is_default = each.default is not each.empty and each.default == value
            if is_default and self.forms.random() < 0.5:
                by_position = 0
            elif each.kind is each.POSITIONAL_ONLY:
                first.append(value)
            elif each.kind is not each.KEYWORD_ONLY and len(first) < by_position:
                first.append(value)
            else:
                by_position = 0
                named.append((each.name, value))
        self.forms.shuffle(named)
        return lambda target: target(*first, **dict(named))

    # ---------------------------------------------------------------- launches

    def sequence(self) -> list[Launch]:
        """Some that may follow each other with no look by the host: what was held may be gone after
        objects end, and who was near is asked in the order of those that are left."""
        found: list[Launch] = []
        for _ in range(self.random.choice([1, 2, 3, 5])):
            launch = self.launch()
            if launch is None:
                continue
            if launch.ends and any(each.meets or each.held for each in found):
                continue
            if launch.held and any(each.ends for each in found):
                continue
            found.append(launch)
        return found

    def launch(self) -> Launch | None:
        """A random one; None where there is nothing to launch it on."""
        name = self.random.choice((*_SIMPLE, *_OTHERS))
        where = self.random.choice(["Being", *BELOW])
        population, kinds = self.heap.all(self.cls(where)), BELOW[where]
        k = self.random.choice([0, 1, -1, 3, 7, 2**31 - 1])
        given: dict[str, tuple[Any, ...]] = {
            "grow": (k,), "write": (k,), "bump": (abs(k) % 250,), "lean": (0.5,), "flow": (0.25,),
        }  # fmt: skip
        if name in _SIMPLE or name in given:
            return self._method(f"{where}.{name}", population, kinds, name, given.get(name, ()))
        if name == "walk":
            scenery, walk = self.scenery, self.given(self.m.Being.walk, self.scene)
            return Launch(
                f"{where}.walk",
                lambda: walk(population.walk),
                lambda: self.p.each("walk", scenery, kinds=kinds),
            )
        if name == "tell":
            which = self.random.choice(["words", "none"])
            words, plain = self.arrays[which], self.plain[which]
            return Launch(
                f"{where}.tell {which}",
                lambda: population.tell(words),
                lambda: self.p.each("tell", plain, kinds=kinds),
                quietly=lambda: population.tell_quietly(words),
            )
        if name in ("breed", "die", "hunt", "fade", "census"):
            return self._of_population(name, f"{where}.{name}", population, kinds)
        if name == "meet":
            return self._meet(where)
        if name in ("mix", "tick", "blur"):
            made: Launch = getattr(self, f"_{name}")()
            return made
        if not self.held:
            return None
        held = self.random.choice(sorted(self.held))
        if name == "stamp":
            return self._stamp(held, k)
        return self._gather(held) if name == "gather" else self._grow_each(held, k)

    def _method(
        self, text: str, population: Any, kinds: Any, name: str, given: tuple[Any, ...]
    ) -> Launch:
        quiet = "grow_quietly" if name == "grow" else name
        if not given:
            here = quietly = lambda called: called()
        else:
            here = self.given(getattr(self.m.Being, name), *given)
            quietly = self.given(getattr(self.m.Being, quiet), *given)
        return Launch(
            f"{text}{given}",
            lambda: here(getattr(population, name)),
            lambda: self.p.each(name, *given, kinds=kinds),
            quietly=lambda: quietly(getattr(population, quiet)),
        )

    def _of_population(self, name: str, text: str, population: Any, kinds: Any) -> Launch | None:
        clock, counts = self.arrays["clock"], self.arrays["counts"]
        given = lambda *values: self.given(getattr(self.m.Being, name), *values)
        if name == "census":
            census = given(counts)
            return Launch(text, lambda: census(population.census), lambda: self.p.census(kinds))
        if name == "die":
            limit, of = self.random.randrange(5), self.forms.choice([5, 5, 3])
            die = given(limit, of)
            return self._ending(
                text, lambda: die(population.die), lambda: self.p.die_all(limit, of, kinds)
            )
        if name == "hunt":
            hunt = given(counts)
            return self._ending(text, lambda: hunt(population.hunt), lambda: self.p.hunt_all(kinds))
        if name == "fade":
            limit = self.random.randrange(3)
            fade = given(counts, limit)
            return self._ending(
                text, lambda: fade(population.fade), lambda: self.p.fade_all(limit, kinds)
            )
        if len(self.p.beings) > MOST:
            return None
        seed = self.random.randrange(100)
        breed, tick = given(seed, clock), self.given(self.m.tick, clock)

        def here() -> None:
            breed(population.breed)
            tick(self.m.tick[1])

        def there() -> None:
            self.p.breed_all(seed, kinds)
            self.p.clock[0] += 1

        return Launch(text, here, there)

    def _ending(self, name: str, here: Any, there: Any) -> Launch:
        """With references to what is gone made null, as others may soon live there."""
        everyone = self.heap.all(self.m.Being)

        def both() -> None:
            here()
            everyone.forget()

        def plain() -> None:
            there()
            self.p.each("forget")

        return Launch(name, both, plain)

    def _meet(self, where: str) -> Launch:
        p, grid, periodic = self.p, self.grid, self.periodic
        radius = self.random.choice([0.0, 0.7, 2.5, 30.0, math.nan])
        population, everyone = self.heap.all(self.cls(where)), self.heap.all(self.m.Being)
        meet = self.given(self.m.Being.meet, grid, radius)
        meet_quietly = self.given(self.m.Being.meet_quietly, grid, radius)

        def here() -> Any:
            grid.build(everyone, "pos")
            return meet(population.meet)

        def quietly() -> None:
            grid.build(everyone, "pos")
            meet_quietly(population.meet_quietly)

        def there() -> Any:
            # The order is that of the population, which the plain world does not know.
            order = [n for n in everyone.id.numpy().tolist() if n in p.beings]
            points = np.array([p.beings[n].pos for n in order], np.float32).reshape(-1, 2)
            found = grid_oracle.near(points, points, radius, _CELL, _SIZE, periodic)
            results = {}
            for n, others in zip(order, found, strict=True):
                seen = I64(0)
                for other in others:
                    seen = seen * I64(31) + I64(order[other])
                if p.beings[n].kind in BELOW[where]:
                    results[n] = p.beings[n].met = seen
            return results

        return Launch(f"{where}.meet", here, there, quietly=quietly)

    # ---------------------------------------------------------------- kernels

    def _tick(self) -> Launch:
        def there() -> None:
            self.p.clock[0] += 1

        tick = self.given(self.m.tick, self.arrays["clock"])
        return Launch("tick", lambda: tick(self.m.tick[1]), there)

    def _blur(self) -> Launch:
        picture, blurred = self.plain["picture"], self.plain["blurred"]

        def there() -> None:
            wide = np.concatenate([picture[:, :1], picture, picture[:, -1:]], axis=1)
            blurred[:] = wide[:, :-2] + picture * np.int32(2) + wide[:, 2:]

        blur = self.given(self.m.blur, self.arrays["picture"], self.arrays["blurred"])
        return Launch("blur", lambda: blur(self.m.blur[(8, 3), (8, 1)]), there)

    def _mix(self) -> Launch:
        """Of three arrays, of which some may be the same."""
        k = self.random.choice(I32S)
        names = [self.random.choice(["a", "b", "out"]) for _ in range(3)]
        low, high = self.random.choice([(0, 9), (2, 7), (4, 4)])
        here = [self.arrays[n][low:high] for n in names]
        a, b, out = (self.plain[n][low:high] for n in names)

        def there() -> None:
            out[:] = (a * I32(k) - b) ^ (a >> np.int32(3))

        count = self.random.choice([high - low, high - low + 3]) or 1
        mix = self.given(self.m.mix, *here, k)
        return Launch(f"mix{names}{low, high}", lambda: mix(self.m.mix[count]), there)

    def _stamp(self, held: str, k: int) -> Launch:
        """Of arrays with repeated objects and nulls."""
        array, ids = self.held[held]

        def there() -> None:
            for place, number in enumerate(ids):
                if (b := self.find(number)) is not None:
                    b.energy = b.energy + I32(k) + I32(place)

        stamp = self.given(self.m.stamp, array, k)
        return Launch("stamp", lambda: stamp(self.m.stamp[len(ids)]), there, (held,))

    def _gather(self, held: str) -> Launch | None:
        """To rows and columns, and to values that refer to objects."""
        array, ids = self.held[held]
        width = self.random.randint(1, 4)
        if not ids:
            return None
        out, tags = self.heap.zeros((len(ids), width), i32), self.heap.zeros(len(ids), self.m.Tag)
        wanted = np.zeros((len(ids), width), np.int32)
        known: list[Any] = [None] * len(ids)
        self.arrays["rows"], self.plain["rows"] = out, wanted
        self.tags = tags, known

        def there() -> None:
            for y, number in enumerate(ids):
                b = self.find(number)
                wanted[y] = -1 if b is None else b.energy * np.arange(width, dtype=np.int32)
                if b is not None:
                    known[y] = (y, b, int(b.small))

        size = (width + 1, len(ids) + 2)
        gather = self.given(self.m.gather, array, tags, out)
        return Launch("gather", lambda: gather(self.m.gather[size]), there, (held,))

    def _grow_each(self, held: str, k: int) -> Launch | None:
        array, ids = self.held[held]
        numbers = [number for number in ids if number is not None]
        if not ids or len({*numbers}) < len(ids):
            return None
        out, wanted = self.heap.zeros(len(ids), i32), np.zeros(len(ids), np.int32)
        self.arrays["grown"], self.plain["grown"] = out, wanted

        def there() -> None:
            wanted[:] = [self.p.grow(self.p.beings[number], k) for number in numbers]

        size = len(ids) + 2
        grow_each = self.given(self.m.grow_each, array, k, out)
        return Launch("grow each", lambda: grow_each(self.m.grow_each[size]), there, (held,))
