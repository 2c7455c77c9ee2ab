"""CUDA C++ compiled by nvcc: a program a case, which takes its own samples by events, or of traffic
by the clock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.peers import cuda_programs
from bench.peers.cuda_programs import VARIANTS, CudaProgram

from ..cases import TRAFFIC, Case
from ..generated import folder
from ..program import Found, Measurement
from ..user_lines import count_cxx, marked
from . import traffic

#: No fused products and sums, as everywhere else.
NVCC = ("nvcc", "-O3", "-std=c++17", "-arch=native", "-fmad=false")
#: Compiles a program as plain C++, for tests without a GPU.
HOST = ("g++", "-O1", "-std=c++17", "-ffp-contract=off", "-x", "c++")


class BuildError(RuntimeError):
    """A program that was not compiled or did not run; the message has what was printed."""


def missing(backend: str) -> str:
    """Why nothing can be measured here, or nothing."""
    if backend != "cuda":
        return "needs an NVIDIA GPU"
    return "" if shutil.which("nvcc") else "there is no nvcc on PATH"


def begin(cases: Sequence[Case]) -> None:
    """Compile the programs of all cases at once, as that takes longer than running them."""
    texts = {cuda_programs.program(case).text for case in cases}

    def compile_quietly(text: str) -> None:
        with suppress(BuildError):  # ``measure`` meets it again
            build(text)

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(compile_quietly, texts))


def measure(case: Case, backend: str, repeat: int) -> Found:
    program = cuda_programs.program(case)
    clock = traffic.CLOCK if case.workload == TRAFFIC else {}
    executable, compiling = build(program.text)
    for variant in VARIANTS:
        found = run(executable, program, variant, repeat)
        yield Measurement(
            variant,
            found["samples"],
            found["host"],
            compiling + found["first"],
            count_cxx(marked(program.text, variant)),
            {"nvcc_seconds": compiling, **clock},
        )


@cache
def build(text: str, compiler: tuple[str, ...] = NVCC) -> tuple[Path, float]:
    """The executable of a program, and seconds to compile it. Raises BuildError."""
    name = sha256(text.encode()).hexdigest()[:16]
    source, executable = folder() / f"{name}.cu", folder() / name
    source.write_text(text)
    command = [*compiler, f"-I{cuda_programs.FOLDER}", str(source), "-o", str(executable)]
    begun = perf_counter()
    _run(command)
    return executable, perf_counter() - begun


def run(executable: Path, program: CudaProgram, variant: str, repeat: int) -> dict[str, Any]:
    """Run a program, check its result, and give what it prints. Raises BuildError, WrongResult."""
    given, found = executable.with_suffix(".input"), executable.with_suffix(".output")
    with given.open("wb") as file:
        for array in program.arrays:
            file.write(np.ascontiguousarray(array).tobytes())
    numbers = [str(int(number)) for number in program.numbers]
    printed = _run([str(executable), variant, str(given), str(found), str(repeat), *numbers])
    record: dict[str, Any] = json.loads(printed)
    program.check(np.fromfile(found, program.dtype), record["steps"])
    given.unlink()
    found.unlink()
    return record


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout
