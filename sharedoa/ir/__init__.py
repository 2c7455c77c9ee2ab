"""The intermediate representation between the front end and LLVM."""

from ..location import Location
from .core import (
    Candidate,
    Function,
    Lane,
    LvalueType,
    Operation,
    Program,
    Region,
    Value,
    live_ins,
    operations_in,
    regions_in,
)

__all__ = [
    "Candidate", "Function", "Lane", "Location", "LvalueType", "Operation", "Program", "Region",
    "Value", "live_ins", "operations_in", "regions_in",
]  # fmt: skip
