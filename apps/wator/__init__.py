"""Wa-tor: fish and sharks that are born, move and die on a torus of cells."""

from .program import run

__all__ = ["run"]
