"""Ray tracing: mirror-like spheres above a plane, or a scene of several shapes and materials."""

from .program import run

__all__ = ["run"]
