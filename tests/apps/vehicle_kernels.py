"""The methods that the natural flavour of traffic calls for whole populations, in kernels of their
own."""

from __future__ import annotations

import sharedoa as oa
from apps.traffic.natural.classes import ProducerCell, TrafficLight, Vehicle
from sharedoa import i64, u32


@oa.kernel
def produce(
    cells: oa.Array[ProducerCell], truck_shares: u32, bus_shares: u32, counts: oa.Array[i64]
) -> None:
    cells[oa.grid(1)].produce(truck_shares, bus_shares, counts)


@oa.kernel
def switch_lights(lights: oa.Array[TrafficLight]) -> None:
    lights[oa.grid(1)].step()


@oa.kernel
def prepare_paths(vehicles: oa.Array[Vehicle]) -> None:
    vehicles[oa.grid(1)].step_prepare_path()


@oa.kernel
def move_vehicles(vehicles: oa.Array[Vehicle], counts: oa.Array[i64]) -> None:
    vehicles[oa.grid(1)].step_move(counts)
