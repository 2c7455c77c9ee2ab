"""The pass over llvmlite IR: ``rewrite`` a module whose virtual calls are in canonical form."""

from .rewriter import rewrite
from .sites import CallSite, Environment, Ranges, RewriteError, SiteCandidate, SiteReport, TypeQuery
from .tables import function_table
from .uniformity import uniform_receivers

__all__ = [
    "CallSite",
    "Environment",
    "Ranges",
    "RewriteError",
    "SiteCandidate",
    "SiteReport",
    "TypeQuery",
    "function_table",
    "rewrite",
    "uniform_receivers",
]
