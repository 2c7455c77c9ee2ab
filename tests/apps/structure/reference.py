"""The structure on NumPy arrays and SciPy graphs, written from the rules alone.

It shares nothing with the programs but the Structure that they start from. Everything is float32
and every sum has its order, so that positions can be compared bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from apps.structure.structure import Structure

Array = np.ndarray[Any, Any]

ANCHOR, PULLED, FREE = 2, 3, 4
F = np.float32
DT = F(0.2)


class Reference:
    def __init__(
        self, structure: Structure, *, repair: bool = False, roots: tuple[int, ...] = (ANCHOR,)
    ) -> None:
        self.repair, self.roots = repair, roots
        self.kind = structure.kind.copy()
        self.x, self.y = structure.x.copy(), structure.y.copy()
        self.vx, self.vy = structure.velocity_x.copy(), structure.velocity_y.copy()
        self.mass = structure.mass.copy()
        self.node_lives = np.ones(len(self.kind), bool)
        self.first, self.second = structure.first.copy(), structure.second.copy()
        self.factor, self.limit = structure.factor.copy(), structure.max_force.copy()
        self.force = np.zeros(len(self.first), F)
        self.spring_lives = np.ones(len(self.first), bool)
        #: Springs of a node are added up in the order of these.
        self.slots = np.full((len(self.kind), 5), -1)
        for spring, ends in enumerate(zip(self.first, self.second, strict=True)):
            for end in ends:
                self.slots[end, np.flatnonzero(self.slots[end] < 0)[0]] = spring
        self.length = self._distance(self.first, self.second)
        self.broken = self.cut_off = self.repaired = self.search_launches = 0

    def _distance(self, a: Any, b: Any) -> Array:
        dx, dy = self.x[a] - self.x[b], self.y[a] - self.y[b]
        return np.asarray(np.sqrt(dx * dx + dy * dy))

    def _remove(self, springs: Array) -> Array:
        """Take springs out; the slot that each had at its two ends."""
        places = []
        for ends in (self.first[springs], self.second[springs]):
            slot = (self.slots[ends] == springs[:, None]).argmax(axis=1)
            self.slots[ends, slot] = -1
            self.node_lives[ends[(self.slots[ends] < 0).all(axis=1)]] = False
            places.append(slot)
        self.spring_lives[springs] = False
        return np.stack(places, axis=1)

    def advance(self) -> None:
        pulled = (self.kind == PULLED) & self.node_lives
        self.x[pulled] += self.vx[pulled] * DT
        self.y[pulled] += self.vy[pulled] * DT
        broken, slots = [], []
        for _ in range(40):
            torn = self._stretch()
            if len(torn):
                broken.append(torn)
                slots.append(self._remove(torn))
            self._move()
        self._cut_off()
        if broken:
            springs, places = np.concatenate(broken), np.concatenate(slots)
            self.broken += len(springs)
            if self.repair:
                self._mend(springs, places)

    def _stretch(self) -> Array:
        live = np.flatnonzero(self.spring_lives)
        extension = self._distance(self.first[live], self.second[live]) - self.length[live]
        self.force[live] = self.factor[live] * np.maximum(extension, F(0))
        return live[self.force[live] > self.limit[live]]

    def _move(self) -> None:
        free = np.flatnonzero((self.kind == FREE) & self.node_lives)
        fx, fy = np.zeros(len(free), F), np.zeros(len(free), F)
        for slot in range(5):
            here = np.flatnonzero(self.slots[free, slot] >= 0)
            node = free[here]
            spring = self.slots[node, slot]
            other = self.first[spring] + self.second[spring] - node
            distance = self._distance(node, other)
            divisor = np.where(distance > 0, distance, F(1))
            fx[here] += (self.x[other] - self.x[node]) / divisor * self.force[spring]
            fy[here] += (self.y[other] - self.y[node]) / divisor * self.force[spring]
        self.vx[free] += fx * DT / self.mass[free]
        self.vy[free] += fy * DT / self.mass[free]
        self.x[free] += self.vx[free] * DT
        self.y[free] += self.vy[free] * DT

    def _graph(self) -> Any:
        live = self.spring_lives
        ends = self.first[live], self.second[live]
        return coo_matrix((np.ones(len(ends[0])), ends), (len(self.kind),) * 2).tocsr()

    def _cut_off(self) -> None:
        graph = self._graph()
        roots = np.flatnonzero(np.isin(self.kind, self.roots) & self.node_lives)
        if len(roots):
            away = dijkstra(graph, False, roots, unweighted=True, min_only=True)
            self.search_launches += int(away[np.isfinite(away)].max()) + 2
        else:
            self.search_launches += 1
        _, part = connected_components(graph, directed=False)
        lost = self.spring_lives & ~np.isin(part[self.first], part[roots])
        self.cut_off += int(lost.sum())
        self._remove(np.flatnonzero(lost))

    def _mend(self, springs: Array, places: Array) -> None:
        stands = self.node_lives[self.first[springs]] & self.node_lives[self.second[springs]]
        # In the order of springs, as the order of new nodes is that of the counts only.
        for spring, (s1, s2) in zip(springs[stands], places[stands], strict=True):
            middle, new = len(self.kind), len(self.first)
            a, b = self.first[spring], self.second[spring]
            for name, value in (
                ("kind", FREE), ("x", (self.x[a] + self.x[b]) * F(0.5)),
                ("y", (self.y[a] + self.y[b]) * F(0.5)), ("vx", F(0)), ("vy", F(0)),
                ("mass", F(500)), ("node_lives", True),
            ):  # fmt: skip
                self._append(name, value)
            self.slots = np.concatenate([self.slots, [[new, new + 1, -1, -1, -1]]])
            self.slots[a, s1], self.slots[b, s2] = new, new + 1
            for one, two in ((a, middle), (middle, b)):
                for name, value in (
                    ("first", one), ("second", two), ("factor", self.factor[spring] * F(2)),
                    ("limit", self.limit[spring]), ("force", F(0)), ("spring_lives", True),
                    ("length", self._distance(one, two)),
                ):  # fmt: skip
                    self._append(name, value)
            self.repaired += 1

    def _append(self, name: str, value: Any) -> None:
        known = getattr(self, name)
        setattr(self, name, np.append(known, np.asarray(value, known.dtype)))

    def counts(self) -> dict[str, int]:
        live = self.spring_lives
        products = self.x[self.first[live]] * self.y[self.second[live]] * self.force[live]
        return {
            "broken": self.broken,
            "cut_off": self.cut_off,
            "springs": int(live.sum()),
            "nodes": int(self.node_lives.sum()),
            "checksum_thousandths": round(float(np.sort(products).astype(np.float64).sum()) * 1000),
            "search_launches": self.search_launches,
        }
