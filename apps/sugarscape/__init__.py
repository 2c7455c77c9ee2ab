"""Sugarscape: males and females that look for sugar, grow old and have children."""

from .program import run

__all__ = ["run"]
