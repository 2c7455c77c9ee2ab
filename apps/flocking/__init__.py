"""Flocking: birds that fly with those that they see."""

from .program import run

__all__ = ["run"]
