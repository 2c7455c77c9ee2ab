"""All faults that tests must find."""

from . import backend, constants, decisions, dispatch, frontend, host, passes, summaries
from .mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *frontend.MUTATIONS,
    *passes.MUTATIONS,
    *dispatch.MUTATIONS,
    *constants.MUTATIONS,
    *decisions.MUTATIONS,
    *backend.MUTATIONS,
    *host.MUTATIONS,
    *summaries.MUTATIONS,
)
