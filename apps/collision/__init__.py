"""Collision: bodies pull each other, and merge where they meet."""

from .program import run

__all__ = ["run"]
