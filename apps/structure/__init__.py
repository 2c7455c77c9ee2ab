"""Springs between nodes that are held, pulled or free: what is stretched too far breaks."""

from .program import run

__all__ = ["run"]
