"""The three programs of ``bench.gradients`` in Dr.Jit, as somebody who knows it writes them: arrays
of structures become structures of arrays, classes become masks, a step is evaluated before the next
one, as nothing goes back through a loop that gathers what it scatters."""

# Types follow from the variant that is chosen when it runs.
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import drjit as dr
import numpy as np

Peer = tuple[Callable[[], Any], Callable[[], Any]]
DEVICES = {"cpu": "llvm", "cuda": "cuda"}


def _library(device: str) -> Any:
    found = importlib.import_module(f"drjit.{device}.ad")
    dr.eval(found.Float64(0.0) + 1.0)  # or there is no LLVM
    return found


def springs(module: Any, size: int, steps: int, device: str) -> Peer:
    """By where nodes begin."""
    library = _library(device)
    real, index, pair = library.Float64, library.UInt32, library.Array2f64
    places, links, rope = module.crane(size // 5)
    rest = real(np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1))
    start, end = (index(links[:, k].astype(np.uint32)) for k in (0, 1))
    is_rope, stiffness = library.Bool(rope), real(np.where(rope, 1.0, 10.0))
    count, goal = len(places), pair(*map(float, module.GOAL))
    moves = dr.arange(index, count) >= 2
    drag, dt = module.DRAG, module.DT
    first = pair(real(places[:, 0]), real(places[:, 1]))
    dr.eval(rest, start, end, is_rope, stiffness, moves, first)

    def loss_of(pos: Any) -> Any:
        vel = dr.zeros(pair, count)
        for _ in range(steps):
            way = dr.gather(pair, pos, end) - dr.gather(pair, pos, start)
            length = dr.sqrt(dr.dot(way, way))
            stretch = length - rest
            tense = dr.select(stretch > 0, stretch, 0)
            each = way * (stiffness * dr.select(is_rope, tense * tense, stretch) / length)
            force = dr.zeros(pair, count)
            dr.scatter_add(force, each, start)
            dr.scatter_add(force, -each, end)
            faster = vel + dt * (force - pair(0, module.GRAVITY) - drag * vel)
            vel = dr.select(moves, faster, vel)
            pos = pos + dt * vel
            dr.eval(pos, vel)
        off = dr.gather(pair, pos, index(count - 1)) - goal
        return dr.dot(off, off)

    return _peer(pair, first, loss_of, lambda found: np.array(found).T)


def page_rank(
    size: int,
    steps: int,
    degree: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    device: str,
) -> Peer:
    """By weights."""
    library = _library(device)
    real, index = library.Float64, library.UInt32
    pages = np.repeat(np.arange(size), degree)
    is_advert = np.arange(size) >= size - size // 10
    share = real(np.where(is_advert, 0.5, 1.0)[pages] / np.repeat(degree, degree))
    source, targets = (index(each.astype(np.uint32)) for each in (pages, target))
    own = real(np.where(is_advert, 1.0, 1.0 - 0.85))
    dr.eval(share, source, targets, own)

    def loss_of(weight: Any) -> Any:
        rank = dr.zeros(real, size)
        for _ in range(steps):
            gathered = dr.zeros(real, size)
            dr.scatter_add(gathered, dr.gather(real, rank, source) * share, targets)
            rank = own * weight + 0.85 * gathered
            dr.eval(rank)
        return dr.gather(real, rank, index(size // 3))

    return _peer(real, real(np.full(size, 1 / size)), loss_of, np.array)


def inverse_ray_tracer(module: Any, size: int, steps: int, device: str) -> Peer:
    """By centers. Each step is evaluated, as the same picture would be made once for all."""
    library = _library(device)
    real, index, triple = library.Float64, library.UInt32, library.Array3f64
    pixel = dr.arange(index, size**2)
    x, y = real(pixel % size), real(pixel // size)
    way = dr.normalize(triple((2 * x + 1) / size - 1, 1 - (2 * y + 1) / size, 2.0))
    sun = triple(*map(float, module.SUN))
    count = len(module.BALLS)
    radius = [float(each) for each in module.BALLS[:, 3]]
    colors = [triple(*map(float, each)) for each in module.COLORS]
    first = triple(*(real(module.BALLS[:, k]) for k in range(3)))
    dr.eval(way, first)

    def picture(centers: Any) -> Any:
        distance, at = dr.full(real, 1e9, size**2), dr.zeros(triple, size**2)
        wide, color, is_silk = dr.ones(real, size**2), triple(0.1), library.Bool(False)
        for k in range(count):
            center = dr.gather(triple, centers, index(k))
            b = dr.dot(center, way)
            inside = b * b - dr.dot(center, center) + radius[k] ** 2
            is_hit = (b > 0) & (inside > 0)
            met = dr.select(is_hit, b - dr.sqrt(dr.select(is_hit, inside, 1)), 1e9)
            nearer = met < distance
            distance = dr.select(nearer, met, distance)
            at, wide = dr.select(nearer, center, at), dr.select(nearer, radius[k], wide)
            color = dr.select(nearer, colors[k], color)
            is_silk = dr.select(nearer, library.Bool(k == count - 1), is_silk)
        facing = dr.dot((way * distance - at) / wide, sun)
        light = dr.select(is_silk, (0.5 + 0.5 * facing) ** 2, 0.4 + 0.6 * facing)
        return dr.select(distance < 1e9, color * light, triple(0.1))

    def loss_of(centers: Any) -> Any:
        total = real(0.0)
        for _ in range(steps):
            image = picture(centers)
            dr.eval(image)
            total = total + dr.sum(dr.dot(image, image)) / size**2
        return total

    return _peer(triple, first, loss_of, lambda found: np.array(found).T)


def _peer(
    kind: Any, first: Any, loss_of: Callable[[Any], Any], shown: Callable[[Any], Any]
) -> Peer:
    def primal() -> None:
        dr.eval(loss_of(first))
        dr.sync_thread()

    def gradient() -> Any:
        by = kind(first)
        dr.enable_grad(by)
        loss = loss_of(by)
        dr.backward(loss)
        found = dr.grad(by)
        dr.eval(loss, found)
        dr.sync_thread()
        return np.array(dr.detach(loss))[0], _Shown(found, shown)

    return primal, gradient


class _Shown:
    """Converted for who looks at it alone."""

    def __init__(self, found: Any, shown: Callable[[Any], Any]) -> None:
        self._found, self._shown = found, shown

    def __array__(self, *given: Any, **more: Any) -> Any:
        return np.asarray(self._shown(self._found))
