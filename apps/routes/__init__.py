"""Fastest routes through a road network, by road, by ferry and on foot."""

from .program import run

__all__ = ["run"]
