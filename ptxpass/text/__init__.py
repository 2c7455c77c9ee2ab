"""The pass over PTX text, from any compiler: ``rewrite`` a module of CUDA C++."""

from .reader import read_module
from .report import LEFT_ALONE, CallReport, Rewriting, report_lines
from .rewriter import rewrite
from .syntax import Module, PtxError
from .tables import TextClass
from .writer import print_module

__all__ = [
    "LEFT_ALONE",
    "CallReport",
    "Module",
    "PtxError",
    "Rewriting",
    "TextClass",
    "print_module",
    "read_module",
    "report_lines",
    "rewrite",
]
