"""Schelling's model: people of two groups, who move if few of their own live beside them."""

from .program import run

__all__ = ["run"]
