"""Each invariant notices its violation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from apps.interface import CheckFailed
from apps.traffic.network import Network
from apps.traffic.state import State, check

from .running import advance_to, generated_network, simulation

ITERATION = 37


@pytest.fixture(scope="module")
def network() -> Network:
    return generated_network(20)


@pytest.fixture
def state(network: Network) -> State:
    with simulation(network) as running:
        advance_to(running, ITERATION)
        return running.state()


def changed(state: State, name: str, place: int, value: int) -> State:
    values = getattr(state, name).copy()
    values[place] = value
    return dataclasses.replace(state, **{name: values})


def test_all_hold(state: State, network: Network) -> None:
    assert len(list(check(state, network, ITERATION))) == 5
    assert state.active.sum() > 10


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("occupant", 0, 3, "cells are occupied"),
        ("active", -1, 1, "vehicles are active"),
        ("position", 0, 0, "cell holds another vehicle"),
        ("velocity", 0, -1, "velocity is negative"),
        ("velocity", 0, 10, "above the vehicle's top speed"),
        ("max_velocity", 0, 10, "top speed is above 9"),
        ("path_length", 0, 10, "path is longer than 9"),
        ("timer", 0, 5, "timer is not"),
        ("phase", 0, 4, "phase is not"),
        ("limit", 0, 0, "a light is green that should be red"),
    ],
)
def test_violations(
    state: State, network: Network, name: str, place: int, value: int, message: str
) -> None:
    with pytest.raises(CheckFailed, match=message):
        list(check(changed(state, name, place, value), network, ITERATION))


def test_gap_in_the_flags(state: State, network: Network) -> None:
    swapped = state.active.copy()
    swapped[0], swapped[-1] = 0, 1
    with pytest.raises(CheckFailed, match="before an active vehicle"):
        list(check(dataclasses.replace(state, active=swapped), network, ITERATION))


def test_green_light_before_its_time(network: Network) -> None:
    with simulation(network) as running:
        advance_to(running, 3)
        early = running.state()
    stop = int(np.flatnonzero(network.is_stop)[0])
    with pytest.raises(CheckFailed, match="a light is green"):
        list(check(changed(early, "limit", stop, 9), network, 3))
