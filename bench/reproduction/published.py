"""What others measured: the paper on a V100, and the paper's own programs on an H200."""

from __future__ import annotations

from dataclasses import dataclass

from .workloads import PAPER_MODES

#: Milliseconds of the kernels of the artifact's programs on one H200, by CUPTI, medians of three,
#: in the order of PAPER_MODES. Its GOL has a racy rule, with a third to a half of the agents.
_ARTIFACT: dict[str, tuple[float | None, ...]] = {
    "TRAF": (1501.4, 1228.7, 1375.8, 1588.2, 1322.5),
    "GOL": (948.1, None, 667.5, 898.4, 666.2),
    "STUT": (53.00, 40.18, 24.84, 24.30, 20.55),
    "GEN": (257.5, 217.5, 205.3, 282.3, 201.5),
    "BFS (vE)": (6.539, 6.021, 5.143, 5.351, 5.211),
    "CC (vE)": (18.03, 16.19, 11.58, 12.00, 11.97),
    "PR (vE)": (12.15, 11.21, 8.928, 7.870, 7.800),
    "BFS (vEN)": (7.310, 6.574, 6.046, 8.697, 5.995),
    "CC (vEN)": (20.97, 18.40, 14.57, 21.25, 14.83),
    "PR (vEN)": (13.47, 12.22, 10.39, 11.13, 8.654),
    "RAY": (1.245, 0.582, 1.219, 1.460, 1.543),
}


def artifact_seconds(workload: str, mode: str) -> float | None:
    """Seconds of the artifact's program for this mode, if it was measured."""
    milliseconds = dict(zip(PAPER_MODES, _ARTIFACT.get(workload, ()), strict=False)).get(mode)
    return None if milliseconds is None else milliseconds / 1000


@dataclass(frozen=True)
class Ratio:
    """How many times as fast ``mode`` is as ``other``, geometric mean of the paper's workloads."""

    mode: str
    other: str
    paper: float


#: Section 8.1 of the paper. Its text gives COAL and TypePointer over the three others; SharedOA
#: over CUDA follows from both as 1.70 (1.80 / 1.06, 1.90 / 1.12), over Concord as 1.39, and Concord
#: over CUDA as 1.22. "SharedOA outperforms CUDA by 41 %" can only mean that CUDA runs at 1 / 1.70.
RATIOS = (
    Ratio("sharedoa", "cuda", 1.70),
    Ratio("sharedoa", "concord", 1.39),
    Ratio("concord", "cuda", 1.22),
    Ratio("coal", "sharedoa", 1.06),
    Ratio("typepointer", "sharedoa", 1.12),
)


@dataclass(frozen=True)
class Table2:
    """A row of the paper's table 2. Its "virtual functions" are static virtual call sites of the
    timed kernels."""

    objects: int
    types: int
    call_sites: int


TABLE_2 = {
    "TRAF": Table2(1_573_714, 6, 74),
    "GOL": Table2(5_645_916, 4, 29),
    "STUT": Table2(525_000, 4, 40),
    # The agents of GEN, as many as cells, are not counted.
    "GEN": Table2(1_048_576, 4, 33),
    "BFS (vE)": Table2(2_254_419, 4, 5),
    "CC (vE)": Table2(2_254_419, 4, 6),
    "PR (vE)": Table2(2_254_419, 4, 3),
    "BFS (vEN)": Table2(2_254_419, 4, 15),
    "CC (vEN)": Table2(2_254_419, 4, 15),
    "PR (vEN)": Table2(2_254_419, 4, 10),
    "RAY": Table2(1000, 3, 3),
}
#: Figures 7 and 8, averages over the workloads relative to SharedOA: warp instructions and global
#: load transactions.
WARP_INSTRUCTIONS = {"cuda": 1.0, "concord": 1.28, "coal": 1.83, "typepointer": 1.19}
LOAD_TRANSACTIONS = {"coal": 0.86, "typepointer": 0.81}
