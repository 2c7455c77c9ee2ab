"""All faults that tests must find."""

from . import backend, frontend, host
from .mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *frontend.MUTATIONS,
    *backend.MUTATIONS,
    *host.MUTATIONS,
)
