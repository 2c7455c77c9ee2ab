"""Rays and cameras: values that kernels compute with."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32

from ..common.space import Vec3


@oa.value
class Ray:
    """What goes from ``origin`` along ``direction``, which has length 1."""

    origin: Vec3
    direction: Vec3

    def at(self, distance: f32) -> Vec3:
        return self.origin + self.direction * distance


@oa.value
class Camera:
    """A pinhole: ``forward`` leads to the picture's middle, ``right`` and ``up`` one pixel on."""

    eye: Vec3
    forward: Vec3
    right: Vec3
    up: Vec3

    def ray(self, across: f32, upwards: f32) -> Ray:
        """Through a place of the picture, in pixels from its middle."""
        direction = self.forward + self.right * across + self.up * upwards
        return Ray(self.eye, direction.normalised())
