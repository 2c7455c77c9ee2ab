"""Wealth: people who give away what they have, to anybody."""

from .program import run

__all__ = ["run"]
