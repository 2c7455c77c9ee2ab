"""N-body: all bodies pull each other."""

from .program import run

__all__ = ["run"]
