"""Gradients of the programs of docs/examples are differences of NumPy's versions of them, for
random inputs: along a random direction of all inputs at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f64
from tests.modes import rotated

from ..docs.test_examples import program

INPUTS = 8
Numbers = list[np.ndarray[Any, Any]]


def springs(rng: np.random.Generator) -> tuple[Numbers, Callable[..., float], Callable[..., Any]]:
    module, steps = program("springs"), 12
    places, links, rope = module.crane(2)
    nodes = oa.concat(oa.new(module.Anchor, 2), oa.new(module.Node, 4))
    all_springs = oa.concat(oa.new(module.Spring, 6), oa.new(module.Rope, 4))
    all_springs.start, all_springs.end = nodes[links[:, 0]], nodes[links[:, 1]]
    lengths = np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1)
    loss, goal = oa.zeros(1, f64), oa.vec2d(*module.GOAL)

    def by_numpy(places: Any, stiffness: Any, rest: Any) -> float:
        tip = module.expected(links, rope, places, steps, stiffness, rest)[-1]
        return float(((tip - module.GOAL) ** 2).sum())

    def by_tape(places: Any, stiffness: Any, rest: Any) -> Any:
        nodes.pos, nodes.vel = places, np.zeros_like(places)
        all_springs.stiffness, all_springs.rest = stiffness, rest
        with oa.tape() as tape:
            for _ in range(steps):
                oa.all(module.Spring).pull()
                oa.all(module.Node).move()
            module.miss[1](nodes[-1:], goal, loss)
        tape.backward(loss)
        found = nodes.grad.pos, all_springs.grad.stiffness, all_springs.grad.rest
        return tape, loss[0], [np.array(each) for each in found]

    moved = places + rng.normal(size=places.shape) * 0.05
    moved[:2] = places[:2]
    return [moved, rng.uniform(50, 200, 10), lengths * rng.uniform(0.7, 1.2, 10)], by_numpy, by_tape


def page_rank(rng: np.random.Generator) -> tuple[Numbers, Callable[..., float], Callable[..., Any]]:
    module, size, steps, number = program("page_rank"), 20, 8, 3
    degree = rng.integers(1, 5, size)
    source, target = np.repeat(np.arange(size), degree), rng.integers(0, size, int(degree.sum()))
    advert = np.arange(size) >= size - 4
    pages = oa.concat(oa.new(module.Page, size - 4), oa.new(module.Advert, 4))
    links = oa.new(module.Link, len(source), target=pages[target])
    pages.links = oa.split(links, degree)
    loss = oa.zeros(1, f64)

    def by_numpy(weight: Any, strength: Any) -> float:
        given = advert, source, target, weight, 0.85, strength, steps, number
        return float(module.expected(*given)[0][number])

    def by_tape(weight: Any, strength: Any) -> Any:
        pages.weight, links.strength, pages.damping = weight, strength, 0.85
        pages.rank, pages.gathered = 0.0, 0.0
        with oa.tape() as tape:
            for _ in range(steps):
                oa.all(module.Page).spread()
                oa.all(module.Page).gather()
            module.look_at[1](pages, number, loss)
        tape.backward(loss)
        return tape, loss[0], [np.array(pages.grad.weight), np.array(links.grad.strength)]

    return [rng.random(size), rng.random(len(source))], by_numpy, by_tape


def ray_tracer(
    rng: np.random.Generator,
) -> tuple[Numbers, Callable[..., float], Callable[..., Any]]:
    module, size = program("inverse_ray_tracer"), 12
    wanted = module.expected(module.BALLS, module.COLORS, size)
    balls = oa.concat(oa.new(module.Chalk, 2), oa.new(module.Silk, 1))
    image, loss = oa.zeros(size**2, oa.vec3d), oa.zeros(1, f64)
    picture = oa.array(oa.vec3d, wanted)

    def by_numpy(centers: Any, radii: Any, colors: Any) -> float:
        made = module.expected(np.column_stack([centers, radii]), colors, size)
        return float(((made - wanted) ** 2).sum()) / size**2

    def by_tape(centers: Any, radii: Any, colors: Any) -> Any:
        balls.center, balls.radius, balls.color = centers, radii, colors
        loss[0] = 0.0
        with oa.tape() as tape:
            module.render[size, size](balls, image, size)
            module.compare[size**2](image, picture, loss)
        tape.backward(loss)
        found = balls.grad.center, balls.grad.radius, balls.grad.color
        return tape, loss[0], [np.array(each) for each in found]

    centers = module.BALLS[:, :3] + rng.uniform(-0.1, 0.1, (3, 3))
    return [centers, module.BALLS[:, 3] * 0.9, rng.random((3, 3))], by_numpy, by_tape


@pytest.mark.parametrize(
    ("make", "backend"),
    [
        *rotated([springs, page_rank, ray_tracer], ["cpu", "python"]),
        *(
            pytest.param(make, "cuda", marks=pytest.mark.gpu)
            for make in (springs, page_rank, ray_tracer)
        ),
    ],
)
def test_gradients_are_differences(make: Callable[..., Any], backend: str) -> None:
    for seed in range(INPUTS if backend != "python" else 2):
        rng = np.random.default_rng(seed)
        with oa.Heap(mode="auto", backend=backend, capacity="64MiB"):
            inputs, by_numpy, by_tape = make(rng)
            _, loss, slopes = by_tape(*inputs)
            assert loss == pytest.approx(by_numpy(*inputs), rel=1e-10)
        ways = [rng.normal(size=each.shape) * np.abs(each).mean() for each in inputs]
        losses = [
            by_numpy(*(each + by * way for each, way in zip(inputs, ways, strict=True)))
            for by in (1e-6, -1e-6)
        ]
        along = sum(float((s * w).sum()) for s, w in zip(slopes, ways, strict=True))
        assert along == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5, abs=1e-8), seed
