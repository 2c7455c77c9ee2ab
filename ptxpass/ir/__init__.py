"""The pass over IR: what a mode makes of symbolic virtual calls and type tests is decided by
``decide``, and written as LLVM IR by ``Lowering``, where code generation comes to them."""

from .canonical import Canonical
from .decision import Decision, decide, decide_test
from .lowering import Lowering
from .sites import Candidate, Environment, LoweringError, Ranges, Site, VirtualCall

__all__ = [
    "Candidate",
    "Canonical",
    "Decision",
    "Environment",
    "Lowering",
    "LoweringError",
    "Ranges",
    "Site",
    "VirtualCall",
    "decide",
    "decide_test",
]
