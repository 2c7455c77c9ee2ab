"""Road traffic after Nagel and Schreckenberg: producers, intersections with lights, targets."""

from .program import run

__all__ = ["run"]
