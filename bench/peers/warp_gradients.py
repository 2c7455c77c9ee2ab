"""The three programs of ``bench.gradients`` in Warp, as somebody who knows it writes them: a kernel
for each launch, classes are masks, and an array for each step, as Warp's tape goes back to what it
finds."""

# Kernels are compiled by Warp from their source, whose types are Warp's.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

wp.config.quiet = True
wp.init()

f64 = wp.float64
Peer = tuple[Callable[[], Any], Callable[[], Any]]
DEVICES = {"cpu": "cpu", "cuda": "cuda:0"}


@wp.kernel(module="unique")
def pull(
    pos: wp.array(dtype=wp.vec2d),
    start: wp.array(dtype=wp.int32),
    end: wp.array(dtype=wp.int32),
    stiffness: wp.array(dtype=wp.float64),
    rest: wp.array(dtype=wp.float64),
    rope: wp.array(dtype=wp.int32),
    force: wp.array(dtype=wp.vec2d),
):
    i = wp.tid()
    way = pos[end[i]] - pos[start[i]]
    length = wp.length(way)
    stretch = length - rest[i]
    tense = wp.max(stretch, wp.float64(0.0))
    pulled = wp.where(rope[i] == 1, tense * tense, stretch)
    each = way * (stiffness[i] * pulled / length)
    wp.atomic_add(force, start[i], each)
    wp.atomic_sub(force, end[i], each)


@wp.kernel(module="unique")
def move(
    pos: wp.array(dtype=wp.vec2d),
    vel: wp.array(dtype=wp.vec2d),
    force: wp.array(dtype=wp.vec2d),
    dt: wp.float64,
    gravity: wp.vec2d,
    drag: wp.float64,
    next_pos: wp.array(dtype=wp.vec2d),
    next_vel: wp.array(dtype=wp.vec2d),
):
    i = wp.tid()
    faster = vel[i] + (force[i] - gravity - vel[i] * drag) * dt
    # Two anchors come first.
    next_vel[i] = wp.where(i < 2, vel[i], faster)
    next_pos[i] = wp.where(i < 2, pos[i], pos[i] + faster * dt)


@wp.kernel(module="unique")
def miss(pos: wp.array(dtype=wp.vec2d), goal: wp.vec2d, loss: wp.array(dtype=wp.float64)):
    way = pos[pos.shape[0] - 1] - goal
    loss[0] = wp.dot(way, way)


def springs(module: Any, size: int, steps: int, device: str) -> Peer:
    """By where nodes begin."""
    places, links, rope = module.crane(size // 5)
    rest = np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1)
    with wp.ScopedDevice(device):
        start, end = (wp.array(links[:, k], dtype=wp.int32) for k in (0, 1))
        stiffness = wp.array(np.where(rope, 1.0, 10.0), dtype=f64, requires_grad=True)
        rests = wp.array(rest, dtype=f64, requires_grad=True)
        mask = wp.array(rope.astype(np.int32), dtype=wp.int32)
        pos, vel, force = (
            [wp.zeros(len(places), dtype=wp.vec2d, requires_grad=True) for _ in range(steps + 1)]
            for _ in range(3)
        )
        pos[0].assign(places)
        loss = wp.zeros(1, dtype=f64, requires_grad=True)
    gravity, goal = wp.vec2d(0.0, module.GRAVITY), wp.vec2d(*module.GOAL)

    def primal() -> None:
        with wp.ScopedDevice(device):
            for k in range(steps):
                given = [pos[k], start, end, stiffness, rests, mask]
                wp.launch(pull, len(links), given, [force[k]])
                given = [pos[k], vel[k], force[k], f64(module.DT), gravity, f64(module.DRAG)]
                wp.launch(move, len(places), given, [pos[k + 1], vel[k + 1]])
            wp.launch(miss, 1, [pos[steps], goal], [loss])

    def clear() -> None:
        for each in force:
            each.zero_()

    return _peer(primal, clear, loss, pos[0], device)


@wp.kernel(module="unique")
def spread(
    rank: wp.array(dtype=wp.float64),
    source: wp.array(dtype=wp.int32),
    target: wp.array(dtype=wp.int32),
    share: wp.array(dtype=wp.float64),
    gathered: wp.array(dtype=wp.float64),
):
    k = wp.tid()
    wp.atomic_add(gathered, target[k], rank[source[k]] * share[k])


