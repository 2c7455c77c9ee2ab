"""The ray tracer's scene, and its picture by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .cases import Case
from .inputs import Array, WrongResult, side

PLANE, SPHERE = 0, 1
MATT, MIRROR = 0, 1
#: A ray meets at most so many surfaces.
SURFACES = 4
NEAR, FAR, PARALLEL = np.float32(1e-3), np.float32(1e6), np.float32(1e-6)
EYE = (0.0, 1.5, 6.0)
#: Where light comes from, of length 1; a matt surface that looks away still has AMBIENT of it.
LIGHT = (0.6, 0.64, 0.48)
AMBIENT, DIRECT = np.float32(0.2), np.float32(0.8)
#: Width of the picture at distance 1.
WIDTH = 1.2
#: A last bit decides which way a ray goes at an edge, and tools may fuse a product and a sum.
LEVEL, AGREEMENT = 2e-3, 0.99


@dataclass(frozen=True)
class Scene:
    """``kinds`` of shapes: a plane of points whose product with (x, y, z) is r, or a sphere around
    (x, y, z) of radius r; each refers to a material, which reflects ``albedo`` of the light."""

    kinds: Array
    x: Array
    y: Array
    z: Array
    r: Array
    materials: Array
    material_kinds: Array
    albedo: Array


def scene(case: Case) -> Scene:
    spheres = np.arange(case.objects - 1)
    places = (spheres % 6 * 1.1 - 2.75, spheres * 0 + 0.4, -(spheres // 6) * 1.2)
    x, y, z = (
        np.concatenate([[first], rest]).astype(np.float32)
        for first, rest in zip((0, 1, 0), places, strict=True)
    )
    return Scene(
        np.where(np.arange(case.objects) == 0, PLANE, SPHERE).astype(np.uint8),
        x,
        y,
        z,
        np.concatenate([[0], 0.25 + spheres % 5 * 0.05]).astype(np.float32),
        np.concatenate([[0], 1 + spheres % 3]).astype(np.int32),
        np.array([MATT, MATT, MIRROR, MIRROR], np.uint8),
        np.array([0.7, 0.9, 0.8, 0.95], np.float32),
    )


def pitch(case: Case) -> float:
    """The distance of neighbouring pixels at distance 1."""
    return float(np.float32(WIDTH / side(case)))


def require_picture(found: Array, case: Case) -> None:
    """Raise WrongResult unless nearly all pixels are those of NumPy's picture."""
    expected = picture(case)
    if found.shape != expected.shape:
        raise WrongResult(f"the picture has shape {found.shape}, not {expected.shape}")
    share = float((np.abs(found - expected) <= LEVEL).mean())
    if not share >= AGREEMENT:
        raise WrongResult(f"{share:.2%} of the pixels are those of NumPy, not {AGREEMENT:.0%}")


@lru_cache(maxsize=1)
def picture(case: Case) -> Array:
    """The light of each pixel, rows from the bottom, one after another."""
    from bench.peers import numpy_rays

    return numpy_rays.picture(scene(case), side(case), pitch(case))
