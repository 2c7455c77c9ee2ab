"""The tables of the evaluation, from a record: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from bench.harness import MILLISECONDS

from .counters import FIGURES, Figure
from .published import RATIOS, TABLE_2, artifact_seconds
from .records import Record, Row
from .workloads import BASELINE, MODES, NAMES

Cell = str | None


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; None is an empty cell."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    @property
    def heading(self) -> str:
        """The line above the table in Markdown."""
        return f"## {self.title}"

    def markdown(self) -> list[str]:
        """The lines of a table of GitHub's Markdown."""
        lines = [self.headings, ("---",) * len(self.headings), *self.rows]
        return ["| " + " | ".join(cell or "" for cell in line) + " |" for line in lines]


def tables(record: Record) -> list[Table]:
    """Every table that the record has rows for."""
    made = []
    figure_6, natural = record.of("6"), record.of("natural")
    if figure_6:
        made += [
            _table_2(figure_6),
            _medians("Figure 6: kernels, ms", record, figure_6),
            _extremes(figure_6),
            _speeds(figure_6),
            _ratios(record, figure_6),
        ]
    if counters := record.of("counters"):
        made += [_counters(figure, counters) for figure in FIGURES]
    if sweep := record.of("10"):
        made.append(_sweep(sweep))
    if natural:
        made += [_medians("Natural ports: kernels, ms", record, natural), _orders(record)]
    return made


# ------------------------------------------------------------------------- figure 6


def _table_2(rows: list[Row]) -> Table:
    modes = _modes(rows)
    headings = ("workload", "objects", "types", "call sites", *map(_code, modes))
    lines = []
    for workload in _workloads(rows):
        mine = [row for row in rows if row["workload"] == workload]
        paper = TABLE_2[workload]
        types = next((row["types"] for row in mine if "types" in row), None)
        sites = next((row["call_sites"] for row in mine if _is_of_paper(row)), None)
        lines.append(
            (
                workload,
                _beside(f"{mine[0]['objects']:,}", f"{paper.objects:,}"),
                types and _beside(f"{types['abstract']} + {types['concrete']}", str(paper.types)),
                sites and _beside(str(_total(sites)), str(paper.call_sites)),
                *_cells(mine, workload, modes, lambda row: f"{row['bytes_an_object']:.1f}"),
            )
        )
    title = "Table 2: objects, abstract and concrete types, call sites (the paper's); bytes"
    return Table(title, headings, lines)


def _is_of_paper(row: Row) -> bool:
    # In our own modes calls with one candidate are no longer virtual.
    return row["mode"] == BASELINE and "call_sites" in row


def _total(sites: dict[str, dict[str, int]]) -> int:
    return sum(sum(decisions.values()) for decisions in sites.values())


def _medians(title: str, record: Record, rows: list[Row]) -> Table:
    def cell(row: Row) -> str:
        own = _milliseconds(row["median"])
        published = None
        if record.compares_with_artifact and row["figure"] == "6":
            published = artifact_seconds(row["workload"], row["mode"])
        return own if published is None else _beside(own, _milliseconds(published))

    return _wide(title, rows, cell)


def _extremes(rows: list[Row]) -> Table:
    def cell(row: Row) -> str:
        low, high = (_milliseconds(f(row["samples"])) for f in (min, max))
        return f"{low} to {high} ({len(row['samples'])})"

    return _wide("Figure 6: shortest and longest run, ms (runs)", rows, cell)


def _speeds(rows: list[Row]) -> Table:
    times = _medians_by_key(rows)

    def speed(workload: str, mode: str) -> float | None:
        own, base = times.get((workload, mode)), times.get((workload, BASELINE))
        return base / own if own and base else None

    modes = _modes(rows)
    lines: list[tuple[Cell, ...]] = []
    for workload in _workloads(rows):
        lines.append((workload, *(_or_none(speed(workload, mode)) for mode in modes)))
    means: list[Cell] = []
    for mode in modes:
        values = [value for w in _workloads(rows) if (value := speed(w, mode))]
        few = "" if len(values) == len(_workloads(rows)) else f" of {len(values)}"
        means.append(f"{geometric_mean(values):.3f}{few}" if values else None)
    lines.append(("geometric mean", *means))
    return Table(f"Figure 6: speed relative to {BASELINE}", ("workload", *map(_code, modes)), lines)


def _ratios(record: Record, rows: list[Row]) -> Table:
    """The paper's consistent ratios, over the workloads that have both modes."""
    ours = _medians_by_key(rows)
    lines = []
    for ratio in RATIOS:
        speeds = {
            workload: ours[workload, ratio.other] / ours[workload, ratio.mode]
            for workload in _workloads(rows)
            if {(workload, ratio.other), (workload, ratio.mode)} <= set(ours)
        }
        lines.append(
            (
                f"`{ratio.mode}` over `{ratio.other}`",
                _mean(speeds.values()),
                f"{min(speeds.values()):.2f} to {max(speeds.values()):.2f}" if speeds else None,
                str(len(speeds)),
                _mean(_of_artifact(ratio.mode, ratio.other)),
                f"{ratio.paper:.2f}",
            )
        )
    headings = ("speed", "ours", "least to most", "workloads", "artifact, H200", "paper, V100")
    return Table("Ratios, geometric means", headings, lines)


