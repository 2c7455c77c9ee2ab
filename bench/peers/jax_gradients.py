"""The three programs of ``bench.gradients`` in JAX, as somebody who knows it writes them: arrays of
structures become structures of arrays, classes become masks, loops over steps ``lax.scan``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
#: What takes the steps, and what also gives the derivatives by some of the inputs.
Peer = tuple[Callable[[], Any], Callable[[], Any]]


def _compiled(loss: Callable[..., Any], given: Any, by: Any) -> Peer:
    """``loss`` of what derivatives are taken by, and of what else there is."""
    by, given = jax.device_put(by), jax.device_put(given)
    primal, gradient = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
    return (
        lambda: jax.block_until_ready(primal(by, given)),
        lambda: jax.block_until_ready(gradient(by, given)),
    )


def springs(module: Any, size: int, steps: int) -> Peer:
    """By where nodes begin."""
    places, links, rope = module.crane(size // 5)
    rest = np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1)
    dt, gravity, drag = module.DT, np.array([0.0, module.GRAVITY]), module.DRAG
    goal = np.array(module.GOAL)

    def loss(places: Any, given: Any) -> Any:
        stiffness, start, end, rest, rope = given

        def step(state: Any, _: Any) -> Any:
            pos, vel = state
            way = pos[end] - pos[start]
            length = jnp.sqrt((way * way).sum(axis=1))
            stretch = length - rest
            pulled = jnp.where(rope, jnp.maximum(stretch, 0.0) ** 2, stretch)
            each = way * (stiffness * pulled / length)[:, None]
            force = jnp.zeros_like(pos).at[start].add(each).at[end].add(-each)
            vel = vel.at[2:].add(dt * (force[2:] - gravity - drag * vel[2:]))
            return (pos + dt * vel, vel), None

        (pos, _), _ = lax.scan(step, (places, jnp.zeros_like(places)), length=steps)
        return ((pos[-1] - goal) ** 2).sum()

    given = np.where(rope, 1.0, 10.0), links[:, 0], links[:, 1], rest, rope
    return _compiled(loss, given, places)


def page_rank(
    size: int, steps: int, degree: np.ndarray[Any, Any], target: np.ndarray[Any, Any]
) -> Peer:
    """By weights."""
    source = np.repeat(np.arange(size), degree)
    strength = 1 / np.repeat(degree, degree)
    advert = np.arange(size) >= size - size // 10

    def loss(weight: Any, given: Any) -> Any:
        source, target, strength, advert = given
        share = strength * jnp.where(advert, 0.5, 1.0)[source]
        own = jnp.where(advert, 1.0, 1.0 - 0.85) * weight

        def step(rank: Any, _: Any) -> Any:
            gathered = jnp.zeros_like(rank).at[target].add(rank[source] * share)
            return own + 0.85 * gathered, None

        rank, _ = lax.scan(step, jnp.zeros_like(weight), length=steps)
        return rank[size // 3]

    return _compiled(loss, (source, target, strength, advert), np.full(size, 1 / size))


def inverse_ray_tracer(module: Any, size: int, steps: int) -> Peer:
    """By centers. Each step is a call, as the same picture would be made once for all."""
    y, x = np.indices((size, size)).reshape(2, -1)
    way = np.stack([(2 * x + 1) / size - 1, 1 - (2 * y + 1) / size, np.full(size**2, 2.0)], 1)
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    sun, count = np.array([*module.SUN]), len(module.BALLS)

    def loss(center: Any, given: Any) -> Any:
        way, radius, colors = given
        b = way @ center.T
        inside = b * b - (center * center).sum(axis=1) + radius * radius
        hits = (b > 0) & (inside > 0)
        far = jnp.where(hits, b - jnp.sqrt(jnp.where(hits, inside, 1.0)), jnp.inf)
        which, met = far.argmin(axis=1), hits.any(axis=1)
        distance = jnp.where(met, jnp.take_along_axis(far, which[:, None], axis=1)[:, 0], 0.0)
        normal = (way * distance[:, None] - center[which]) / radius[which][:, None]
        chalk, silk = 0.4 + 0.6 * normal @ sun, (0.5 + 0.5 * normal @ sun) ** 2
        light = jnp.where(which == count - 1, silk, chalk)
        color = jnp.where(met[:, None], colors[which] * light[:, None], 0.1)
        return (color * color).sum() / size**2

    given = way, module.BALLS[:, 3], module.COLORS
    calls = _compiled(loss, given, module.BALLS[:, :3])
    primal, gradient = (partial(_repeated, call, steps) for call in calls)
    return primal, gradient


def _repeated(call: Callable[[], Any], times: int) -> Any:
    """What comes of all of them together."""
    total = call()
    for _ in range(times - 1):
        total = jax.tree.map(jnp.add, total, call())
    return total
