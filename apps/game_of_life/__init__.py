"""Conway's Game of Life with agents: what is alive, or may come to life, is an object."""

from .program import run

__all__ = ["run"]
