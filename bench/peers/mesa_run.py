"""``python -m bench.peers.mesa_run PROGRAM AGENTS STEPS SEED``: times each step of one of Mesa's
programs, and prints what it found as a line of JSON. It needs Mesa, and nothing of this project but
``bench/peers``, so that it runs in an environment that has nothing else."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.metadata import version
from time import perf_counter


def main() -> None:
    """The command line."""
    name, agents, steps, seed = sys.argv[1], *map(int, sys.argv[2:])
    start = perf_counter()
    simulation = importlib.import_module(f"bench.peers.mesa_{name}").Simulation(agents, seed)
    samples = [perf_counter() - start]
    for _ in range(steps):
        start = perf_counter()
        simulation.step()
        samples.append(perf_counter() - start)
    found = {
        "made in": samples[0],
        "samples": samples[1:],
        "counts": simulation.counts(),
        "versions": {each: version(each) for each in ("mesa", "numpy")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
