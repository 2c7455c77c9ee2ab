"""One virtual call a thread, beside a branch that needs no object: the paper's microbenchmark."""

from .program import run

__all__ = ["run"]
