"""The kernels of the graph programs become code for NVIDIA's and AMD's GPUs."""

from __future__ import annotations

import pytest

from apps.graphs.ve import bfs, cc, inspection, pagerank
from apps.graphs.ven import bfs as bfs_ven
from apps.graphs.ven import cc as cc_ven
from apps.graphs.ven import inspection as inspection_ven
from apps.graphs.ven import pagerank as pagerank_ven

from ..gpu_code import EVERY_MODE, check_gpu_code, kernels_of


@pytest.mark.parametrize(("mode", "everything"), EVERY_MODE)
def test_every_kernel_in_every_mode(mode: str, everything: bool) -> None:
    suites = (bfs, cc, pagerank, inspection), (bfs_ven, cc_ven, pagerank_ven, inspection_ven)
    for suite in suites:
        kernels = set(kernels_of(*suite))
        assert len(kernels) == 8
        check_gpu_code(list(kernels), mode, everything)
