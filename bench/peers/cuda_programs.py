"""The CUDA C++ program of each workload: its text, what it reads, and how its result is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apps.common.xorwow_streams import seeded_states
from apps.traffic.faithful.classes import NORMAL, PRODUCER
from apps.traffic.network import Network
from bench.comparison import inputs
from bench.comparison.cases import (
    CALL_EACH,
    FEW_OBJECTS,
    LIFE,
    MICROBENCHMARK,
    OBJECT_GRAPH,
    POPULATION,
    RAYS,
    TRAFFIC,
    Case,
)
from bench.comparison.inputs import Array
from bench.comparison.scene import require_picture, scene
from bench.comparison.tools import traffic

from . import cuda_call_each

#: With virtual functions; with arrays and a switch.
VARIANTS = ("virtual", "switch")
FOLDER = Path(__file__).parent
HEADER = FOLDER / "cuda_program.h"


@dataclass(frozen=True)
class CudaProgram:
    """``text`` is C++ that needs ``HEADER``; ``numbers`` are arguments of its command line,
    ``arrays`` its input, one after another; it writes elements of ``dtype``, which ``check`` gets
    with the number of steps that were taken."""

    text: str
    numbers: Sequence[int]
    arrays: Sequence[Array]
    dtype: Any
    check: Callable[[Array, int], None]


def program(case: Case) -> CudaProgram:
    """The program for a case."""
    return _PROGRAMS[case.workload](case)


def _few_objects(case: Case) -> CudaProgram:
    given = inputs.few_objects(case)
    return CudaProgram(
        _text("few_objects"),
        (case.objects, case.calls),
        (given.kinds.astype(np.uint8), given.p, given.q, given.which, given.scales),
        np.float32,
        lambda found, _: inputs.require_equal(found, given.expected()),
    )


def _call_each(case: Case) -> CudaProgram:
    given = inputs.objects_of(case)
    return CudaProgram(
        cuda_call_each.text(case.types),
        (case.objects, given.each, case.order == POPULATION),
        (given.a, given.tags, given.slots),
        np.float32,
        lambda found, steps: inputs.require_equal(found, given.after_calls(steps)),
    )


def _object_graph(case: Case) -> CudaProgram:
    given = inputs.objects_of(case)
    partner_tags = given.classes[given.partners]
    return CudaProgram(
        _text("object_graph"),
        (case.objects,),
        (given.a, given.b, given.tags, given.slots, partner_tags, given.partners),
        np.float32,
        lambda found, steps: inputs.require_equal(found, given.after_nested_calls(steps)),
    )


def _life(case: Case) -> CudaProgram:
    board = inputs.board(case)
    return CudaProgram(
        _text("life"),
        (inputs.side(case),),
        (board.astype(np.uint8),),
        np.uint8,
        lambda found, steps: inputs.require_equal(
            found.reshape(board.shape).astype(bool), inputs.board_after(case, steps)
        ),
    )


def _rays(case: Case) -> CudaProgram:
    given = scene(case)
    arrays = (given.kinds, given.x, given.y, given.z, given.r, given.materials)
    return CudaProgram(
        _text("rays"),
        (inputs.side(case), case.objects, len(given.albedo)),
        (*arrays, given.material_kinds, given.albedo),
        np.float32,
        lambda found, _: require_picture(found, case),
    )


def _traffic(case: Case) -> CudaProgram:
    return traffic_program(
        traffic.network(case), case.steps, lambda counts: traffic.check(case, counts)
    )


def traffic_program(
    network: Network, steps: int, check: Callable[[dict[str, int]], None]
) -> CudaProgram:
    """The program that runs so many steps on a network; ``check`` gets the counts."""
    cells, capacity = network.cells, 2 << (network.cells - 1).bit_length()
    limit = np.where(network.is_stop, 0, network.max_velocity).astype(np.int32)
    kinds = np.where(network.is_producer, PRODUCER, NORMAL).astype(np.int8)

    def check_written(found: Array, _: int) -> None:
        created, moved, removed = found[2:].reshape(3, cells)
        check(
            {
                "active": int(found[0]),
                "created": int(created.sum()),
                "removed": int(removed.sum()),
                "velocity_sum": int(moved.sum()),
            }
        )

    return CudaProgram(
        "".join(_text(part) for part in ("traffic_virtual", "traffic_switch", "traffic")),
        (steps, cells, network.lights, capacity),
        (
            seeded_states(network.seed), network.incoming, network.outgoing,
            network.num_incoming, network.num_outgoing, limit, network.max_velocity,
            network.x, network.y, network.is_target, kinds,
            network.light_cells, network.light_sizes,
        ),
        np.int32,
        check_written,
    )  # fmt: skip


def _text(name: str) -> str:
    return (FOLDER / f"cuda_{name}.cu").read_text()


_PROGRAMS: dict[str, Callable[[Case], CudaProgram]] = {
    FEW_OBJECTS: _few_objects,
    CALL_EACH: _call_each,
    MICROBENCHMARK: _call_each,
    OBJECT_GRAPH: _object_graph,
    LIFE: _life,
    RAYS: _rays,
    TRAFFIC: _traffic,
}
