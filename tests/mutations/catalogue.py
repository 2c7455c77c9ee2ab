"""All faults that tests must find."""

from . import backend, frontend, host, summaries
from .mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *frontend.MUTATIONS,
    *backend.MUTATIONS,
    *host.MUTATIONS,
    *summaries.MUTATIONS,
)
