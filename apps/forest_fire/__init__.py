"""Forest fire: trees that light each other."""

from .program import run

__all__ = ["run"]
