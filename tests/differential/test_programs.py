"""Random programs agree with plain Python, in every mode, on every backend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from dispatch.mode import MODES
from sharedoa.targets.ptxas import assemble

from ..modes import half_of, rotated, third_of
from .effort import EXAMPLES, layout_for, programs, references_for
from .populations import make_history
from .programs import MAX_CLASSES, MAX_LEVELS, Program, Size, make_program, numbered
from .running import Observation, PlainWorld, SharedWorld, load, observe

STEPS, OBJECTS = 3, 6
_FIRST = ("typepointer", "range+switch")

#: 64 classes on 5 levels, and a long chain of calls in few classes.
LARGE = [(1, Size(MAX_CLASSES, 2, 1)), (2, Size(6, 5, 12))]
#: For them: the first find methods by the address and by ranges, and the others are slow.
LARGE_MODES = [
    pytest.param(mode, marks=() if mode in _FIRST else pytest.mark.slow) for mode in MODES
]

sizes = st.builds(Size, st.integers(0, 12), st.integers(1, 5), st.integers(1, 10))
safe_sizes = sizes.map(lambda size: replace(size, safe=True))
seeds = st.integers(0, 2**32 - 1)


def agree(
    folder: Path, seed: int, size: Size, mode: str, backend: str, debug: bool = False
) -> None:
    """Run one program with sharedoa and without, and compare all that can be seen of it."""
    program = make_program(seed, size)
    history = make_history(program, seed, STEPS, OBJECTS)
    module = load(program, folder)
    layout = layout_for(mode, seed)
    with oa.Heap(mode, backend, layout, "256MiB", 4, debug, references_for(mode, seed)) as heap:
        found = observe(program, history, SharedWorld(program, module, heap))
        for expected, got in zip(
            observe(program, history, PlainWorld(program)), found, strict=True
        ):
            assert got == expected, report(program, expected, got)


def report(program: Program, expected: Observation, got: Observation) -> str:
    """The first values that differ, and the program."""
    lines = ["sharedoa and plain Python disagree"]
    for number, (wanted, found) in enumerate(zip(expected[0], got[0], strict=True)):
        if wanted != found:
            lines.append(f"out{number}: {found}\n  expected {wanted}")
    for number, fields in expected[1].items():
        for name, value in fields.items():
            if got[1][number][name] != value:
                lines.append(f"object {number}, {name}: {got[1][number][name]}, expected {value}")
    return "\n".join([*lines[:9], numbered(program.text)])


@pytest.mark.parametrize("mode", third_of(MODES, 0))
@settings(max_examples=programs(2, thorough=1))
@given(seed=seeds, size=sizes)
def test_compiled_programs_agree(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int, size: Size
) -> None:
    # Another program in each mode: the modes share all but dispatch.
    agree(tmp_path_factory.mktemp("program"), seed + MODES.index(mode), size, mode, "cpu")


@pytest.mark.parametrize("mode", half_of(["cuda", "concord", "range+switch", "typepointer"], 0))
@settings(max_examples=programs(2, thorough=1))
@given(seed=seeds, size=safe_sizes)
def test_programs_agree_in_debug_mode(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int, size: Size
) -> None:
    agree(tmp_path_factory.mktemp("program"), seed, size, mode, "cpu", debug=True)


@pytest.mark.slow  # the interpreter's tests make code of random programs, too
@pytest.mark.parametrize("mode", half_of(["coal", "typepointer", "range+switch"], 1))
@settings(max_examples=programs(2))
@given(seed=seeds, size=sizes)
def test_programs_become_machine_code_for_gpus(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int, size: Size
) -> None:
    folder = tmp_path_factory.mktemp("program")
    kernel = load(make_program(seed, size), folder).run
    with oa.Heap(mode, "cpu", layout_for(mode, seed), "256MiB"):
        ptx = kernel.compile("nvptx").products["ptx"]
        assert assemble(ptx, "sm_90").cubin.startswith(b"\x7fELF")
        assert kernel.compile("amdgpu").products["o"].startswith(b"\x7fELF")


@pytest.mark.parametrize("mode", half_of(["cuda", "typepointer", "range+switch"], 0))
@settings(max_examples=programs(3, thorough=4))
@given(seed=seeds, size=sizes)
def test_programs_that_cpython_runs_on_proxies_agree(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int, size: Size
) -> None:
    agree(tmp_path_factory.mktemp("program"), seed, size, mode, "python")


@pytest.mark.parametrize(("mode", "number"), rotated(LARGE_MODES, range(len(LARGE))))
def test_large_programs_agree(tmp_path: Path, mode: str, number: int) -> None:
    agree(tmp_path, *LARGE[number], mode, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=max(12, EXAMPLES))
@given(seed=seeds, size=sizes)
def test_programs_agree_on_a_gpu(
    tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int, size: Size
) -> None:
    agree(tmp_path_factory.mktemp("program"), seed, size, mode, "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("seed", "size"), LARGE, ids=["64 classes", "long bodies"])
def test_large_programs_agree_on_a_gpu(tmp_path: Path, mode: str, seed: int, size: Size) -> None:
    agree(tmp_path, seed, size, mode, "cuda")


@pytest.mark.slow
def test_the_large_program_is_as_large_as_promised() -> None:
    seed, size = LARGE[0]
    program = make_program(seed, size)
    assert len(program.classes) == MAX_CLASSES + 1
    assert max(cls.level for cls in program.classes) == MAX_LEVELS - 1
    assert len(program.concrete) > MAX_CLASSES // 2
