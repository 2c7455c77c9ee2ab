"""An automaton in which cells that cease to live decay for a long time before they are dead."""

from .program import run

__all__ = ["run"]