@wp.kernel(module="unique")
def gather(
    own: wp.array(dtype=wp.float64),
    weight: wp.array(dtype=wp.float64),
    damping: wp.array(dtype=wp.float64),
    gathered: wp.array(dtype=wp.float64),
    rank: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    rank[i] = own[i] * weight[i] + damping[i] * gathered[i]


@wp.kernel(module="unique")
def look_at(rank: wp.array(dtype=wp.float64), number: int, loss: wp.array(dtype=wp.float64)):
    loss[0] = rank[number]


def page_rank(
    size: int,
    steps: int,
    degree: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    device: str,
) -> Peer:
    """By weights."""
    pages = np.repeat(np.arange(size), degree)
    is_advert = np.arange(size) >= size - size // 10
    shares = np.where(is_advert, 0.5, 1.0)[pages] / np.repeat(degree, degree)
    with wp.ScopedDevice(device):
        source, targets = (wp.array(each, dtype=wp.int32) for each in (pages, target))
        share = wp.array(shares, dtype=f64, requires_grad=True)
        own = wp.array(np.where(is_advert, 1.0, 1.0 - 0.85), dtype=f64)
        weight = wp.array(np.full(size, 1 / size), dtype=f64, requires_grad=True)
        damping = wp.array(np.full(size, 0.85), dtype=f64, requires_grad=True)
        rank, gathered = (
            [wp.zeros(size, dtype=f64, requires_grad=True) for _ in range(steps + 1)]
            for _ in range(2)
        )
        loss = wp.zeros(1, dtype=f64, requires_grad=True)

    def primal() -> None:
        with wp.ScopedDevice(device):
            for k in range(steps):
                wp.launch(spread, len(pages), [rank[k], source, targets, share], [gathered[k]])
                wp.launch(gather, size, [own, weight, damping, gathered[k]], [rank[k + 1]])
            wp.launch(look_at, 1, [rank[steps], size // 3], [loss])

    def clear() -> None:
        for each in gathered:
            each.zero_()

    return _peer(primal, clear, loss, weight, device)


@wp.kernel(module="unique")
def render(
    center: wp.array(dtype=wp.vec3d),
    radius: wp.array(dtype=wp.float64),
    color: wp.array(dtype=wp.vec3d),
    sun: wp.vec3d,
    size: int,
    image: wp.array(dtype=wp.vec3d),
):
    y, x = wp.tid()
    one = wp.float64(1.0)
    across = wp.float64(2 * x + 1) / wp.float64(size) - one
    up = one - wp.float64(2 * y + 1) / wp.float64(size)
    way = wp.normalize(wp.vec3d(across, up, wp.float64(2.0)))
    far = wp.float64(1.0e9)
    distance = far
    nearest = -1
    for k in range(3):
        b = wp.dot(center[k], way)
        c = wp.dot(center[k], center[k]) - radius[k] * radius[k]
        is_hit = b > wp.float64(0.0) and b * b > c
        met = wp.where(is_hit, b - wp.sqrt(wp.where(is_hit, b * b - c, one)), far)
        nearest = wp.where(met < distance, k, nearest)
        distance = wp.where(met < distance, met, distance)
    if nearest < 0:
        image[y * size + x] = wp.vec3d(wp.float64(0.1), wp.float64(0.1), wp.float64(0.1))
    else:
        normal = (way * distance - center[nearest]) / radius[nearest]
        facing = wp.dot(normal, sun)
        chalk = wp.float64(0.4) + wp.float64(0.6) * facing
        silk = wp.float64(0.5) + wp.float64(0.5) * facing
        image[y * size + x] = color[nearest] * wp.where(nearest == 2, silk * silk, chalk)


@wp.kernel(module="unique")
def compare(
    image: wp.array(dtype=wp.vec3d),
    wanted: wp.array(dtype=wp.vec3d),
    loss: wp.array(dtype=wp.float64),
):
    i = wp.tid()
    off = image[i] - wanted[i]
    wp.atomic_add(loss, 0, wp.dot(off, off) / wp.float64(image.shape[0]))


def inverse_ray_tracer(module: Any, size: int, steps: int, device: str) -> Peer:
    """By centers."""
    with wp.ScopedDevice(device):
        center = wp.array(module.BALLS[:, :3], dtype=wp.vec3d, requires_grad=True)
        radius = wp.array(module.BALLS[:, 3], dtype=f64, requires_grad=True)
        color = wp.array(module.COLORS, dtype=wp.vec3d, requires_grad=True)
        images = [wp.zeros(size**2, dtype=wp.vec3d, requires_grad=True) for _ in range(steps)]
        wanted = wp.zeros(size**2, dtype=wp.vec3d)
        loss = wp.zeros(1, dtype=f64, requires_grad=True)
    sun = wp.vec3d(*module.SUN)

    def primal() -> None:
        with wp.ScopedDevice(device):
            for image in images:
                wp.launch(render, (size, size), [center, radius, color, sun, size], [image])
                wp.launch(compare, size**2, [image, wanted], [loss])

    return _peer(primal, loss.zero_, loss, center, device)


def _peer(
    launch: Callable[[], None], clear: Callable[[], Any], loss: Any, by: Any, device: str
) -> Peer:
    tape = wp.Tape()

    def primal() -> None:
        clear()
        launch()
        wp.synchronize_device(device)

    def gradient() -> Any:
        clear()
        tape.reset()  # adjoints are zero, and launches forgotten
        with tape:
            launch()
        tape.backward(loss)
        wp.synchronize_device(device)
        return loss.numpy()[0], _Shown(by.grad)

    return primal, gradient


class _Shown:
    """Copied for who looks at it alone."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __array__(self, *given: Any, **more: Any) -> Any:
        return self._found.numpy()
