"""Boids: birds in a box, which fly with those that they see."""

from .program import run

__all__ = ["run"]
