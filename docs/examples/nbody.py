"""Bodies that pull each other, each by the law of its class: Newton's, a screened one, or a spring.

The oracle is NumPy with all pairs at once.
"""

import argparse
import math
from typing import ClassVar

import numpy as np

import sharedoa as oa
from sharedoa import f64

DT = 0.01
SOFT = 0.05


class Body(oa.Object):
    pos: oa.vec3d
    vel: oa.vec3d
    mass: f64 = 1.0

    def law(self, r: f64) -> f64:
        """The pull on a body at distance r, for each unit of distance and mass."""
        raise NotImplementedError

    def kick(self, bodies: oa.Array["Body"]) -> None:
        pull = oa.vec3d(0.0)
        for other in bodies:
            if other is not self:
                way = other.pos - self.pos
                pull += way * (other.mass * other.law(math.sqrt(oa.dot(way, way) + SOFT)))
        self.vel += pull * DT

    def drift(self) -> None:
        self.pos += self.vel * DT

    @property
    def energy(self) -> f64:
        return 0.5 * self.mass * self.vel.dot(self.vel)


class Star(Body):
    def law(self, r: f64) -> f64:
        return 1.0 / r**3


class Cloud(Body):
    REACH: ClassVar[float] = 0.5

    def law(self, r: f64) -> f64:
        return math.exp(-r / self.REACH) * (1.0 / r + 1.0 / self.REACH) / r**2


class Halo(Cloud):
    REACH = 2.0


class Knot(Body):
    stiffness: f64 = 0.1

    def law(self, r: f64) -> f64:
        return self.stiffness


def expected(kinds: np.ndarray, pos: np.ndarray, vel: np.ndarray, steps: int) -> np.ndarray:
    masses = np.array([3.0, 1.0, 1.0, 0.5])[kinds] / len(kinds)
    for _ in range(steps):
        way = pos[None, :] - pos[:, None]
        r = np.sqrt((way**2).sum(axis=2) + SOFT)
        cloud, halo = ((np.exp(-r / a) * (1 / r + 1 / a) / r**2) for a in (0.5, 2.0))
        law = np.choose(kinds[None, :], [r**-3, cloud, halo, np.full_like(r, 0.1)])
        np.fill_diagonal(law, 0.0)
        vel = vel + DT * np.einsum("ijk,ij->ik", way, law * masses[None, :])
        pos = pos + DT * vel
    return pos


def main(size: int = 1000, steps: int = 20, plot: str = "") -> None:
    rng = np.random.default_rng(1)
    pos, vel = rng.normal(size=(2, size, 3)) * [[[1]], [[0.2]]]
    kinds = np.sort(rng.integers(0, 4, size))
    count = np.bincount(kinds, minlength=4)
    bodies: oa.Array[Body] = oa.concat(
        oa.new(Star, count[0], mass=3 / size),
        oa.new(Cloud, count[1], mass=1 / size),
        oa.new(Halo, count[2], mass=1 / size),
        oa.new(Knot, count[3], mass=0.5 / size),
    )
    bodies.pos, bodies.vel = pos, vel
    print("   time   kinetic energy")
    for step in range(steps):
        if step % 5 == 0:
            print(f"{step * DT:7.2f} {bodies.energy.sum():16.6f}")
        bodies.kick(bodies)
        bodies.drift()
    np.testing.assert_allclose(bodies.pos.numpy(), expected(kinds, pos, vel, steps), rtol=1e-9)
    print(f"the positions of {len(bodies)} bodies are NumPy's")
    if plot:
        import matplotlib.pyplot as plt

        x, y, _ = bodies.pos.numpy().T
        plt.scatter(x, y, c=kinds, s=4)
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
