"""All faults that tests must find."""

from . import (
    backend,
    births,
    cheap_tests,
    constants,
    courses,
    decisions,
    dispatch,
    divisions,
    early_loads,
    flat_loops,
    frontend,
    fusion,
    gradients,
    host,
    many,
    passes,
    ptx_text,
    summaries,
)
from .mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *frontend.MUTATIONS,
    *passes.MUTATIONS,
    *dispatch.MUTATIONS,
    *ptx_text.MUTATIONS,
    *constants.MUTATIONS,
    *decisions.MUTATIONS,
    *births.MUTATIONS,
    *cheap_tests.MUTATIONS,
    *backend.MUTATIONS,
    *host.MUTATIONS,
    *summaries.MUTATIONS,
    *divisions.MUTATIONS,
    *flat_loops.MUTATIONS,
    *early_loads.MUTATIONS,
    *many.MUTATIONS,
    *fusion.MUTATIONS,
    *gradients.MUTATIONS,
    *courses.MUTATIONS,
)
