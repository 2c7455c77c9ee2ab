"""The kernels, and the methods of agents, become code for NVIDIA's and AMD's GPUs."""

from __future__ import annotations

import pytest

import sharedoa as oa
from apps.generation.faithful import kernels as faithful
from apps.generation.natural import kernels as natural
from apps.generation.natural.classes import Agent, Alive, Birth, Candidate, Decaying
from sharedoa import i32

from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of
from .running import APP


@oa.kernel
def prepare(agents: oa.Array[Agent]) -> None:
    agents[oa.grid(1)].prepare()


@oa.kernel
def update_decaying(agents: oa.Array[Decaying]) -> None:
    agents[oa.grid(1)].update()


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


METHODS = [prepare, update_decaying, update_alive, update_candidate, settle, update_checksum]


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    kernels = [*kernels_of(faithful, natural), *METHODS]
    assert len(kernels) == 15
    if mode not in APP.natural_modes:
        kernels = kernels_of(faithful)
    check_gpu_code(kernels, mode, everything)
