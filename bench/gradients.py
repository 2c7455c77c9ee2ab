"""Gradients of the three programs of docs/examples: primal and way back together over the primal
alone, and what a tape keeps a step beside the state.

Samples are seconds a step, in the same process by turns: the launches alone; the launches in a
block of ``oa.tape()`` and ``tape.backward``; the same with checkpoints. The state is the memory
that launches write to, whole regions of the classes that have it.

Expected before running, of each program at its largest size. On a processor: 4 to 8 times the
primal for springs and pages, whose way back adds to adjoints of others and so runs on one core
where the primal runs on all; 3 to 6 for the ray tracer, whose three balls everybody adds to; with 8
checkpoints about 10 steps are launched again twice, so 1.5 to 2 times that. JAX, where it is
installed, takes the same steps in the same run: 3 to 5 times its primal; Warp and Dr.Jit likewise,
2 to 6 times. On an H200: 3 to 6
times for springs, pages and the ray tracer, where warps add to three balls. A tape keeps about as
much a step as the state of springs, several times that of pages.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

import sharedoa as oa
from bench.harness import Options, Result, main, show, summary
from sharedoa import f64

_EXAMPLES = Path(__file__).parents[1] / "docs/examples"
_STEPS, _STATES = 10, 4
_MOST_SECONDS = 4.0
"""Of a way at one size, after which one sample is enough."""
PEERS = ("jax", "warp", "drjit")
SIZES = {
    "springs": (1_000, 10_000, 100_000, 1_000_000),
    "page_rank": (1_000, 10_000, 100_000, 1_000_000),
    "inverse_ray_tracer": (64, 128, 256, 512),
}


@dataclass(frozen=True)
class Made:
    """A program on the current heap: what takes the steps, the array of the loss, the derivatives
    by some of its inputs after a way back, the same with a peer, given its module and where it
    runs, and what lets the program begin again."""

    steps: Callable[[], None]
    loss: oa.Array[Any]
    derivatives: Callable[[], Any]
    peer: Callable[..., tuple[Callable[[], Any], Callable[[], Any]]]
    start: Callable[[], None] = lambda: None


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"gradients_{name}", _EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def springs(module: Any, size: int, count: int = _STEPS) -> Made:
    """A crane with about ``size`` springs, and so many steps."""
    segments = size // 5
    places, links, rope = module.crane(segments)
    nodes = oa.concat(oa.new(module.Anchor, 2), oa.new(module.Node, 2 * segments))
    made = oa.concat(oa.new(module.Spring, 3 * segments), oa.new(module.Rope, 2 * segments))
    made.start, made.end = nodes[links[:, 0]], nodes[links[:, 1]]
    made.rest = np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1)
    made.stiffness = np.where(rope, 1.0, 10.0)
    loss, tip, goal = oa.zeros(1, f64), nodes[-1:], oa.vec2d(*module.GOAL)

    def steps() -> None:
        for _ in range(count):
            oa.all(module.Spring).pull()
            oa.all(module.Node).move()
        module.miss[1](tip, goal, loss)

    def start() -> None:
        nodes.pos, nodes.vel = places, np.zeros_like(places)

    start()
    return Made(
        steps,
        loss,
        lambda: nodes.grad.pos,
        lambda peer, *on: peer.springs(module, size, count, *on),
        start,
    )


def _page_rank(module: Any, size: int) -> Made:
    rng = np.random.default_rng(4)
    degree = rng.integers(1, 9, size)
    count = int(degree.sum())
    target = (size * rng.random(count) ** 3).astype(int)
    pages = oa.concat(oa.new(module.Page, size - size // 10), oa.new(module.Advert, size // 10))
    links = oa.new(module.Link, count, target=pages[target], strength=1 / np.repeat(degree, degree))
    pages.links, pages.weight, pages.damping = oa.split(links, degree), 1 / size, 0.85
    loss = oa.zeros(1, f64)

    def steps() -> None:
        for _ in range(_STEPS):
            oa.all(module.Page).spread()
            oa.all(module.Page).gather()
        module.look_at[1](pages, size // 3, loss)

    return Made(
        steps, loss, lambda: pages.grad.weight,
        lambda peer, *on: peer.page_rank(size, _STEPS, degree, target, *on),
    )  # fmt: skip


def _inverse_ray_tracer(module: Any, size: int) -> Made:
    balls = oa.concat(oa.new(module.Chalk, 2), oa.new(module.Silk, 1))
    balls.center, balls.radius = module.BALLS[:, :3], module.BALLS[:, 3]
    balls.color = module.COLORS
    image, wanted = oa.zeros(size**2, oa.vec3d), oa.zeros(size**2, oa.vec3d)
    loss = oa.zeros(1, f64)

    def steps() -> None:
        for _ in range(_STEPS):
            module.render[size, size](balls, image, size)
            module.compare[size**2](image, wanted, loss)

    return Made(
        steps, loss, lambda: balls.grad.center,
        lambda peer, *on: peer.inverse_ray_tracer(module, size, _STEPS, *on),
    )  # fmt: skip


MAKERS = {
    "springs": springs,
    "page_rank": _page_rank,
    "inverse_ray_tracer": _inverse_ray_tracer,
}


def run(options: Options) -> Result:
    """Time all programs at all sizes."""
    with oa.Heap(backend=options.backend) as heap:
        settings = {"steps": _STEPS, "states": _STATES}
        result = Result("gradients", heap.backend.name, settings)
    for name, make in MAKERS.items():
        module = program(name)
        # What a processor takes minutes for is a GPU's.
        most = 4 if result.backend == "cuda" else 3
        sizes = SIZES[name][: most if options.full else 1]
        for size in sizes:
            with oa.Heap(backend=options.backend) as heap, result.attempt(f"{name}, {size}"):
                made = rows(heap, name, size, make(module, size), options.repeat)
                result.rows += made
                _show(made)
    return result


def _show(rows: Sequence[dict[str, Any]]) -> None:
    show(
        "Gradients, milliseconds a step",
        ["program", "size", "way", "median", "over the primal", "tape B/step", "state B"],
        [
            [
                row["program"], row["size"], row["way"], 1e3 * row["median"],
                row.get("over the primal"), row.get("tape bytes a step"), row.get("state bytes"),
            ]
            for row in rows
        ],
    )  # fmt: skip


def _peers(heap: oa.Heap, made: Made, who: Sequence[str]) -> dict[str, Callable[[], None]]:
    """The same with those peers that are installed, once they have agreed on the derivatives."""
    with oa.tape() as tape:
        made.steps()
    tape.backward(made.loss)
    loss, ours = float(made.loss[0]), np.array(made.derivatives())
    scale = np.abs(ours).max()
    found: dict[str, Callable[[], None]] = {}
    for name in who:
        module = f"bench.peers.{name}_gradients"
        try:
            peer = importlib.import_module(module)
            devices = getattr(peer, "DEVICES", None)
            on = () if devices is None else (devices[heap.backend.name],)
            primal, gradient = made.peer(peer, *on)
        except ImportError as error:
            print(f"{name}: {error}", flush=True)
            continue
        value, derivatives = gradient()
        assert np.isclose(loss, float(value), rtol=1e-9), f"the loss is not that of {name}"
        close = np.allclose(ours, np.array(derivatives), rtol=1e-7, atol=1e-9 * scale)
        assert close, f"{name} has other derivatives"
        found |= {f"{name} primal": primal, f"{name} gradient": gradient}
    tape.zero()
    heap.synchronize()
    return found


def rows(
    heap: oa.Heap, name: str, size: int, made: Made, repeat: int, peers: Sequence[str] = PEERS
) -> list[dict[str, Any]]:
    """Times of a program of that name and size, which lies in ``heap``."""
    found: dict[str, dict[str, Any]] = {}
    steps, loss, others = made.steps, made.loss, _peers(heap, made, peers)

    def gradient(way: str, checkpoints: int | None) -> None:
        with oa.tape(checkpoints=checkpoints) as tape:
            steps()
        tape.backward(loss)
        kept = {"tape bytes a step": tape.bytes // _STEPS} if checkpoints is None else {}
        state = {"state bytes": tape.state_bytes} if checkpoints is not None else {}
        found[way] = {**kept, **state}
        tape.zero()

    ways: dict[str, Callable[[], None]] = {
        "primal": steps,
        "gradient": partial(gradient, "gradient", None),
        "checkpoints": partial(gradient, "checkpoints", _STATES),
        **others,
    }
    samples: dict[str, list[float]] = {way: [] for way in ways}
    spent = dict.fromkeys(ways, 0.0)
    for number in range(repeat + 2):  # the first two compile
        for way, call in ways.items():
            if spent[way] > _MOST_SECONDS and samples[way]:
                continue
            heap.synchronize()
            start = perf_counter()
            call()
            heap.synchronize()
            seconds = perf_counter() - start
            spent[way] += seconds
            if number > 1:
                samples[way].append(seconds / _STEPS)
    middle = {way: summary(taken)["median"] for way, taken in samples.items()}
    return [
        {"program": name, "size": size, "way": way, **found.get(way, {})}
        | summary(taken)
        | {
            "over the primal": round(
                middle[way] / middle[f"{way.split()[0]} primal" if way in others else "primal"], 3
            )
        }
        for way, taken in samples.items()
    ]


if __name__ == "__main__":
    main(run, __doc__)
