"""The kernels of one iteration.

Vehicles under way are a list of references. Its length lives on the device; kernels over the list
are launched for as many vehicles as there can ever be, one a cell, so that the host never waits.
"""

from __future__ import annotations

import sharedoa as oa
from sharedoa import i32

from .classes import ProducerCell, Traffic, TrafficLight, Vehicle


@oa.kernel
def create_vehicles(
    producers: oa.Array[ProducerCell],
    traffic: Traffic,
    vehicles: oa.Array[Vehicle],
    count: oa.Array[i32],
    created: oa.Array[i32],
) -> None:
    i = oa.grid(1)
    vehicle = producers[i].create_vehicle(traffic)
    if vehicle is not None:
        vehicles[oa.atomic_add(count, 0, 1)] = vehicle
        created[i] += 1


@oa.kernel
def switch_lights(lights: oa.Array[TrafficLight]) -> None:
    lights[oa.grid(1)].step()


@oa.kernel
def prepare_paths(vehicles: oa.Array[Vehicle], count: oa.Array[i32]) -> None:
    i = oa.grid(1)
    if i < count[0]:
        vehicles[i].step_prepare_path()


@oa.kernel
def move_vehicles(
    vehicles: oa.Array[Vehicle],
    count: oa.Array[i32],
    goes_on: oa.Array[i32],
    moved: oa.Array[i32],
    removed: oa.Array[i32],
) -> None:
    """``goes_on[i]`` becomes 1 for each vehicle of the list that stays on the road, else 0."""
    i = oa.grid(1)
    goes_on[i] = 0
    if i < count[0]:
        vehicle = vehicles[i]
        ended = vehicle.step_move()
        moved[i] += vehicle.velocity
        if ended:
            vehicle.end()
            removed[i] += 1
        else:
            goes_on[i] = 1


@oa.kernel
def keep_vehicles(
    vehicles: oa.Array[Vehicle],
    goes_on: oa.Array[i32],
    prefix: oa.Array[i32],
    next_vehicles: oa.Array[Vehicle],
) -> None:
    i = oa.grid(1)
    if goes_on[i] == 1:
        next_vehicles[prefix[i]] = vehicles[i]


@oa.kernel
def count_vehicles(goes_on: oa.Array[i32], prefix: oa.Array[i32], count: oa.Array[i32]) -> None:
    if oa.grid(1) == 0:
        last = len(goes_on) - 1
        count[0] = prefix[last] + goes_on[last]
