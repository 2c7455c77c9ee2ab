"""A flock of birds in a periodic plane, who see those near them; hawks eat them.

The oracle is NumPy with the distances of all pairs.
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32

SIDE, SIGHT, REACH, DT = 100.0, 4.0, 1.0, 0.2


@oa.func
def shortest(way: oa.vec2d) -> oa.vec2d:
    """The way to the nearest image."""
    return oa.vec2d(way.x - SIDE * round(way.x / SIDE), way.y - SIDE * round(way.y / SIDE))


class Bird(oa.Object):
    pos: oa.vec2d
    vel: oa.vec2d
    turn: oa.vec2d

    def look(self, birds: oa.HashGrid["Bird"]) -> None:
        raise NotImplementedError

    def top_speed(self) -> f64:
        return 2.0

    def fly(self) -> None:
        self.vel += self.turn * DT
        self.vel *= min(1.0, self.top_speed() / max(self.vel.length(), 1e-9))
        self.pos = (self.pos + self.vel * DT) % SIDE


class Starling(Bird):
    def look(self, birds: oa.HashGrid[Bird]) -> None:
        center, heading, apart, count = oa.vec2d(0.0), oa.vec2d(0.0), oa.vec2d(0.0), 0
        for other in birds.near(self.pos, SIGHT):
            way = shortest(other.pos - self.pos)
            match other:
                case Hawk():
                    apart -= way * 5.0
                case _:
                    center += way
                    heading += other.vel - self.vel
                    apart -= way / (way.dot(way) + 0.1)
                    count += 1
        self.turn = (center * 0.1 + heading) / max(count, 1) + apart


class Hawk(Bird):
    eaten: i32

    def look(self, birds: oa.HashGrid[Bird]) -> None:
        self.turn = oa.vec2d(0.0)
        nearest = math.inf
        for other in birds.near(self.pos, 2 * SIGHT):
            if isinstance(other, Starling):
                way = shortest(other.pos - self.pos)
                if way.length() < nearest:
                    nearest, self.turn = way.length(), way
                if way.length() < REACH and oa.delete(other):
                    self.eaten += 1

    def top_speed(self) -> f64:
        return 3.0


def expected(pos: np.ndarray, vel: np.ndarray, hawk: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        way = pos[None] - pos[:, None]
        way -= SIDE * np.round(way / SIDE)
        far = np.linalg.norm(way, axis=2)
        near = (far <= SIGHT) & ~hawk[None]
        seen = np.maximum(near.sum(1), 1)[:, None]
        apart = near[..., None] * -way / (far**2 + 0.1)[..., None]
        apart += ((far <= SIGHT) & hawk[None])[..., None] * way * -5.0
        turn = np.einsum("ij,ijk->ik", near, way * 0.1 + vel[None] - vel[:, None]) / seen
        turn += apart.sum(1)
        prey = np.where((far <= 2 * SIGHT) & ~hawk, far, np.inf)
        chase = way[np.arange(len(pos)), prey.argmin(1)] * np.isfinite(prey.min(1))[:, None]
        alive = hawk | ~(hawk[:, None] & (far < REACH)).any(0)
        vel = vel + DT * np.where(hawk[:, None], chase, turn)
        speed = np.maximum(np.linalg.norm(vel, axis=1), 1e-9)
        vel = vel * np.minimum(1, np.where(hawk, 3.0, 2.0) / speed)[:, None]
        pos, vel, hawk = ((pos + vel * DT) % SIDE)[alive], vel[alive], hawk[alive]
    return pos


def main(size: int = 800, steps: int = 20, plot: str = "") -> None:
    rng = np.random.default_rng(5)
    pos, vel = rng.random((size, 2)) * SIDE, rng.normal(size=(size, 2))
    hawk = np.arange(size) < size // 50
    oa.new(Hawk, size // 50, pos=pos[hawk], vel=vel[hawk])
    oa.new(Starling, size - size // 50, pos=pos[~hawk], vel=vel[~hawk])
    birds, grid = oa.all(Bird), oa.HashGrid(cell=SIGHT, size=(SIDE, SIDE), periodic=True)
    print("step  starlings  mean velocity")
    for step in range(steps):
        if step % 5 == 0:
            mean = np.linalg.norm(oa.all(Starling).vel.numpy().mean(axis=0))
            print(f"{step:4} {len(oa.all(Starling)):10} {mean:14.6f}")
        grid.build(birds, "pos")
        birds.look(grid)
        birds.fly()
    found = np.concatenate([oa.all(Hawk).pos, oa.all(Starling).pos])
    np.testing.assert_allclose(found, expected(pos, vel, hawk, steps), atol=1e-9)
    print(f"the {len(birds)} birds that are left are where NumPy has them")
    if plot:
        import matplotlib.pyplot as plt

        plt.quiver(*birds.pos.numpy().T, *birds.vel.numpy().T)
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=800)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
