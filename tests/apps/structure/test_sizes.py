"""The larger sizes on the CPU: the paper's 150,000 nodes in each flavour, and repairs."""

from __future__ import annotations

import pytest

from .running import generated_structure, require_repaired, require_table, simulation


@pytest.mark.slow
@pytest.mark.parametrize("natural", [False, True])
def test_paper_size(natural: bool) -> None:
    structure = generated_structure(150_000)
    with simulation(structure, mode="range+switch", natural=natural) as running:
        require_table(running, 150_000)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sharedoa", "coal"])
def test_repairs(mode: str) -> None:
    require_repaired(15_000, mode, "cpu")
