"""Settings and fixtures that many tests share."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import sharedoa as oa
from dispatch.mode import MODES
from sharedoa import collection
from sharedoa.backends import available
from sharedoa.backends.cuda_device import cuda_device
from sharedoa.ir import pipeline
from sharedoa.ir.job import Job
from sharedoa.runtime import clustering, knobs, launch, remembered_looks, trial_accounts
from sharedoa.runtime import pipeline as stages
from sharedoa.runtime.pipeline import Compilation
from sharedoa.runtime.specialisation import policy

from . import card_memory, one_report
from .kept_code import kept_folder, session_folder
from .modes import few_places
from .one_first import has_collected, wait_for_the_first
from .quick_code import quick_code

__all__ = ["kept_folder", "quick_code", "session_folder"]

settings.register_profile(
    "ci",
    deadline=None,  # the first example compiles
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# Whether something fails, not the smallest example of it: shrinking takes minutes.
settings.register_profile(
    "does it fail", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Else JAX takes three quarters of a card at its first use, and other tests find no room.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
pipeline.verifies, stages.always_compiles = "after each pass", True
# How long launches take would decide what is compiled; tests of that set these.
policy.worth, policy.launches_on_device = math.inf, sys.maxsize
clustering.PATIENCE = 0.0
remembered_looks.KEEPS = trial_accounts.KEEPS = False
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of what shells run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Programs are made of millions of objects that stay: looking for garbage as often as Python does
# took a tenth of the time. Nor are those counted that tests have frozen, after each compilation.
gc.set_threshold(1_000_000, 50, 100)
collection.MANY = sys.maxsize
# No setting of the shell reaches a test.
for _knob in knobs.ALL:
    os.environ.pop(_knob.variable, None)

_WORKING = {backend.name: backend for backend in available()}
_SHARES_A_GPU = _WORKING["cuda"].ok and "PYTEST_XDIST_WORKER" in os.environ
if _SHARES_A_GPU:
    card_memory.share(cuda_device(0))


def pytest_sessionstart() -> None:
    wait_for_the_first()


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("gpu")
    if marker is None:
        return
    if not _WORKING["cuda"].ok:
        pytest.skip(f"no GPU: {_WORKING['cuda'].reason}")
    for number in range(1, *(marker.args or (1,))):
        if f"cuda:{number}" not in _WORKING:
            pytest.skip(f"there is no GPU cuda:{number}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    return one_report.run(item, nextitem)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark most configurations of a test slow (``modes.few_places``)."""
    for item in few_places(items):
        item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Nor are modules and tests searched for garbage, which stay."""
    has_collected()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_settings(session_folder: Path) -> Iterator[None]:
    """Compiled code is kept by all processes of this session."""
    with knobs.scope(cache_dir=session_folder, backend="cpu"):
        yield
    if _SHARES_A_GPU:
        card_memory.give_back(cuda_device(0))


@pytest.fixture(autouse=True, scope="module")
def what_stays_is_not_searched_again() -> Iterator[None]:
    """Compiled programs live as long as their kernels, millions of objects after a while. Tests
    that collect garbage would search all of them each time: seconds."""
    yield
    gc.collect()
    gc.freeze()


def _backend_parameters(names: tuple[str, ...]) -> list[Any]:
    return [pytest.param(n, marks=pytest.mark.gpu) if n == "cuda" else n for n in names]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Every mode in turn."""
    name: str = request.param
    return name


@pytest.fixture(params=_backend_parameters(("python", "cpu", "cuda")))
def backend(request: pytest.FixtureRequest) -> str:
    """Every backend in turn; cuda with the marker ``gpu``."""
    name: str = request.param
    return name


@pytest.fixture
def heap(mode: str, backend: str) -> Iterator[oa.Heap]:
    """A current heap for every mode on every backend, small enough for many at once."""
    with oa.Heap(mode=mode, backend=backend, capacity="256MiB", initial_region=16) as made:
        yield made


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were compiled since the test began."""
    jobs: list[Job] = []
    compile = launch.compile

    def noting(job: Job, *instead: Any) -> Compilation:
        jobs.append(job)
        return compile(job, *instead)

    monkeypatch.setattr(launch, "compile", noting)
    return jobs
