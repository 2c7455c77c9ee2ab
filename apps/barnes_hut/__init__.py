"""Barnes-Hut: bodies that attract each other, in a quadtree of objects."""

from .program import run

__all__ = ["run"]
