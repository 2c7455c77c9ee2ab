"""The figures of the evaluation as PNG files, from records alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.harness import MICROSECONDS
from ptxpass.output_file import whole_file
from sharedoa.errors import ConfigurationError

from .counters import FIGURES, Figure
from .measure import ARTIFACT_REGION
from .records import Record, RecordError, Row
from .workloads import BASELINE, MODES, NAMES

_RESOLUTION = 100
_MI = 1 << 20
#: Figure 12: types of 12a, objects of 12b, and f32 fields of an object in both.
_TYPES, _OBJECTS, _FIELDS = 4, 16 * _MI, 4
#: Value, lowest and highest by workload and mode.
Bars = dict[tuple[str, str], Sequence[float]]
_COLOURS = {mode: f"C{number % 10}" for number, mode in enumerate(MODES)}


def draw(record: Record, calls: Path | None, folder: Path) -> list[Path]:
    """Draw every figure that ``record`` has rows for, and figure 12 from ``calls``, a record of
    ``virtual_call``; the files.

    Raises ConfigurationError without matplotlib, RecordError for a file that is no such record.
    """
    pyplot = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    if rows := record.of("6"):
        figures["figure-6"] = _speeds(pyplot, rows)
    if rows := record.of("counters"):
        figures |= {each.name: _counted(pyplot, each, rows) for each in FIGURES}
    if rows := record.of("10"):
        figures["figure-10"] = _regions(pyplot, rows)
    if calls is not None:
        rows = _calls(calls)
        figures["figure-12a"] = _by_objects(pyplot, rows)
        figures["figure-12b"] = _by_types(pyplot, rows)
    files = []
    for name, figure in figures.items():
        files.append(folder / f"{name}.png")
        # Without the version of matplotlib, so that equal figures are equal files.
        with whole_file(files[-1]) as file:
            figure.savefig(file, format="png", dpi=_RESOLUTION, metadata={"Software": None})
        pyplot.close(figure)
    return files


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigurationError(
            "plots need matplotlib", "run `pip install sharedoa[plot]`"
        ) from error
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


# ------------------------------------------------------------------------- bars


def _speeds(pyplot: Any, rows: list[Row]) -> Any:
    """Figure 6. Error bars go from the longest run to the shortest."""
    bases = {row["workload"]: row["median"] for row in rows if row["mode"] == BASELINE}
    bars: Bars = {
        (row["workload"], row["mode"]): tuple(
            bases[row["workload"]] / seconds
            # Samples are rounded when they are recorded, so that one alone may miss its median.
            for seconds in (
                row["median"],
                max(row["median"], *row["samples"]),
                min(row["median"], *row["samples"]),
            )
        )
        for row in rows
        if row["workload"] in bases
    }
    figure, panel = _grouped(pyplot, bars, "geometric mean")
    panel.set_ylabel(f"speed relative to {BASELINE}")
    panel.set_title("Figure 6: kernels of the eleven workloads, median with shortest and longest")
    return figure


def _counted(pyplot: Any, shown: Figure, rows: list[Row]) -> Any:
    """A figure of hardware counters."""
    values = {(row["workload"], row["mode"]): shown.value(row["counters"]) for row in rows}
    bars: Bars = {}
    for (workload, mode), value in values.items():
        base = values.get((workload, BASELINE)) if shown.relative else 1.0
        if value is not None and base:
            bars[workload, mode] = (value / base,) * 3
    figure, panel = _grouped(pyplot, bars, "geometric mean" if shown.relative else "")
    panel.set_title(shown.title)
    return figure


def _grouped(pyplot: Any, bars: Bars, mean: str) -> Any:
    """A group of bars for each workload; ``mean`` names a last one, of geometric means."""
    modes = [mode for mode in MODES if any(mode == m for _, m in bars)]
    groups = [name for name in NAMES if any(name == w for w, _ in bars)]
    figure, panel = pyplot.subplots(figsize=(13, 4.2), layout="constrained")
    width = 0.86 / max(len(modes), 1)
    for number, mode in enumerate(modes):
        own = {place: bars[w, mode] for place, w in enumerate(groups) if (w, mode) in bars}
        if mean and own:
            positive = [value for value, _, _ in own.values() if value > 0]
            own[len(groups)] = (geometric_mean(positive),) * 3 if positive else (0.0,) * 3
        left = [place + (number - (len(modes) - 1) / 2) * width for place in own]
        middle = [value for value, _, _ in own.values()]
        spread = [
            [value - low for value, low, _ in own.values()],
            [high - value for value, _, high in own.values()],
        ]
        panel.bar(
            left, middle, width, yerr=spread, label=mode, color=_COLOURS[mode],
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
        )  # fmt: skip
    panel.set_xticks(range(len(groups) + bool(mean)), [*groups, *([mean] if mean else [])])
    panel.axhline(1, color="black", linewidth=0.6)
    panel.legend(ncols=len(modes), fontsize=8, loc="upper left")
    panel.margins(x=0.01, y=0.15)
    return figure, panel


# ------------------------------------------------------------------------- lines


def _regions(pyplot: Any, rows: list[Row]) -> Any:
    """Figure 10: time and fragmentation against the size of the first region."""
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for workload in [name for name in NAMES if any(name == row["workload"] for row in rows)]:
        own = sorted(
            (row for row in rows if row["workload"] == workload),
            key=lambda row: int(row["initial_region"]),
        )
        sizes = [row["initial_region"] for row in own]
        times = [row["median"] / own[0]["median"] for row in own]
        panels[0].plot(sizes, times, "o-", label=workload)
        panels[1].plot(sizes, [row["external_fragmentation"] for row in own], "o-", label=workload)
    panels[0].set_ylabel("time relative to the smallest region")
    panels[0].set_ylim(0, 1.1 * panels[0].get_ylim()[1])
    panels[1].set_ylabel("external fragmentation")
    panels[1].set_ylim(0, 1)
    for panel in panels:
        panel.set_xscale("log", base=2)
        panel.set_xlabel("objects in the first region of a class")
        panel.axvline(ARTIFACT_REGION, color="grey", linestyle="--", label="the artifact's")
    panels[0].legend()
    figure.suptitle(f"Figure 10: size of the first region, mode {rows[0]['mode']}")
    return figure


def _calls(file: Path) -> list[Row]:
    """Measured rows of a record of virtual calls that figure 12 shows."""
    try:
        document = json.loads(file.read_text())
        if document["benchmark"] != "virtual-call":
            raise KeyError("virtual-call")
        rows = document["rows"]
    except OSError as error:
        raise RecordError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{file} is no record of virtual_call") from error
    return [
        row
        for row in rows
        if "median" in row and row["order"] == "mixed" and row["fields"] == _FIELDS
    ]


def _by_objects(pyplot: Any, rows: list[Row]) -> Any:
    """Figure 12a: the time of a call against BRANCH, by number of objects."""
    chosen = [row for row in rows if row["types"] == _TYPES]
    branches = dict(_branches(chosen, "objects"))
    points = {
        mode: [(size / _MI, time / branches[size]) for size, time in times if size in branches]
        for mode, times in _calls_by(chosen, "objects").items()
    }
    figure, panel = _lines(pyplot, points)
    panel.axhline(1, color="black", linestyle="--", linewidth=1)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("objects, Mi")
    panel.set_ylabel(f"time relative to BRANCH on objects of {BASELINE}")
    panel.set_title(f"Figure 12a: one call a thread, {_TYPES} types in a warp")
    return figure


def _by_types(pyplot: Any, rows: list[Row]) -> Any:
    """Figure 12b: the time of a call by number of types in a warp."""
    chosen = [row for row in rows if row["objects"] == _OBJECTS]
    points = _calls_by(chosen, "types")
    branches = _branches(chosen, "types")
    figure, panel = _lines(pyplot, points)
    panel.plot(*_columns(branches), "k--", label=f"BRANCH, objects of {BASELINE}")
    panel.set_yscale("log")
    panel.legend(fontsize=8, loc="upper left")
    panel.set_xlabel("types in a warp")
    panel.set_ylabel("us a launch")
    panel.set_title(f"Figure 12b: one call a thread, {_OBJECTS // _MI} Mi objects")
    return figure


Points = list[tuple[float, float]]


def _calls_by(rows: list[Row], across: str) -> dict[str, Points]:
    """(value of ``across``, median us of a virtual call) by mode."""
    calls = [row for row in rows if row["kernel"] == "virtual call"]
    return {
        mode: sorted(
            (row[across], row["median"] * MICROSECONDS) for row in calls if row["mode"] == mode
        )
        for mode in MODES
        if any(mode == row["mode"] for row in calls)
    }


def _branches(rows: list[Row], across: str) -> Points:
    """The same for BRANCH, which runs no dispatch, on the objects of the baseline."""
    return sorted(
        (row[across], row["median"] * MICROSECONDS)
        for row in rows
        if row["kernel"] == "branch" and row["mode"] == BASELINE
    )


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _lines(pyplot: Any, points: dict[str, Points]) -> Any:
    """A line for each mode."""
    figure, panel = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for mode, own in points.items():
        panel.plot(*_columns(own), "o-", markersize=3, label=mode, color=_COLOURS[mode])
    panel.set_xscale("log", base=2)
    panel.legend(fontsize=8, ncols=2)
    return figure, panel
