"""Tables of what was counted."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from bench.harness import MICROSECONDS, show

_KIB, _MIB = 1 << 10, 1 << 20
#: Largest sizes of classes of migrations, in KiB: a page, what one fault brings along, a prefetch.
_CLASSES = (4, 64, 512, 2048)


def report(rows: Sequence[dict[str, Any]], all_kernels: bool) -> None:
    """Print what moved in each part of each run, and the kernels that met faults, or all of them;
    without counts of unified memory all of them, whose first launches are then what there is."""
    show(
        "Unified memory: faults, MiB that moved because it was asked for, and what moved by itself",
        (
            "program", "part", "GPU faults", "host faults", "to device", "to host",
            "by itself to device", "to host", "migrations", "longest sweep", "page by page",
        ),
        [_part(row, part) for row in rows for part in row["parts"]],
    )  # fmt: skip
    show(
        "Migrations of whole runs by their size in KiB",
        (
            "program", "direction", "cause",
            *(f"up to {most:,}" for most in _CLASSES), "more", "MiB",
        ),
        [size for row in rows for size in _sizes(row)],
    )  # fmt: skip
    shown = [
        (row, kernel)
        for row in rows
        for kernel in row["kernels"]
        if all_kernels or row["refused"] or kernel["gpu_fault_groups"] or _moved(kernel)
    ]
    if shown:
        show(
            "Kernels: us of launches, and what faulted or moved by itself meanwhile",
            (
                "program", "kernel", "launches", "first", "later, median", "longest",
                "disturbed", "median of these", "of the others", "GPU faults", "migrations",
            ),
            [_kernel(row, kernel) for row, kernel in shown],
        )  # fmt: skip
    print(f"\npage by page: {_verdict(rows)}", flush=True)


def _verdict(rows: Sequence[dict[str, Any]]) -> str:
    missing = [_name(row) for row in rows if not row["parts"]]
    if missing or not rows:
        return f"not counted: {', '.join(missing) or 'nothing ran'}"
    return "; ".join(page_by_page(rows)) or "nowhere"


def page_by_page(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The runs of programs, and the parts of them, in which memory moved page by page."""
    return [
        f"{_name(row)}, {part['part']}"
        for row in rows
        if row["flavour"]
        for part in row["parts"]
        if part["page_by_page"]
    ]


def _part(row: dict[str, Any], part: dict[str, Any]) -> tuple[Any, ...]:
    asked = [m for m in part["migrations"] if m["cause"] == "asked for"]
    unasked = [m for m in part["migrations"] if m["cause"] != "asked for"]
    return (
        _name(row), part["part"], part["gpu_fault_groups"], part["cpu_faults"],
        _mib(asked, "to device"), _mib(asked, "to host"),
        _mib(unasked, "to device"), _mib(unasked, "to host"),
        sum(m["count"] for m in unasked), part["longest_sweep"],
        "yes" if part["page_by_page"] else "no",
    )  # fmt: skip


def _sizes(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[str, str], list[int]] = {}
    moved: Counter[tuple[str, str]] = Counter()
    for part in row["parts"]:
        for m in part["migrations"]:
            kind = m["direction"], m["cause"]
            classes = counts.setdefault(kind, [0] * (len(_CLASSES) + 1))
            moved[kind] += m["bytes"]
            for size, count in m["sizes"].items():
                # JSON has texts for keys.
                classes[bisect_left(_CLASSES, int(size) / _KIB)] += count
    return [(_name(row), *kind, *classes, moved[kind] / _MIB) for kind, classes in counts.items()]


def _mib(migrations: Iterable[dict[str, Any]], direction: str) -> float:
    return sum(m["bytes"] for m in migrations if m["direction"] == direction) / _MIB


def _kernel(row: dict[str, Any], kernel: dict[str, Any]) -> tuple[Any, ...]:
    met = (kernel["gpu_fault_groups"], _moved(kernel))
    if kernel["kernel"] is None:
        return (_name(row), "(under none)", *[None] * 7, *met)
    return (
        _name(row), kernel["kernel"], sum(kernel["launches"].values()),
        _us(kernel["first"]), _us(kernel["later_median"]), _us(kernel["max"]),
        kernel["launches_with_faults"],
        _us(kernel["median_with_faults"]), _us(kernel["median_without_faults"]), *met,
    )  # fmt: skip


def _moved(kernel: dict[str, Any]) -> int:
    count: int = kernel["unasked_migrations"]
    return count


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MICROSECONDS


def _name(row: dict[str, Any]) -> str:
    return f"{row['program']} {row['flavour']}".strip()
