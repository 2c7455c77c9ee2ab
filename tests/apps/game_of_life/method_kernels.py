"""The methods that the natural flavour calls for whole populations, in kernels of their own."""

from __future__ import annotations

import sharedoa as oa
from apps.game_of_life.natural.classes import Agent, Alive, Birth, Candidate
from sharedoa import i32


@oa.kernel
def prepare(agents: oa.Array[Agent]) -> None:
    agents[oa.grid(1)].prepare()


@oa.kernel
def update_alive(agents: oa.Array[Alive]) -> None:
    agents[oa.grid(1)].update()


@oa.kernel
def update_candidate(agents: oa.Array[Candidate]) -> None:
    agents[oa.grid(1)].update()


@oa.kernel
def settle(births: oa.Array[Birth]) -> None:
    births[oa.grid(1)].settle()


@oa.kernel
def update_checksum(agents: oa.Array[Agent], counters: oa.Array[i32]) -> None:
    agents[oa.grid(1)].update_checksum(counters)
