"""nvcc with ptxpass in it: ``python -m ptxpass.nvcc --mode MODE -- nvcc ARGUMENTS``.

Does what the nvcc command would do, and rewrites the PTX of every architecture as soon as it is
made. Both what ptxas assembles and the PTX that the program carries are rewritten, and nvcc itself
embeds them. Nothing else works for all of nvcc's ways: it looks for ptxas in its own folder first,
and the object file that ``nvcc -c`` makes takes no PTX from outside.

``nvcc --dryrun`` prints its steps as shell commands; they are run here one by one. As a compiler
launcher of CMake, or as ``NVCC`` of a makefile, it fits before any nvcc command.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dispatch.dataclass import dataclass, field

INCLUDE = Path(__file__).parent / "include"
"""The folder of ``sharedoa.cuh``."""

_PREFIX = "#$ "
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: What nvcc prints for a step that it does itself: making the file of -MD.
_OWN_STEP = "-- Filter Dependencies --"
_DEPENDENCIES = {
    "-MD": "-M",
    "--generate-dependencies-with-compile": "-M",
    "-MMD": "-MM",
    "--generate-nonsystem-dependencies-with-compile": "-MM",
}
#: What says which files to make; ``-M`` and ``-MM`` take its place.
_PHASE = re.compile("-(c|dc|dw|ptx|cubin|fatbin)|--(compile|device-[cw]|ptx|cubin|fatbin)")
_OUTPUT = ("-o", "--output-file")


class BuildError(Exception):
    """A step failed, or cannot be done with ptxpass in it; ``status`` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Plan:
    """What ``nvcc --dryrun`` printed: variables, commands in order, and everything else."""

    variables: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read_plan(text: str) -> Plan:
    plan = Plan()
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            plan.remarks.append(line)
            continue
        step = line[len(_PREFIX) :]
        assignment = _ASSIGNMENT.fullmatch(step)
        if assignment:
            plan.variables[assignment[1]] = assignment[2].strip()
        elif step.strip():
            plan.commands.append(step)
    return plan


def made_ptx(command: str) -> Path | None:
    """The PTX file that a step makes from C++, None for other steps.

    Raises BuildError if the step makes code for the linker's optimiser, which is no PTX.
    """
    words = _words(command)
    if os.path.basename(words[0]) != "cicc":
        return None
    if any(word.endswith(".ltoir") for word in words):
        raise BuildError("link-time optimisation makes no PTX to rewrite; compile without -dlto")
    name = words[words.index("-o") + 1] if "-o" in words[:-1] else ""
    return Path(name) if name.endswith(".ptx") else None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BuildError(f"this step of nvcc is no command ({error}): {command}") from None


def dependencies_only(arguments: Sequence[str]) -> list[str]:
    """The nvcc arguments that make just the dependency file of a command with -MD."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in _OUTPUT:
            next(words, None)
        elif not _PHASE.fullmatch(word) and not word.startswith("--output-file="):
            kept.append(_DEPENDENCIES.get(word, word))
    return kept


def build(nvcc: Sequence[str], rewrite: Sequence[str]) -> None:
    """Run an nvcc command; after a step that makes PTX, run ``rewrite FILE -o FILE``.

    Raises BuildError.
    """
    with tempfile.TemporaryDirectory(prefix="ptxpass-") as folder:
        # The names that nvcc gives to files between its steps are free again as soon as the dry
        # run has ended: a build beside this one could take the same.
        environment = os.environ | {"TMPDIR": folder}
        plan = _plan(nvcc, environment)
        if not plan.commands:
            _run(nvcc, environment)
            return
        for remark in plan.remarks:
            print(remark, file=sys.stderr)
        for command in plan.commands:
            if command.startswith(_OWN_STEP):
                _run([nvcc[0], *dependencies_only(nvcc[1:])], environment)
            elif command.startswith("rm "):
                _remove(_words(command)[1:])
            else:
                ptx = made_ptx(command)
                _run(["/bin/sh", "-c", command], environment | plan.variables)
                if ptx is not None:
                    _run([*rewrite, str(ptx), "-o", str(ptx)], environment)


def _plan(nvcc: Sequence[str], environment: Mapping[str, str]) -> Plan:
    command = [*nvcc, "--dryrun"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(
            f"cannot run {command[0]}: {error.strerror}; install the CUDA toolkit, or give the "
            f"full path of nvcc behind --",
            127,
        ) from None
    if done.returncode:
        raise BuildError((done.stdout + done.stderr).rstrip(), done.returncode)
    return read_plan(done.stderr)


def _remove(files: Sequence[str]) -> None:
    """As nvcc does it: files from an earlier build, which may be there or not."""
    for file in files:
        Path(file).unlink(missing_ok=True)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    status = subprocess.run(command, env=environment, check=False).returncode
    if status:
        raise BuildError(f"this step failed with exit status {status}: {command[-1]}", status)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ptxpass.nvcc", description="An nvcc command with ptxpass in it."
    )
    parser.add_argument("--mode", help="dispatch mode to rewrite for")
    parser.add_argument("--report", action="store_true", help="print what became of every call")
    parser.add_argument(
        "--ptxpass",
        default=shlex.join([sys.executable, "-m", "ptxpass"]),
        help="the command that rewrites (default: %(default)s)",
    )
    parser.add_argument(
        "--print-include", action="store_true", help="print the folder of sharedoa.cuh, and stop"
    )
    parser.add_argument("nvcc", nargs="*", help="-- and the nvcc command")
    options = parser.parse_args(arguments)
    if options.print_include:
        print(INCLUDE)
        return 0
    if options.mode is None or not options.nvcc:
        parser.error("give --mode MODE -- nvcc ARGUMENTS")
    try:
        rewrite = [*shlex.split(options.ptxpass), "--mode", options.mode]
    except ValueError as error:
        parser.error(f"--ptxpass: {options.ptxpass} is no command: {error}")
    if options.report:
        rewrite.append("--report")
    try:
        build(options.nvcc, rewrite)
    except BuildError as error:
        print(f"ptxpass.nvcc: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
