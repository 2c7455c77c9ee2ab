"""Plays histories, and compares after each turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa.runtime import knobs

from ...source_files import load_module
from ..small_steps import small_steps
from . import reductions
from .launches import BELOW, MOST, Launch
from .source import TEXT
from .turns import Turns

_TURNS = {
    "create": 5, "delete": 2, "move": 2, "set_fields": 5, "set_arrays": 2, "rebind": 1,
    "launches": 9, "hold": 2, "runs": 4, "reduce": 4, "gradients": 1, "dump": 1,
}  # fmt: skip
_OWN = {"Plant": ["height"], "Animal": ["speed", "hunger"]}
Order = tuple[int, dict[str, list[int]]]


class Player(Turns):
    """``trace`` says how populations lay when they were looked at."""

    def __init__(
        self, module: Any, heap: oa.Heap, random: Random, open_: Callable[[], oa.Heap]
    ) -> None:
        super().__init__(module, heap, random, open_)
        self.trace: list[Order] = []

    # ---------------------------------------------------------------- launches

    def launches(self) -> None:
        """One by one, with their results; as a block of oa.fuse(); or captured, and run."""
        found, how = self.sequence(), self.random.choice(["one by one", "fuse", "capture"])
        self.log.append(f"{how}: {[each.name for each in found]}")
        if how == "one by one":
            for each in found:
                self._launch(each)
        elif how == "fuse":
            with oa.fuse():
                for each in found:
                    (each.here if self.random.random() < 0.3 else each.quietly)()
            for each in found:
                each.there()
        elif found:
            with oa.Capture(self.heap) as step:
                for each in found:
                    each.quietly()
            self.steps.append((step, found))
            self._run(step, found)
        self.learn()

    def _launch(self, each: Launch) -> None:
        before = self.heap.all(self.m.Being).id.numpy().tolist()
        got, wanted = each.here(), each.there()
        if wanted and hasattr(got, "numpy"):
            order = [n for n in before if n in wanted]
            assert dict(zip(order, got.numpy().tolist(), strict=True)) == wanted, each.name

    def runs(self) -> None:
        """A step that was captured before."""
        if self.steps:
            self._run(*self.random.choice(self.steps))
            self.learn()

    def _run(self, step: Any, found: list[Launch]) -> None:
        breeds, meets = (any(map(what, found)) for what in (_breeds, _meets))
        if breeds and len(self.p.beings) > MOST:
            return
        times = self.random.choice([0, 1, 1, 2] if breeds or meets else [0, 1, 3, 5])
        if meets and (breeds or any(each.ends for each in found)):
            times = min(times, 1)  # each run meets in an order of its own
        self.log.append(f"run {times} of {[each.name for each in found]}")
        step.run(times)
        for each in found * times:
            each.there()

    # ---------------------------------------------------------------- results

    def reduce(self) -> None:
        """Of a field of a population, of an array of objects, or of an array."""
        name, field = self.random.choice(list(BELOW)), self.random.choice([*reductions.FIELDS])
        what = self.random.choice(reductions.NAMES)
        self.log.append(f"{what} of {name}.{field}")
        objects: Any = self.heap.all(self.cls(name))
        ids = objects.id.numpy().tolist()
        if self.random.random() < 0.5:
            ids = self._some()
            objects = self._array_of([*ids])
        view, element = getattr(objects, field), reductions.FIELDS[field]
        values = [getattr(self.p.beings[n], field) for n in ids]
        source = oa.array(element, view) if self.random.random() < 0.5 else view
        reductions.compare(what, source, np.array(values, view.dtype), element, self.m.larger)

    def gradients(self) -> None:
        """Of x after some steps, and what happens before the way back makes no difference."""
        r, p = self.random, self.p
        everyone = self.heap.all(self.m.Being)
        ids = everyone.id.numpy().tolist()
        if not ids or not self._can_move:
            return
        states, turns = r.choice([None, 1, 3]), r.choice([1, 3])
        self.log.append(f"tape {states} {turns}")
        plains = [p.beings[n] for n in ids]
        x = np.array([r.choice([0.5, -1.25, 2.0, 0.1]) for _ in ids])
        everyone.x = x
        for b, value in zip(plains, x, strict=True):
            b.x = float(value)
        place = {n: i for i, n in enumerate(ids)}
        friends = [i if b.friend is None else place[b.friend.id] for i, b in enumerate(plains)]
        is_plant, weights = np.array([b.kind == "Plant" for b in plains]), np.linspace(1, 2, len(x))
        factors = []
        with oa.tape() if states is None else oa.tape(checkpoints=states) as tape:
            for _ in range(turns):
                everyone.lean(0.5)
                everyone.flow(0.25)
                x = np.array([b.x for b in plains])
                p.each("lean", 0.5)
                factors.append((x, np.array([b.pull for b in plains])))
                p.each("flow", 0.25)
            loss = (everyone.x * weights).sum()
        after = np.array([b.x for b in plains])
        assert np.isclose(float(loss), (after * weights).sum(), rtol=1e-12)
        if r.random() < 0.5:
            everyone.flow(0.5)
            p.each("flow", 0.5)
        adjoints = weights
        for x, pull in reversed(factors):
            of_pull = np.where(is_plant, adjoints * 0.25, adjoints * 0.25 * x)
            adjoints = np.where(is_plant, adjoints * 0.75, adjoints * (1 + pull * 0.25))
            np.add.at(adjoints, friends, 0.5 * of_pull)
        tape.backward(loss)
        assert np.allclose(everyone.grad.x.numpy(), adjoints, rtol=1e-9)
        tape.zero()

    # ---------------------------------------------------------------- comparison

    def check(self) -> None:
        self.learn()
        everyone = self.heap.all(self.m.Being)
        ids = everyone.id.numpy().tolist()
        assert sorted(ids) == sorted(self.p.beings)
        plains = [self.p.beings[n] for n in ids]
        for field in ("energy", "small", "x", "pull", "y", "pos", "met", "marks"):
            found = getattr(everyone, field).numpy()
            wanted = np.array([getattr(b, field) for b in plains], found.dtype)
            assert reductions.same(found, wanted.reshape(found.shape)), (field, ids, found, wanted)
        for b in plains:
            self._check_one(b)
        for name, values in self.plain.items():
            assert reductions.same(self.arrays[name].numpy(), values), name
        for name, view in self.views.items():
            assert reductions.same(view, self.plain[name]), f"a view of {name}"
        for array, numbers in self.held.values():
            assert [_name(each) for each in array] == [n or 0 for n in numbers]
        for name, kinds in BELOW.items():
            assert len(self.heap.all(self.cls(name))) == sum(b.kind in kinds for b in plains)
        assert not any(oa.is_alive(obj) for obj in self.gone.values())
        self._check_kept()
        self.trace.append((len(self.log), self.order()))

    def _check_one(self, b: Any) -> None:
        obj = self.proxies[b.id]
        assert type(obj).__name__ == b.kind
        found = [_name(obj.friend), *map(_name, obj.links), _name(obj.tag.who)]
        assert found == [_name(b.friend), *map(_name, b.links), _name(b.tag[2])], b.id
        assert (int(obj.tag.a), [*obj.tag.w], [*obj.log]) == (b.tag[0], [*b.tag[3]], [*b.log])
        assert reductions.same(obj.tag.b, b.tag[1])
        for field in _OWN.get(b.kind, ["speed", "hunger", "seen"]):
            assert reductions.same(getattr(obj, field), getattr(b, field)), (b.id, field)

    def _check_kept(self) -> None:
        """Values that refer to objects, and views of fields, of those that are left."""
        is_there = lambda number: number in self.p.beings
        tags, known = self.tags or ((), ())
        for place, k in enumerate(known):
            if k is not None and is_there(k[1].id):
                tag = tags[place]
                assert (int(tag.a), int(tag.who.id), int(tag.w[2])) == (k[0], k[1].id, k[2])
        for view, field, numbers in self.fields:
            if not all(map(is_there, numbers)):
                continue
            try:
                found = view.numpy()
            except oa.HeapError as error:
                assert self.has_moved and "before objects moved" in error.message
                continue
            wanted = np.array([getattr(self.p.beings[n], field) for n in numbers], found.dtype)
            assert reductions.same(found, wanted.reshape(found.shape)), f"a view of {field}"


def _name(each: Any) -> int:
    return 0 if each is None else int(each.id)


def _breeds(each: Launch) -> bool:
    return each.breeds


def _meets(each: Launch) -> bool:
    return each.meets


def play(folder: Path, seed: int, open_: Callable[[int], oa.Heap], turns: int) -> list[list[Order]]:
    """Play a history on one heap or two with the same classes. ``open_`` gives the first, the
    second, and so on, in which dumps go on. What shows that something is wrong has the last turns
    in its notes; the result is how populations lay."""
    module, random, numbers = load_module(folder, TEXT), Random(seed), itertools.count()
    next_heap = lambda: open_(next(numbers))
    players = [
        Player(module, next_heap(), random, next_heap) for _ in range(random.choice([1, 1, 2]))
    ]
    names, weights = [*_TURNS], [*_TURNS.values()]
    player = players[0]
    try:
        for player in players:
            player.others = [each for each in players if each is not player]
        fuses = knobs.scope(fuse=random.choice(["1", "always", "always"]))
        with np.errstate(all="ignore"), fuses, small_steps(seed):
            for turn in ["create"] * 4 + random.choices(names, weights, k=turns):
                player = random.choice(players)
                with player.heap:
                    getattr(player, turn)()
                if random.random() < 0.6:
                    with player.heap:
                        player.check()
            for player in players:
                with player.heap:
                    player.check()
    except Exception as error:
        error.add_note("; ".join(player.log[-12:]))
        raise
    return [player.trace for player in players]
