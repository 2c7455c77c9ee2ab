"""Circles: what floats in space, and keeps a distance from what is near."""

from .program import run

__all__ = ["run"]
