"""What a picture shows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Diffuse:
    colour: Triple


@dataclass(frozen=True)
class Checkered:
    colour: Triple
    second_colour: Triple
    side: float


@dataclass(frozen=True)
class Metal:
    colour: Triple
    fuzz: float


@dataclass(frozen=True)
class Glass:
    colour: Triple
    refraction: float


@dataclass(frozen=True)
class Sphere:
    """``material``, here and below, is a place in the scene's list."""

    material: int
    centre: Triple
    radius: float


@dataclass(frozen=True)
class Plane:
    material: int
    point: Triple
    normal: Triple


@dataclass(frozen=True)
class Box:
    material: int
    low: Triple
    high: Triple


@dataclass(frozen=True)
class Triangle:
    material: int
    corners: tuple[Triple, Triple, Triple]


Material = Diffuse | Checkered | Metal | Glass
Shape = Sphere | Plane | Box | Triangle


@dataclass(frozen=True)
class View:
    """``angle``: between the edges of the picture's shorter side, in degrees. ``aspect``: width by
    height."""

    eye: Triple
    target: Triple
    up: Triple
    angle: float
    aspect: float


@dataclass(frozen=True)
class Scene:
    view: View
    horizon: Triple
    zenith: Triple
    #: The most surfaces that a path of light meets.
    surfaces: int
    materials: tuple[Material, ...]
    shapes: tuple[Shape, ...]
