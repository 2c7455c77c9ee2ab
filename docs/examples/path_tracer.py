"""Balls of chalk, metal and glass in daylight: a ball's material decides where a ray goes on.

The oracle: formulas for a ball that is alone in the sky (the law of reflection, Snell's law twice,
the mean over half of all directions).
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32

BALLS = np.array([[-1.1, 0, 4, 0.5], [0, 0, 4, 0.5], [1.1, 0, 4, 0.5], [0, -100.5, 4, 100]])
TINTS = np.array([[0.8, 0.3, 0.2], [0.9, 0.9, 0.7], [1, 1, 1], [0.5, 0.6, 0.4]])
ZENITH = oa.vec3(0.5, 0.7, 1.0)
DEPTH = 8


class Material(oa.Object):
    tint: oa.vec3

    def scatter(self, way: oa.vec3, normal: oa.vec3, path: i32, ray: i32) -> oa.vec3:
        raise NotImplementedError


class Chalk(Material):
    def scatter(self, way: oa.vec3, normal: oa.vec3, path: i32, ray: i32) -> oa.vec3:
        z = 2.0 * oa.random(1, path, ray, 0) - 1.0
        turn = 2.0 * math.pi * oa.random(1, path, ray, 1)
        r = math.sqrt(1.0 - z * z)
        return oa.normalize(normal + oa.vec3(r * math.cos(turn), r * math.sin(turn), z))


class Metal(Material):
    def scatter(self, way: oa.vec3, normal: oa.vec3, path: i32, ray: i32) -> oa.vec3:
        return way - normal * (2.0 * way.dot(normal))


class Glass(Material):
    index: f32 = 1.5

    def scatter(self, way: oa.vec3, normal: oa.vec3, path: i32, ray: i32) -> oa.vec3:
        cosine = -way.dot(normal)
        ratio = 1.0 / self.index if cosine > 0.0 else self.index
        beyond = math.sqrt(max(1.0 - ratio * ratio * (1.0 - cosine * cosine), 0.0))
        return way * ratio + normal * (ratio * cosine - math.copysign(beyond, cosine))


class Ball(oa.Object):
    center: oa.vec3
    radius: f32
    material: Material

    def hit(self, start: oa.vec3, way: oa.vec3) -> f32:
        """How far a ray goes until it meets the ball."""
        to = start - self.center
        b, c = to.dot(way), to.dot(to) - self.radius * self.radius
        root = math.sqrt(max(b * b - c, 0.0))
        near = -b - root if -b - root > 1e-3 else -b + root
        return near if b * b > c and near > 1e-3 else math.inf


@oa.func
def trace(balls: oa.Array[Ball], way: oa.vec3, path: i32) -> oa.vec3:
    start, light = oa.vec3(0.0), oa.vec3(1.0)
    for ray in range(DEPTH):
        nearest: Ball | None = None
        distance: f32 = math.inf
        for ball in balls:
            if (met := ball.hit(start, way)) < distance:
                nearest, distance = ball, met
        if nearest is None:
            return light * (oa.vec3(1.0) + (ZENITH - 1.0) * (0.5 * way.y + 0.5))
        start += way * distance
        normal = (start - nearest.center) / nearest.radius
        way = nearest.material.scatter(way, normal, path, ray)
        light *= nearest.material.tint
    return oa.vec3(0.0)


@oa.kernel
def render(balls: oa.Array[Ball], image: oa.Array2[oa.vec3], samples: i32) -> None:
    x, y = oa.grid(2)
    height, width, _ = image.shape
    way = oa.normalize(oa.vec3(2 * x + 1 - width, height - 2 * y - 1, 2.5 * height))
    path = (y * width + x) * samples
    light = sum((trace(balls, way, path + k) for k in range(samples)), oa.vec3(0.0))
    image[y, x] = light / samples


def expected(ball: int, height: int) -> np.ndarray:
    """The light of a ball that is alone, and NaN around it."""
    y, x = np.indices((height, 2 * height))
    way = np.stack([2 * (x - height) + 1, height - 2 * y - 1, np.full(x.shape, 2.5 * height)], 2)
    way = way / np.linalg.norm(way, axis=2, keepdims=True)
    across = BALLS[ball, :3] - way * (way @ BALLS[ball, :3])[..., None]  # from ray to center
    sine = np.linalg.norm(across, axis=2, keepdims=True) / BALLS[ball, 3]
    angle = np.arcsin(np.where(sine < 1, sine, np.nan))
    normal = -across / BALLS[ball, 3] - way * np.cos(angle)
    turn = 2 * (angle - np.arcsin(np.sin(angle) / 1.5))
    snell = way * np.cos(turn) + across / (BALLS[ball, 3] * sine) * np.sin(turn)
    out = (normal * 2 / 3, way + 2 * np.cos(angle) * normal, snell)[ball]
    blue = 0.5 * out[..., 1:2] + 0.5
    light: np.ndarray = TINTS[ball] * (1 - blue + blue * [0.5, 0.7, 1.0])
    return light


def main(size: int = 160, samples: int = 400, plot: str = "") -> None:
    materials = oa.concat(oa.new(Chalk, 1), oa.new(Metal, 1), oa.new(Glass, 1), oa.new(Chalk, 1))
    materials.tint = TINTS
    balls = oa.new(Ball, 4, center=BALLS[:, :3], radius=BALLS[:, 3], material=materials)
    image = oa.zeros((size, 2 * size), oa.vec3)
    for k, bound in enumerate((0.2 / samples**0.5, 1e-4, 1e-4)):
        render[2 * size, size](balls[k : k + 1], image, samples if k == 0 else 1)
        off = np.nanmean(np.abs(image.numpy() - expected(k, size)))
        print(f"a ball of {type(materials[k]).__name__} is off by {off:.2e} in the mean")
        assert off < bound
    render[2 * size, size](balls, image, min(samples, 16))
    for line in image.numpy()[:: max(size // 20, 1), :: max(size // 32, 1)].mean(axis=2):
        print("".join(" .:-=+*#%@"[int(9.99 * value)] for value in line))
    if plot:
        import matplotlib.pyplot as plt

        plt.imsave(plot, np.sqrt(image.numpy()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
