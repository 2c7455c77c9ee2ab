"""Nsight Compute: its command line, and the counters in what it prints."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sharedoa.errors import ConfigurationError

#: What is counted, and its name in Nsight Compute. Sums, so that those of launches can be added.
METRICS = {
    "warp_instructions": "smsp__inst_executed.sum",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_load_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_hits": "lts__t_sectors_lookup_hit.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "seconds": "gpu__time_duration.sum",
}
_UNITS = {
    "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1.0,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12,
    "inst": 1.0, "sector": 1.0, "request": 1.0, "": 1.0,
}  # fmt: skip
_DENIED = "ERR_NVGPUCTRPERM"
_ID, _KERNEL = "ID", "Kernel Name"


class ProfileError(AssertionError):
    """Nsight Compute ran, but did not count what it was asked for."""


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch that was looked at: its kernel on the device, and its counters by our names."""

    kernel: str
    counters: dict[str, float]


def find() -> str:
    """The program. Raises ConfigurationError if it is not there."""
    found = shutil.which("ncu")
    if found is None:
        raise ConfigurationError(
            "hardware counters are read by Nsight Compute, and there is no `ncu` on PATH",
            "install Nsight Compute (it comes with the CUDA toolkit) and add its folder to PATH",
        )
    return found


def command(ncu: str, log: Path, program: Sequence[str]) -> list[str]:
    """Profile what ``program`` asks for between cuProfilerStart and cuProfilerStop.

    Caches and clocks are left as they are: a launch finds in the cache what the one before left.
    """
    return [
        ncu,
        "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "function",
        "--log-file", str(log),
        "--profile-from-start", "off",
        "--target-processes", "application-only",
        "--cache-control", "none",
        "--clock-control", "none",
        "--metrics", ",".join(METRICS.values()),
        *program,
    ]  # fmt: skip


def profile(ncu: str, log: Path, program: Sequence[str]) -> list[ProfiledLaunch]:
    """Run ``program`` and return the launches that were looked at, in their order.

    Raises ConfigurationError if counters may not be read, ProfileError if anything else failed.
    """
    done = subprocess.run(command(ncu, log, program), capture_output=True, text=True, check=False)
    printed = log.read_text() if log.is_file() else ""
    said = "\n".join([printed, done.stdout, done.stderr])
    if _DENIED in said:
        raise ConfigurationError(
            f"this user may not read the GPU's performance counters ({_DENIED})",
            "run as root, or let the administrator load the driver with "
            "NVreg_RestrictProfilingToAdminUsers=0",
        )
    if done.returncode != 0:
        raise ProfileError(f"ncu ended with {done.returncode}:\n{_end(said)}")
    return parse(printed.splitlines())


def parse(lines: Iterable[str]) -> list[ProfiledLaunch]:
    """The launches in what ``ncu --csv --page raw`` prints: messages that start with ``==``, a line
    of headings, one of units, and a line for each launch.

    Raises ProfileError for anything else, or for a counter without a value.
    """
    kept = [line for line in lines if line.strip() and not line.startswith("==")]
    table = list(csv.reader(kept))
    start = next((i for i, line in enumerate(table) if line[0] == _ID and _KERNEL in line), None)
    if start is None:
        raise ProfileError(f"ncu printed no table of counters:\n{_end(chr(10).join(kept))}")
    headings, *rows = table[start:]
    missing = [metric for metric in METRICS.values() if metric not in headings]
    if missing:
        raise ProfileError(f"ncu did not count {', '.join(missing)}")
    units: dict[str, str] = {}
    launches = []
    for number, row in enumerate(rows, 1):
        if len(row) != len(headings):
            raise ProfileError(f"row {number} of ncu's table has {len(row)} cells: {row}")
        cells = dict(zip(headings, row, strict=True))
        if not cells[_ID]:
            units = cells
            continue
        counters = {
            name: _number(cells[metric], units.get(metric, ""), metric)
            for name, metric in METRICS.items()
        }
        launches.append(ProfiledLaunch(cells[_KERNEL], counters))
    return launches


def _number(text: str, unit: str, metric: str) -> float:
    scale = _UNITS.get(unit)
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = float("nan")
    if scale is None or not value >= 0:
        raise ProfileError(f"ncu gives {text!r} {unit} for {metric}")
    return value * scale


def _end(text: str, lines: int = 20) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
