"""What the host does between launches, on a heap and plainly."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from .launches import BELOW, I32S, KINDS, MOST, Launch, Launches
from .plain import F32, I16, I32, U8, Plain, make_fox

_FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-310, 1e300, math.inf, -math.inf, math.nan)
_SETS = (
    "all", "array", "some", "friends", "itself", "links", "positions", "component", "tag", "proxy",
    "floats", "marks", "logs",
)  # fmt: skip


class Turns(Launches):
    """``log`` tells what happened; ``open_`` gives the heap in which a dump goes on."""

    def __init__(
        self, module: Any, heap: oa.Heap, random: Random, open_: Callable[[], oa.Heap]
    ) -> None:
        super().__init__(module, heap, random)
        self._open = open_
        self._numbers = itertools.count(1)
        self.log: list[str] = []
        #: Other worlds with the same classes.
        self.others: list[Turns] = []
        self.proxies: dict[int, Any] = {}
        self.gone: dict[int, Any] = {}
        self.steps: list[tuple[Any, list[Launch]]] = []
        #: Views that the host keeps: NumPy's of arrays; of fields, with names and numbers.
        self.views: dict[str, Any] = {}
        self.fields: list[tuple[Any, str, list[Any]]] = []
        self.has_moved = False

    # ---------------------------------------------------------------- objects come and go

    def create(self) -> None:
        r = self.random
        kind = r.choice([k for k in KINDS if k != "Late" or self.late is not None])
        count = min(r.choice([0, 1, 1, 2, r.randint(1, 9)]), MOST - len(self.p.beings))
        if count < 0:
            return
        self.log.append(f"new {kind} {count}")
        ids = [next(self._numbers) for _ in range(count)]
        energies = [r.choice(I32S) for _ in ids]
        if r.random() < 0.3:
            energies = energies[:1] * count
        for n, energy in zip(ids, energies, strict=True):
            begins = kind in ("Fox", "Late")
            self.p.beings[n] = made = make_fox(n, energy) if begins else Plain(kind, n, I32(energy))
            made.kind = kind
        if count == 1 and r.random() < 0.6:
            self.proxies[ids[0]] = self.cls(kind)(id=ids[0], energy=energies[0])
            return
        given: Any = np.array(energies, np.int32)
        if len({*energies}) == 1:
            given = energies[0]
        array = self.heap.new(self.cls(kind), count, id=np.array(ids, np.int64), energy=given)
        self.held[f"new{len(self.log)}"] = (array, [*ids])
        self.proxies.update(zip(ids, array, strict=True))

    def delete(self) -> None:
        how = self.random.choice(["one", "list", "array", "class", "none"])
        self.log.append(f"delete {how}")
        gone: list[int] = []
        if how == "class":
            name = self.random.choice(["Plant", "Fox"])
            gone = [n for n, b in self.p.beings.items() if b.kind in BELOW[name]]
            self.heap.delete(self.heap.all(self.cls(name)))
        elif how != "none":
            gone = self._some()[: 1 if how == "one" else self.random.choice([1, 4, 99])]
        if gone and how == "one":
            self.heap.delete(self.proxies[gone[0]])
        elif gone and how == "list":
            self.heap.delete([self.proxies[n] for n in gone])
        elif how in ("array", "none"):
            self.heap.delete(self._array_of([*gone]))
        self.p.remove(gone)
        self.learn()
        # References to what is gone become null, one way or another.
        if self._can_move and self.random.random() < 0.4:
            self.log.append("compact after it")
            oa.compact()
            self.has_moved = True
        else:
            self.heap.all(self.m.Being).forget()
        self.p.each("forget")

    @property
    def _can_move(self) -> bool:
        return self.heap.mode.placement == "by_type"

    def learn(self) -> None:
        """Proxies of what kernels have made; forget those of what is gone."""
        for obj in self.heap.all(self.m.Being):
            assert self.proxies.setdefault(int(obj.id), obj) is obj
        for number in [n for n in self.proxies if n not in self.p.beings]:
            self.gone[number] = self.proxies.pop(number)
        is_gone = lambda ids: any(n is not None and n not in self.p.beings for n in ids)
        for name in [name for name, (_, ids) in self.held.items() if is_gone(ids)]:
            del self.held[name]
        stays = lambda each: all(name in self.held for name in each.held)
        self.steps = [step for step in self.steps if all(map(stays, step[1]))]

    def move(self) -> None:
        if not self._can_move:
            return
        r, before = self.random, self.order()
        how = r.choice(["compact", "compact one", "sort population", "sort array", "sort key"])
        self.log.append(how)
        if how == "compact":
            oa.compact()
        elif how == "compact one":
            oa.compact(self.cls(r.choice(["Plant", "Animal", "Fox"])))
        elif how == "sort population":
            oa.sort(oa.all(self.m.Being), [r.randint(0, 5) for _ in self.p.beings])
        elif how == "sort array":
            ids = self._some()
            oa.sort(self._array_of([*ids]), np.array([r.random() for _ in ids]))
        else:
            key, name = r.choice(["energy", "small", "worth", "id"]), r.choice(["Being", "Animal"])
            oa.sort(oa.all(self.cls(name)), key)
            self._check_sorted(name, key, before)
        if how.startswith("compact"):
            assert self.order() == before
        self.has_moved = True

    def _check_sorted(self, name: str, key: str, before: dict[str, list[int]]) -> None:
        after, p = self.order(), self.p
        for kind, ids in before.items():
            value = lambda n: p.worth(p.beings[n]) if key == "worth" else getattr(p.beings[n], key)
            wanted = sorted(ids, key=value) if kind in BELOW[name] else ids
            assert after[kind] == wanted, (kind, key)

    def order(self) -> dict[str, list[int]]:
        """The numbers of each class, as populations have them."""
        found: dict[str, list[int]] = {kind: [] for kind in KINDS}
        for obj in self.heap.all(self.m.Being):
            found[type(obj).__name__].append(int(obj.id))
        return found

    def hold(self) -> None:
        """An array of objects, and perhaps a view of a field of theirs."""
        r = self.random
        ids: list[int | None] = [*self._some()]
        if r.random() < 0.5:
            ids = [*ids, *ids[:2], None]
        array, how, cut = self._array_of(ids), r.random(), r.randint(0, len(ids))
        if how < 0.4:
            array, ids = array[cut:], ids[cut:]
        elif how < 0.6:
            array, ids = array[::-1], ids[::-1]
        self.log.append(f"hold {len(ids)}")
        self.held[f"held{len(self.log)}"] = (array, ids)
        if ids and None not in ids and r.random() < 0.6:
            field = r.choice(["energy", "x", "pos", "small"])
            self.fields.append((getattr(array, field), field, ids))

    def dump(self) -> None:
        """All goes on in another heap."""
        self.log.append("dump")
        ids: list[int | None] = [*self._some()]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "world.sharedoa"
            self.heap.dump(file, kept=self._array_of(ids), scene=self.scene, **self.arrays)
            self.heap = self._open()
            loaded = self.heap.load(file)
        self.arrays = {name: loaded[name] for name in self.arrays}
        self.scene = loaded["scene"]
        self.views, self.steps, self.proxies, self.gone = {}, [], {}, {}
        self.tags, self.fields = None, []
        self.held = {"kept": (loaded["kept"], ids)}
        self.new_grid()
        self.learn()

    def _some(self) -> list[int]:
        known = list(self.p.beings)
        return self.random.sample(known, self.random.randint(0, len(known)))

    def _array_of(self, ids: list[int | None]) -> Any:
        found = [None if n is None else self.proxies[n] for n in ids]
        return self.heap.array(self.m.Being, found)

    # ---------------------------------------------------------------- memory

    def set_fields(self) -> None:
        """Of populations, arrays, pieces and single objects."""
        what, name = self.random.choice(_SETS), self.random.choice(list(BELOW))
        self.log.append(f"set {what}")
        population = self.heap.all(self.cls(name))
        ids = population.id.numpy().tolist()
        assert {*ids} == {n for n, b in self.p.beings.items() if b.kind in BELOW[name]}
        if ids:
            getattr(self, f"_set_{what}")(population, [self.p.beings[n] for n in ids])

    def _set_all(self, population: Any, plains: list[Plain]) -> None:
        k = self.random.randint(-5, 5)
        population.energy += k
        for b in plains:
            b.energy = b.energy + I32(k)

    def _set_array(self, population: Any, plains: list[Plain]) -> None:
        some = self._some()
        values = np.array([self.random.choice(I32S) for _ in some], np.int32)
        self._array_of([*some]).energy = values
        for n, value in zip(some, values, strict=True):
            self.p.beings[n].energy = value

    def _set_some(self, population: Any, plains: list[Plain]) -> None:
        where = [self.random.randrange(len(plains)) for _ in range(3)]
        population.small[where] = 77
        population.energy[::2] = 5
        for place in where:
            plains[place].small = U8(77)
        for b in plains[::2]:
            b.energy = I32(5)

    def _set_friends(self, population: Any, plains: list[Plain]) -> None:
        friends = [self.random.choice([None, *self.p.beings]) for _ in plains]
        population.friend = self._array_of(friends)
        for b, friend in zip(plains, friends, strict=True):
            b.friend = self.find(friend)

    def _set_itself(self, population: Any, plains: list[Plain]) -> None:
        population.friend = population
        for b in plains:
            b.friend = b

    def _set_links(self, population: Any, plains: list[Plain]) -> None:
        b = self.random.choice(plains)
        for place in range(2):
            n = self.random.choice([None, *self.p.beings])
            self.proxies[b.id].links[place] = None if n is None else self.proxies[n]
            b.links[place] = self.find(n)

    def _set_positions(self, population: Any, plains: list[Plain]) -> None:
        r = self.random
        values = np.array([[r.uniform(-9, 9), r.uniform(-1, 8)] for _ in plains], np.float32)
        population.pos = values
        for b, value in zip(plains, values, strict=True):
            b.pos = (value[0], value[1])

    def _set_component(self, population: Any, plains: list[Plain]) -> None:
        population.pos["x"] = 1.25
        for b in plains:
            b.pos = (F32(1.25), b.pos[1])

    def _set_tag(self, population: Any, plains: list[Plain]) -> None:
        b, n = self.random.choice(plains), self.random.choice([None, *self.p.beings])
        a, weight, bytes = I16(self.random.randint(-9, 9)), F32(0.25), (U8(1), U8(255), U8(7))
        who = None if n is None else self.proxies[n]
        self.proxies[b.id].tag = self.m.Tag(a, weight, who, bytes)
        b.tag = (a, weight, self.find(n), bytes)

    def _set_proxy(self, population: Any, plains: list[Plain]) -> None:
        b = self.random.choice(plains)
        self.proxies[b.id].energy -= 3
        self.proxies[b.id].small = 200
        b.energy, b.small = b.energy - I32(3), U8(200)

    def _set_floats(self, population: Any, plains: list[Plain]) -> None:
        values = np.array([self.random.choice(_FLOATS) for _ in plains])
        population.x, population.y = values, values.astype(np.float32)
        for b, value in zip(plains, values, strict=True):
            b.x, b.y = float(value), F32(value)

    def _set_marks(self, population: Any, plains: list[Plain]) -> None:
        values = np.array([[self.random.choice(I32S) for _ in range(3)] for _ in plains], np.int32)
        population.marks = values
        for b, value in zip(plains, values, strict=True):
            b.marks = [*value]

    def _set_logs(self, population: Any, plains: list[Plain]) -> None:
        """Pieces of one array."""
        lengths = [self.random.randint(0, 3) for _ in plains]
        pool = np.arange(sum(lengths), dtype=np.int32) - 2
        words = self.heap.array(i32, pool)
        population.log = oa.split(words, lengths)
        self.plain["pool"], self.arrays["pool"] = pool, words
        for b, log in zip(plains, np.split(pool, np.cumsum(lengths)[:-1]), strict=True):
            b.log = log

    def set_arrays(self) -> None:
        """Elements and slices, also through views that were made before."""
        r = self.random
        name, value = r.choice(["a", "b", "out", "words", "picture"]), r.choice(I32S)
        self.log.append(f"set array {name}")
        here, there = self.arrays[name], self.plain[name]
        if name == "picture":
            row = r.randrange(3)
            here[row] = there[row] = value
            return
        if r.random() < 0.5 and name in self.views:
            self.views[name][1] = there[1] = value
        else:
            piece = r.choice([slice(0, 4), slice(1, 9, 2), slice(None, None, -1)])
            here[piece] = there[piece] = value
        if r.random() < 0.5:
            self.views[name] = here.numpy()

    def rebind(self) -> None:
        """What the program's methods refer to, and what these are."""
        r, p = self.random, self.p
        what = r.choice(["rate", "table", "in place", "method", "class", "scene"])
        self.log.append(f"rebind {what}")
        if what == "rate":
            p.rate = self.m.RATE = r.randint(-9, 9)
        elif what == "table":
            p.table = [r.choice(I32S) for _ in range(4)]
            self.m.TABLE = np.array(p.table, np.int32)
        elif what == "in place":
            p.table[2] = self.m.TABLE[2] = r.choice(I32S)
        elif what == "method" and r.random() < 0.5:
            p.grows, self.m.Plant.grow = 1, self.m.other_grow
        elif what == "method":
            p.worths, self.m.Animal.worth = 5, self.m.other_worth
        elif what == "class" and self.late is None:
            self.late = self.m.make_late()
        elif what == "scene":
            self.new_scene()
        for other in self.others:
            other.late = self.late
            other.p.follow(p)
