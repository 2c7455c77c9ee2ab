"""The programs of ``docs/examples`` agree with their oracles, which they check themselves."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sharedoa as oa

from ..codegen.interpreted import InterpretedGpu
from ..modes import rotated

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/examples"
#: By program, arguments of its ``main`` for a run on the CPU, and for one in CPython or an
#: interpreter of PTX.
SIZES = {
    "boids": ({"size": 60, "steps": 8}, {"size": 60, "steps": 2}),
    "decision_trees": ({"size": 500, "trees": 5}, {"size": 100, "trees": 2}),
    "expressions": ({"size": 50}, {"size": 1}),
    "finite_elements": ({"size": 8}, {"size": 3}),
    "insurance": ({"size": 2000}, {"size": 15}),
    "inverse_ray_tracer": ({"size": 12, "rounds": 10}, {"size": 4, "rounds": 2}),
    "nbody": ({"size": 100}, {"size": 12, "steps": 2}),
    "neurons": ({"size": 200, "steps": 100}, {"size": 40, "steps": 4}),
    "page_rank": ({"size": 60, "steps": 10}, {"size": 12, "steps": 2}),
    "path_tracer": ({"size": 24}, {"size": 6, "samples": 3}),
    "queueing": ({"size": 400}, {"size": 3, "time": 20.0}),
    "sir": ({"size": 2000, "days": 30}, {"size": 50, "days": 4}),
    "springs": ({"steps": 20, "rounds": 2}, {"size": 2, "steps": 6, "rounds": 1}),
}

#: Objects that lie one by one, as in mode "cuda", have no adjoints.
WITH_TAPES = {"inverse_ray_tracer", "page_rank", "springs"}


@cache
def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SIZES)
def test_it_is_short(name: str) -> None:
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    assert sum(1 for line in lines if line.strip()) < 120


def _quick_elsewhere() -> list[Any]:
    """Every second program: others are in one place alone unless there is time."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] * (number % 2))
        for number, name in enumerate(SIZES)
    ]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *((name, ("cpu", "auto")) for name in SIZES),
        *rotated(
            _quick_elsewhere(), [("cpu", "coal"), ("python", "auto"), ("interpreted", "auto")]
        ),
        *(
            pytest.param(name, ("cuda", mode), marks=pytest.mark.gpu)
            for name in SIZES
            for mode in ("auto", "coal", "header+vtable" if name in WITH_TAPES else "cuda")
        ),
    ],
)
def test_it_agrees_with_its_oracle(
    name: str, place: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    backend, mode = place
    opened: Any = InterpretedGpu() if backend == "interpreted" else backend
    with oa.Heap(backend=opened, mode=mode, capacity="256MiB"):
        program(name).main(**SIZES[name][backend in ("python", "interpreted")])
    assert len(capsys.readouterr().out.splitlines()) >= 2


@pytest.mark.parametrize("name", SIZES)
def test_gpus_can_be_given_its_kernels(name: str) -> None:
    """Also where no GPU is, and whatever was drawn for it above."""
    kernels = [each for each in vars(program(name)).values() if isinstance(each, oa.Kernel)]
    with oa.Heap(backend="cpu"):
        assert all(kernel.compile("nvptx").products["ptx"] for kernel in kernels)


def test_all_are_tested_described_and_short() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert [file.stem for file in files] == sorted(SIZES)
    described = (FOLDER / "README.md").read_text()
    for file in files:
        assert f"[{file.name}]({file.name})" in described
        assert len([line for line in file.read_text().splitlines() if line]) < 120
