"""Reverse mode: of a program two others, one that also keeps what the second one needs on a tape,
and one that runs backwards and adds to adjoints."""

from .program import Differentiated, differentiate

__all__ = ["Differentiated", "differentiate"]