def _of_artifact(mode: str, other: str) -> list[float]:
    pairs = ((artifact_seconds(w, mode), artifact_seconds(w, other)) for w in TABLE_2)
    return [slower / own for own, slower in pairs if own and slower]


def _mean(values: Iterable[float]) -> Cell:
    found = list(values)
    return f"{geometric_mean(found):.3f}" if found else None


# ------------------------------------------------------------------------- other figures


def _sweep(rows: list[Row]) -> Table:
    headings = ("workload", "objects in the first region", "regions", "ms", "fragmentation")
    lines = [
        (
            row["workload"],
            f"{row['initial_region']:,}",
            str(row["regions"]),
            _milliseconds(row["median"]),
            f"{row['external_fragmentation']:.2f}",
        )
        for row in rows
    ]
    return Table(f"Figure 10: first region of a class, mode `{rows[0]['mode']}`", headings, lines)


def _counters(figure: Figure, rows: list[Row]) -> Table:
    """A figure of hardware counters: its value in each mode, or how it relates to sharedoa's."""
    values = {(row["workload"], row["mode"]): figure.value(row["counters"]) for row in rows}
    modes, lines = _modes(rows), []
    columns: dict[str, list[float]] = {mode: [] for mode in modes}
    for workload in _workloads(rows):
        cells: list[Cell] = []
        for mode in modes:
            value, base = values.get((workload, mode)), values.get((workload, BASELINE))
            if figure.relative:
                value = value / base if value is not None and base else None
            if value is not None:
                columns[mode].append(value)
            cells.append(None if value is None else f"{value:.2f}")
        lines.append((workload, *cells))
    for name, published in figure.published.items():
        lines.append((name, *(_or_none(published.get(mode)) for mode in modes)))
    if figure.relative:
        positive = {m: [v for v in found if v > 0] for m, found in columns.items()}
        lines.append(("geometric mean", *(_mean(positive[mode]) for mode in modes)))
    else:
        averages = (sum(v) / len(v) if v else None for v in columns.values())
        lines.append(("mean", *map(_or_none, averages)))
    return Table(figure.title, ("workload", *map(_code, modes)), lines)


def _or_none(value: float | None) -> Cell:
    return None if value is None else f"{value:.2f}"


def _orders(record: Record) -> Table:
    """How modes rank in the natural ports and in the faithful ones, fastest first."""
    natural, faithful = (_medians_by_key(record.of(figure)) for figure in ("natural", "6"))
    lines = []
    for workload in _workloads(record.of("natural")):
        orders = [
            _order(times, workload, [m for m in MODES if (workload, m) in natural])
            for times in (natural, faithful)
        ]
        lines.append((workload, *(", ".join(map(_code, o)) or None for o in orders), _rho(*orders)))
    headings = ("workload", "natural, fastest first", "faithful, fastest first", "Spearman's rho")
    return Table("Order of the modes", headings, lines)


def _order(times: dict[tuple[str, str], float], workload: str, modes: list[str]) -> list[str]:
    known = [mode for mode in modes if (workload, mode) in times]
    return sorted(known, key=lambda mode: times[workload, mode])


def _rho(first: list[str], second: list[str]) -> Cell:
    """Spearman's rank correlation of two orders of the same modes; needs two modes at least."""
    n = len(first)
    if n < 2 or set(first) != set(second):
        return None
    squares = sum((place - second.index(mode)) ** 2 for place, mode in enumerate(first))
    return f"{1 - 6 * squares / (n * (n * n - 1)):.2f}"


# ------------------------------------------------------------------------- cells


def _wide(title: str, rows: list[Row], cell: Callable[[Row], str]) -> Table:
    """A line for each workload, a column for each mode."""
    modes = _modes(rows)
    lines = [(w, *_cells(rows, w, modes, cell)) for w in _workloads(rows)]
    return Table(title, ("workload", *map(_code, modes)), lines)


def _cells(
    rows: list[Row], workload: str, modes: Sequence[str], cell: Callable[[Row], str]
) -> list[Cell]:
    found = {row["mode"]: cell(row) for row in rows if row["workload"] == workload}
    return [found.get(mode) for mode in modes]


def _modes(rows: list[Row]) -> list[str]:
    present = {row["mode"] for row in rows}
    return [mode for mode in MODES if mode in present]


def _workloads(rows: list[Row]) -> list[str]:
    present = {row["workload"] for row in rows}
    return [workload for workload in NAMES if workload in present]


def _medians_by_key(rows: list[Row]) -> dict[tuple[str, str], Any]:
    return {(row["workload"], row["mode"]): row["median"] for row in rows}


def _milliseconds(seconds: float) -> str:
    """Three digits or more."""
    value = seconds * MILLISECONDS
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def _beside(own: str, other: str) -> str:
    return f"{own} ({other})"


def _code(text: str) -> str:
    return f"`{text}`"
