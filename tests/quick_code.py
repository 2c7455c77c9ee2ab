"""Machine code that LLVM makes in a quarter or a tenth of the time.

*Quickly*: instructions are selected one by one; all that optimises programs is as always. So it is
for all tests but the slow ones, those that are given time, and those whose subject is machine code:
they import ``usual_code``.

*Plainly*: nor is anything optimised but what makes code shorter. So it is in ``PLAIN``, the folders
whose subject is what programs, host and heap do, not what passes and LLVM may make of our code,
which is that of the others, of all slow tests, and of those that import ``optimised_code``; and for
two tests of three in ``MEANING``, folders that compare results with Python's. Code for GPUs is
optimised as always: made plainly it has the interpreter take twice the steps, which costs more
than LLVM's time (three files: 41.1 s instead of 37.9).

There, and in ``MEANING``, programs are verified once, not after each pass, which took a tenth of
the time of ``differential``. In ``ir`` random ones are verified after each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from llvmlite import binding as llvm

from sharedoa.ir import pipeline
from sharedoa.targets import host
from sharedoa.targets.host import HostTarget
from sharedoa.targets.optimise import run_passes

from .differential.effort import IS_THOROUGH

PLAIN = ("apps", "backends", "bench", "cli", "docs", "heap", "many", "runtime", "sweeps")
MEANING = ("codegen", "differential", "gradients", "sampling")
_TESTS = Path(__file__).parent
_PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg")
#: Code of later sessions is made as this file says then.
_VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


@pytest.fixture(autouse=True)
def quick_code(request: pytest.FixtureRequest) -> Iterator[None]:
    if IS_THOROUGH or request.node.get_closest_marker("slow"):
        yield
        return
    folder = request.path.relative_to(_TESTS).parts[0]
    plainly = folder in PLAIN or (folder in MEANING and crc32(request.node.nodeid.encode()) % 3 > 0)
    with made_quickly(plainly, verified_once=folder in (*PLAIN, *MEANING)):
        yield


@pytest.fixture(autouse=True, name="quick_code")
def optimised_code() -> Iterator[None]:
    """In the place of ``quick_code``: quickly, but not plainly."""
    with made_quickly():
        yield


@pytest.fixture(autouse=True, name="quick_code")
def usual_code() -> None:
    """In the place of ``quick_code``."""


@contextmanager
def made_quickly(plainly: bool = False, verified_once: bool = False) -> Iterator[None]:
    """What is compiled in the block."""
    fingerprint = HostTarget.fingerprint.fget
    assert fingerprint is not None
    how = f"{'plainly' if plainly else 'quickly'} {_VERSION}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostTarget, "machine", property(_machine))
        # What others have compiled is not this.
        patch.setattr(HostTarget, "fingerprint", property(lambda t: f"{fingerprint(t)} {how}"))
        if verified_once:
            patch.setattr(pipeline, "verifies", "after the last pass")
        if plainly:
            patch.setattr(
                host, "optimise", lambda code, machine: run_passes(code, machine, *_PASSES)
            )
        yield


@cache
def _machine(target: HostTarget) -> Any:
    return llvm.Target.from_triple(target._triple).create_target_machine(
        cpu=target._cpu, features=target._features, opt=0, reloc="pic", codemodel="small"
    )
