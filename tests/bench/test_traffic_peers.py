"""Traffic of other tools counts what the objects of ``apps/traffic/faithful`` count."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from apps.common.launches import Launches
from apps.traffic.faithful.simulation import FaithfulSimulation
from apps.traffic.generated import generate
from apps.traffic.network import Network, build
from bench.comparison import user_lines
from bench.comparison.cases import TRAFFIC, Case
from bench.comparison.program import Measurement
from bench.comparison.tools import cuda_cxx, traffic
from bench.comparison.toolset import ROOT
from bench.peers import cuda_programs

#: Short roads of few intersections with many producers and targets, so that a lot happens soon.
CROWDED, TINY, DEAD_ENDS, SPARSE = "crowded", "tiny", "dead ends", "as generated"
STEPS = {CROWDED: 60, TINY: 16, DEAD_ENDS: 45, SPARSE: 80}
NETWORKS = tuple(STEPS)


@cache
def network(name: str) -> Network:
    if name == SPARSE:
        return build(generate(12, 7))
    graph = generate({CROWDED: 6, TINY: 3, DEAD_ENDS: 7}[name], 5)
    through = graph.through.copy()
    if name == DEAD_ENDS:
        through[::3] = False
    shortened = graph.steps // (16 if name == TINY else 6)
    made = build(replace(graph, steps=shortened, through=through))
    generator = np.random.default_rng(3)
    return replace(
        made,
        is_producer=generator.random(made.cells) < 0.8,
        is_target=generator.random(made.cells) < 0.1,
        seed=generator.integers(-(2**31), 2**31, made.cells).astype(np.int32),
    )


@cache
def counted(name: str) -> dict[str, int]:
    """By our objects on the processor."""
    with oa.Heap(backend="cpu") as heap:
        simulation = FaithfulSimulation(heap, network(name), Launches(heap, timed=False))
        for _ in range(STEPS[name]):
            simulation.advance()
        return simulation.counts()


def test_networks_have_what_programs_can_get_wrong():
    for name in NETWORKS:
        counts = counted(name)
        assert counts["active"] > 3 and counts["removed"] > 0 and counts["velocity_sum"] > 50
        assert network(name).is_stop.any() and STEPS[name] > 3 * 5
    assert (network(DEAD_ENDS).num_outgoing == 0).any()
    assert (network(DEAD_ENDS).light_sizes == 0).any()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in (CROWDED, DEAD_ENDS)))
        for name in NETWORKS
    ],
)
@pytest.mark.parametrize("variant", cuda_programs.VARIANTS)
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_cuda_programs_as_plain_cxx(name, variant):
    found: list[dict[str, int]] = []
    own = cuda_programs.traffic_program(network(name), STEPS[name], found.append)
    executable, _ = cuda_cxx.build(own.text, cuda_cxx.HOST)
    record = cuda_cxx.run(executable, own, variant, 4)
    assert found == [counted(name)]
    assert record["steps"] == STEPS[name] and record["host"] == []
    assert len(record["samples"]) == 4 and min(record["samples"]) > 0
    assert user_lines.count_cxx(user_lines.marked(own.text, variant)) > 100


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_a_cuda_program_is_checked_by_the_reference():
    case = Case(TRAFFIC, 20, 20, 10, steps=200)
    own = cuda_programs.program(case)
    executable, _ = cuda_cxx.build(own.text, cuda_cxx.HOST)
    cuda_cxx.run(executable, own, "switch", 500)
    stopped = replace(own, numbers=(199, *own.numbers[1:]))
    with pytest.raises(traffic.WrongResult, match=r"not \{'active': 234"):
        cuda_cxx.run(executable, stopped, "switch", 1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_cuda_cxx_measures_whole_runs(monkeypatch):
    build = cuda_cxx.build
    monkeypatch.setattr(cuda_cxx, "build", lambda text: build(text, cuda_cxx.HOST))
    found = list(cuda_cxx.measure(Case(TRAFFIC, 20, 20, 10, steps=200), "cuda", 3))
    assert [each.variant for each in found] == ["virtual", "switch"]
    for each in found:
        assert isinstance(each, Measurement)
        assert len(each.samples) == 3 and each.host == [] and each.lines > 100
        assert each.details["clock"] == traffic.CLOCK["clock"]


#: numba's simulator runs a thread of Python for each of the device: small blocks.
SIMULATED = """
import json, pickle, sys
from bench.peers import numba_cuda_prefix_sum, numba_cuda_traffic

numba_cuda_traffic.THREADS = 16
numba_cuda_prefix_sum.FAN, numba_cuda_prefix_sum.BLOCK, numba_cuda_prefix_sum.GROUP = 2, 4, 4
simulation = numba_cuda_traffic.ArraySimulation(pickle.load(sys.stdin.buffer))
for _ in range(int(sys.argv[1])):
    simulation.advance()
print(json.dumps(simulation.counts()))
"""
SUMMED = """
import json, pickle, sys
from numba import cuda
from bench.peers import numba_cuda_prefix_sum as module

module.FAN, module.BLOCK, module.GROUP = 3, 9, 4
values = pickle.load(sys.stdin.buffer)
result = cuda.to_device(values)
module.PrefixSum(int(sys.argv[1])).launch(cuda.to_device(values), result)
print(json.dumps(result.copy_to_host().tolist()))
"""


def simulated(program: str, argument: int, given: Any) -> Any:
    """What a program prints in numba's simulator, which a process has or has not."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(argument)],
        input=pickle.dumps(given),
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def test_numba_cuda_in_its_simulator():
    pytest.importorskip("numba")
    assert simulated(SIMULATED, STEPS[TINY], network(TINY)) == counted(TINY)


def test_prefix_sums_of_numba_cuda_in_its_simulator():
    pytest.importorskip("numba")
    # More pieces than a block has threads, the last one not whole, and elements behind it.
    length = 9 * 4 * 11 + 6
    values = np.random.default_rng(1).integers(-9, 9, length + 5).astype(np.int32)
    expected = np.concatenate([[0], np.cumsum(values[: length - 1]), values[length:]])
    assert simulated(SUMMED, length, values) == expected.tolist()


@pytest.mark.parametrize("name", NETWORKS)
def test_numba(name):
    numba_traffic = pytest.importorskip("bench.peers.numba_traffic")
    simulation = numba_traffic.ArraySimulation(network(name))
    for _ in range(STEPS[name]):
        simulation.advance()
    assert simulation.counts() == counted(name)


@pytest.mark.parametrize("name", NETWORKS)
def test_drjit(name):
    pytest.importorskip("drjit")
    from bench.comparison.tools import drjit_tool
    from bench.peers import drjit_traffic

    if drjit_tool.missing("cpu"):
        pytest.skip(drjit_tool.missing("cpu"))
    import drjit.llvm

    for variant in drjit_traffic.VARIANTS:
        simulation = drjit_traffic.ArraySimulation(network(name), variant, drjit.llvm)
        for _ in range(STEPS[name]):
            simulation.advance()
        assert simulation.counts() == counted(name)


def test_drjit_measures_whole_runs():
    pytest.importorskip("drjit")
    from bench.comparison.tools import drjit_tool

    if drjit_tool.missing("cpu"):
        pytest.skip(drjit_tool.missing("cpu"))
    found = list(drjit_tool.measure(Case(TRAFFIC, 20, 20, 10, steps=200), "cpu", 3))
    assert [each.variant for each in found] == ["arrays", "arrays, frozen"]
    for each in found:
        assert isinstance(each, Measurement)
        assert len(each.samples) == 3 and each.host == [] and each.details == traffic.CLOCK
        assert each.lines > 100
