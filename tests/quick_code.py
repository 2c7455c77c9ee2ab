"""Machine code that LLVM makes in a quarter of the time: instructions are selected one by one. All
that optimises programs is as always.

So it is for all tests but the slow ones, those that are given time, and those whose subject is
machine code: they import ``usual_code``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from llvmlite import binding as llvm

from sharedoa.targets.host import HostTarget

from .differential.effort import IS_THOROUGH


@pytest.fixture(autouse=True)
def quick_code(request: pytest.FixtureRequest) -> Iterator[None]:
    if IS_THOROUGH or request.node.get_closest_marker("slow"):
        yield
        return
    with made_quickly():
        yield


@pytest.fixture(autouse=True, name="quick_code")
def usual_code() -> None:
    """In the place of ``quick_code``."""


@contextmanager
def made_quickly() -> Iterator[None]:
    """What is compiled in the block."""
    fingerprint = HostTarget.fingerprint.fget
    assert fingerprint is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostTarget, "machine", property(_machine))
        # What others have compiled is not this.
        patch.setattr(HostTarget, "fingerprint", property(lambda t: f"{fingerprint(t)} quickly"))
        yield


@cache
def _machine(target: HostTarget) -> Any:
    return llvm.Target.from_triple(target._triple).create_target_machine(
        cpu=target._cpu, features=target._features, opt=0, reloc="pic", codemodel="small"
    )
