"""Wolf and sheep: animals that walk, eat, starve and have young on cells of grass."""

from .program import run

__all__ = ["run"]
