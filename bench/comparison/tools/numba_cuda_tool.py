"""Kernels of numba-cuda, timed by events."""

from __future__ import annotations

from typing import Any

from ..cases import CALL_EACH, FEW_OBJECTS, LIFE, MICROBENCHMARK, OBJECT_GRAPH, RAYS, TRAFFIC, Case
from ..program import WARM_UP, Found, Measurement, Program, host_samples, seconds_of
from ..user_lines import count_python
from . import traffic

#: Nanoseconds that one round of the occupying kernel waits, at most what the hardware takes.
_ROUND = 1_000_000


def missing(backend: str) -> str:
    """Why nothing can be measured here, or nothing."""
    if backend != "cuda":
        return "needs an NVIDIA GPU"
    try:
        from numba import cuda
    except ImportError as error:
        return f"{error} (pip install numba-cuda)"
    if cuda.is_available():
        return ""
    # What is_available looks for besides the driver is libNVVM.
    return " ".join(str(cuda.cuda_error() or "numba-cuda finds no libNVVM: set CUDA_HOME").split())


def measure(case: Case, backend: str, repeat: int) -> Found:
    from numba import cuda

    if case.workload == TRAFFIC:
        from bench.peers import numba_cuda_traffic

        simulation = numba_cuda_traffic.ArraySimulation(traffic.network(case))
        yield traffic.measure_peer(
            case, "", repeat, numba_cuda_traffic, simulation, cuda.synchronize
        )
        return

    from bench.peers import (
        numba_cuda_call_each,
        numba_cuda_few_objects,
        numba_cuda_life,
        numba_cuda_object_graph,
        numba_cuda_rays,
    )

    programs: dict[str, Any] = {
        FEW_OBJECTS: numba_cuda_few_objects,
        CALL_EACH: numba_cuda_call_each,
        MICROBENCHMARK: numba_cuda_call_each,
        OBJECT_GRAPH: numba_cuda_object_graph,
        LIFE: numba_cuda_life,
        RAYS: numba_cuda_rays,
    }
    program = programs[case.workload].prepare(case)

    def first_step() -> None:
        program.advance()
        cuda.synchronize()

    first = seconds_of(first_step)
    host = host_samples(program.advance, cuda.synchronize, repeat)
    samples = _by_events(cuda, program, repeat)
    program.verify()
    yield Measurement("", samples, host, first, count_python(program.source))


def _by_events(cuda: Any, program: Program, repeat: int) -> list[float]:
    """Seconds of each step on the device. All are queued while another kernel runs, so that none
    waits for the host."""

    occupy = _occupying(cuda)
    occupy[1, 1](1)
    queueing = max(seconds_of(program.advance) for _ in range(WARM_UP))
    cuda.synchronize()
    pairs = [(cuda.event(), cuda.event()) for _ in range(repeat)]
    occupy[1, 1](1 + int(2 * queueing * repeat * 1e9 / _ROUND))
    for before, after in pairs:
        before.record()
        program.advance()
        after.record()
    cuda.synchronize()
    return [before.elapsed_time(after) / 1000 for before, after in pairs]


def _occupying(cuda: Any) -> Any:
    """A kernel that takes so many rounds, each about a millisecond."""

    @cuda.jit  # type: ignore[untyped-decorator, unused-ignore]
    def occupy(rounds: int) -> None:
        for _ in range(rounds):
            cuda.nanosleep(_ROUND)

    return occupy
