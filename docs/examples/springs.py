"""Springs that learn to move: a crane of springs and ropes finds stiffnesses and rest lengths with
which its tip is at a given place at a given time.

The oracle is NumPy: central differences of a simulation of its own, and where that ends with what
was learned.
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64

DT, GRAVITY, DRAG, GOAL = 0.02, 0.2, 2.0, (0.8, 0.6)


class Node(oa.Object):
    pos: oa.vec2d
    vel: oa.vec2d
    fx: f64
    fy: f64

    def move(self) -> None:
        self.vel += (oa.vec2d(self.fx, self.fy - GRAVITY) - self.vel * DRAG) * DT
        self.pos += self.vel * DT
        self.fx = self.fy = 0.0


class Anchor(Node):
    def move(self) -> None:
        self.fx = self.fy = 0.0


class Spring(oa.Object):
    start: Node
    end: Node
    stiffness: f64
    rest: f64

    def tension(self, stretch: f64) -> f64:
        return self.stiffness * stretch

    def pull(self) -> None:
        way = self.end.pos - self.start.pos
        length = math.sqrt(oa.dot(way, way))
        force = way * (self.tension(length - self.rest) / length)
        oa.atomic_add(self.start, "fx", force.x)
        oa.atomic_add(self.start, "fy", force.y)
        oa.atomic_sub(self.end, "fx", force.x)
        oa.atomic_sub(self.end, "fy", force.y)


class Rope(Spring):
    def tension(self, stretch: f64) -> f64:
        return self.stiffness * max(stretch, 0.0) ** 2


@oa.kernel
def miss(tip: oa.Array[Node], goal: oa.vec2d, loss: oa.Array[f64]) -> None:
    way = tip[0].pos - goal
    loss[0] = oa.dot(way, way)


def crane(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of two rows of nodes, the ends of springs, and which of them are ropes."""
    places = np.array([(x, y) for x in range(size + 1) for y in (0.0, 1.0)]) / size
    first = 2 * np.arange(size)[:, None]
    links = np.concatenate([first + ends for ends in ((0, 2), (1, 3), (2, 3), (0, 3), (1, 2))])
    return places, links, np.arange(5 * size) >= 3 * size


def expected(links: np.ndarray, rope: np.ndarray, pos: np.ndarray, steps: int,
             stiffness: np.ndarray, rest: np.ndarray) -> np.ndarray:  # fmt: skip
    """Where all nodes end."""
    vel = np.zeros_like(pos)
    for _ in range(steps):
        way = pos[links[:, 1]] - pos[links[:, 0]]
        length = np.linalg.norm(way, axis=1)
        tension = stiffness * np.where(rope, np.clip(length - rest, 0, None) ** 2, length - rest)
        force = np.zeros_like(pos)
        np.add.at(force, links[:, 0], way * (tension / length)[:, None])
        np.subtract.at(force, links[:, 1], way * (tension / length)[:, None])
        vel[2:] += DT * (force[2:] - [0, GRAVITY] - DRAG * vel[2:])
        pos = pos + DT * vel
    return pos


def main(size: int = 3, steps: int = 100, rounds: int = 40, plot: str = "") -> None:
    places, links, rope = crane(size)
    nodes: oa.Array[Node] = oa.concat(oa.new(Anchor, 2), oa.new(Node, 2 * size))
    springs: oa.Array[Spring] = oa.concat(oa.new(Spring, 3 * size), oa.new(Rope, 2 * size))
    springs.start, springs.end = nodes[links[:, 0]], nodes[links[:, 1]]
    rest = np.linalg.norm(places[links[:, 1]] - places[links[:, 0]], axis=1)
    learned = np.array([np.where(rope, 1000.0, 100.0 * size), 0.99 * rest])
    loss, goal = oa.zeros(1, f64), oa.vec2d(*GOAL)

    def missed(numbers: np.ndarray) -> float:
        tip = expected(links, rope, places, steps, *numbers)[-1]
        return float(((tip - GOAL) ** 2).sum())

    print("round   the tip misses by")
    for number in range(rounds):
        nodes.pos, nodes.vel = places, np.zeros_like(places)
        springs.stiffness, springs.rest = learned
        with oa.tape() as tape:
            for _ in range(steps):
                oa.all(Spring).pull()
                oa.all(Node).move()
            miss[1](nodes[-1:], goal, loss)
        tape.backward(loss)
        slopes = np.array([springs.grad.stiffness, springs.grad.rest])
        if number == 0:
            for place in np.ndindex(2, 2):
                step = np.zeros_like(learned)
                step[place] = 1e-6 * learned[place]
                difference = (missed(learned + step) - missed(learned - step)) / 2 / step[place]
                np.testing.assert_allclose(slopes[place], difference, rtol=1e-5, atol=1e-10)
        if number % 10 == 0:
            print(f"{number:5} {math.sqrt(loss[0]):19.6f}")
        parts = slopes * learned  # by each number's logarithm
        rate = min(0.5 * loss[0] / (parts**2).sum(), 0.03 / np.abs(parts).max())
        learned = learned * np.exp(-rate * parts)
        tape.zero()
    end = expected(links, rope, places, steps, *learned)
    print(f"with what was learned NumPy's tip is at {end[-1]}")
    assert missed(learned) < (0.2 if rounds < 10 else 1e-5)
    if plot:
        import matplotlib.pyplot as plt

        for pos, color in (places, "lightgray"), (end, "tab:blue"):
            plt.plot(*pos[links].transpose(2, 1, 0), color=color)
        plt.plot(*GOAL, "x", color="tab:red", markersize=12)
        plt.axis("equal")
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=3, help="segments of the crane")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
