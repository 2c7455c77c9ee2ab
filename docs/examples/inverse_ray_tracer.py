"""Balls from a picture: where they are and what colours they have is found from an image of them.

Which ball a ray meets is a branch, so what is visible counts as constant. The oracle is NumPy:
central differences of the loss of a picture that it makes itself, and the balls that were to be
found.
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32

SUN = oa.vec3d(-0.48, 0.64, -0.6)
BALLS = np.array([[-0.9, -0.5, 4, 0.7], [0.9, -0.6, 4, 0.6], [0.1, 0.8, 4.5, 0.9]])
COLORS = np.array([[0.9, 0.3, 0.2], [0.2, 0.7, 0.9], [0.8, 0.8, 0.3]])
FAR: float = 1e9


class Ball(oa.Object):
    center: oa.vec3d
    radius: f64
    color: oa.vec3d

    def shade(self, normal: oa.vec3d, way: oa.vec3d) -> oa.vec3d:
        """The light that comes from a point of the surface."""
        raise NotImplementedError

    def hit(self, way: oa.vec3d) -> f64:
        """How far a ray from the eye goes until it meets the ball."""
        b = oa.dot(self.center, way)
        c = oa.dot(self.center, self.center) - self.radius * self.radius
        return b - math.sqrt(b * b - c) if b > 0.0 and b * b > c else FAR


class Chalk(Ball):
    def shade(self, normal: oa.vec3d, way: oa.vec3d) -> oa.vec3d:
        return self.color * (0.4 + 0.6 * oa.dot(normal, SUN))


class Silk(Ball):
    def shade(self, normal: oa.vec3d, way: oa.vec3d) -> oa.vec3d:
        return self.color * (0.5 + 0.5 * oa.dot(normal, SUN)) ** 2


@oa.func
def ray(x: i32, y: i32, size: i32) -> oa.vec3d:
    return oa.normalize(oa.vec3d((2 * x + 1) / size - 1.0, 1.0 - (2 * y + 1) / size, 2.0))


@oa.kernel
def render(balls: oa.Array[Ball], image: oa.Array[oa.vec3d], size: i32) -> None:
    x, y = oa.grid(2)
    way = ray(x, y, size)
    distance: f64 = FAR
    nearest: Ball | None = None
    for ball in balls:
        if (met := ball.hit(way)) < distance:
            nearest, distance = ball, met
    color = oa.vec3d(0.1)
    if nearest is not None:
        color = nearest.shade((way * distance - nearest.center) / nearest.radius, way)
    image[y * size + x] = color


@oa.kernel
def compare(image: oa.Array[oa.vec3d], wanted: oa.Array[oa.vec3d], loss: oa.Array[f64]) -> None:
    off = image[oa.grid(1)] - wanted[oa.grid(1)]
    oa.atomic_add(loss, 0, oa.dot(off, off) / len(image))


def expected(balls: np.ndarray, colors: np.ndarray, size: int) -> np.ndarray:
    """The picture; the last ball is of silk."""
    y, x = np.indices((size, size)).reshape(2, -1)
    way = np.stack([(2 * x + 1) / size - 1, 1 - (2 * y + 1) / size, np.full(size**2, 2.0)], 1)
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    b = way @ balls[:, :3].T
    inside = b**2 - (balls[:, :3] ** 2).sum(axis=1) + balls[:, 3] ** 2
    far = np.where(inside > 0, b - np.sqrt(np.maximum(inside, 0)), np.inf)
    which, met = far.argmin(axis=1), np.isfinite(far.min(axis=1))
    far = np.where(met, far.min(axis=1), 0)[:, None]
    normal = (way * far - balls[which, :3]) / balls[which, 3:]
    chalk = 0.4 + 0.6 * normal @ np.array([*SUN])
    silk = (0.5 + 0.5 * normal @ np.array([*SUN])) ** 2
    light = np.where(which == len(balls) - 1, silk, chalk)[:, None]
    picture: np.ndarray = np.where(met[:, None], colors[which] * light, 0.1)
    return picture


def main(size: int = 24, rounds: int = 200, plot: str = "") -> None:
    rng = np.random.default_rng(2)
    wanted = expected(BALLS, COLORS, size)
    balls: oa.Array[Ball] = oa.concat(oa.new(Chalk, 2), oa.new(Silk, 1))
    balls.radius = BALLS[:, 3]
    image, loss = oa.zeros(size**2, oa.vec3d), oa.zeros(1, f64)
    picture = oa.array(oa.vec3d, wanted)
    found = np.stack([BALLS[:, :3], COLORS]) + rng.uniform(-0.15, 0.15, (2, 3, 3))
    pictures = []

    def off(numbers: np.ndarray) -> float:
        made = expected(np.column_stack([numbers[0], BALLS[:, 3]]), numbers[1], size)
        return float(((made - wanted) ** 2).sum()) / size**2

    mean, square = np.zeros((2, 2, 3, 3))
    print("round        loss   positions, colours off by")
    for number in range(rounds):
        balls.center, balls.color = found
        loss[0] = 0.0
        with oa.tape() as tape:
            render[size, size](balls, image, size)
            compare[size**2](image, picture, loss)
        tape.backward(loss)
        slopes = np.stack([balls.grad.center, balls.grad.color])
        tape.zero()
        if number == 0:
            for place in np.ndindex(2, 3, 3):
                step = np.zeros_like(found)
                step[place] = 1e-6
                difference = (off(found + step) - off(found - step)) / 2e-6
                np.testing.assert_allclose(slopes[place], difference, rtol=1e-5, atol=1e-9)
        if number % 40 == 0:
            far = np.abs(found - [BALLS[:, :3], COLORS]).max(axis=(1, 2))
            print(f"{number:5} {loss[0]:11.6f} {far[0]:12.4f} {far[1]:12.4f}")
            pictures.append(image.numpy().reshape(size, size, 3))
        mean = 0.8 * mean + 0.2 * slopes  # Adam (Kingma and Ba 2015)
        square = 0.95 * square + 0.05 * slopes**2
        found -= 0.02 * 0.985**number * mean / (np.sqrt(square) + 1e-8)
    far = np.abs(found - [BALLS[:, :3], COLORS]).max(axis=(1, 2))
    print(f"in the end {far[0]:.4f} and {far[1]:.4f}, and 0.15 at first")
    assert rounds < 200 or far.max() < 0.03  # what a pixel at an edge leaves open
    if plot:
        import matplotlib.pyplot as plt

        row = np.concatenate([*pictures, wanted.reshape(size, size, 3)], axis=1)
        plt.imsave(plot, np.clip(np.kron(row, np.ones((6, 6, 1))), 0, 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
