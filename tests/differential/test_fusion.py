"""Random traces of launches: as one, by themselves, and in CPython."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import f32
from sharedoa.runtime import knobs
from tests.codegen.interpreted import InterpretedGpu

from ..modes import half_of
from ..source_files import load_module
from .effort import examples, layout_for, references_for
from .launch_traces import (
    ARRAYS,
    CLASSES,
    ELEMENTS,
    FLOATS,
    INTS,
    OBJECTS,
    Launch,
    Trace,
    make_trace,
)

Seen = dict[str, bytes]
_MODES = ("auto", "range+switch", "tag+switch", "coal", "typepointer", "cuda")


class _World:
    """The objects and arrays of a trace in the current heap."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        own = np.random.default_rng(7)
        base = module.Base
        made = [oa.new(getattr(module, name), OBJECTS) for name in CLASSES]
        every = [each for objects in made for each in objects]
        for objects in made:
            for name in FLOATS:
                setattr(objects, name, own.random(OBJECTS, np.float32) * 2 - 1)
            for name in INTS:
                setattr(objects, name, own.integers(0, 9, OBJECTS))
        order = own.permutation(len(every))
        for objects, first in zip(made, range(0, len(every), OBJECTS), strict=True):
            following = [every[order[first + i]] for i in range(OBJECTS)]
            objects.next = oa.array(base, following)
        self.made = made
        self.arrays = {
            name: oa.array(f32, own.random(ELEMENTS, np.float32) * 2 - 1) for name in ARRAYS
        }
        self.objects = {
            "nodes": made[0],
            "shuffled": oa.array(base, [made[0][int(i)] for i in own.permutation(OBJECTS)]),
        }
        self.extra: list[Any] = []
        self.read: list[bytes] = []

    def do(self, launch: Launch) -> None:
        module, number = self.module, f32(launch.number)
        if launch.on:
            population = oa.all(getattr(module, launch.on))
            getattr(population, launch.what)(number)
        elif launch.what in ("each", "each_too"):
            ((name, first, count),) = launch.arrays
            getattr(module, launch.what)[count](self.objects[name][first : first + count], number)
        elif launch.arrays:
            given = [self.arrays[name][first : first + n] for name, first, n in launch.arrays]
            getattr(module, launch.what)[len(given[0])](*given, number)
        else:
            self._host(launch)

    def _host(self, launch: Launch) -> None:
        match launch.what:
            case "read":
                self.read += [a.numpy().tobytes() for a in self.arrays.values()]
                self.read.append(self.made[0].f0.numpy().tobytes())
            case "write":
                self.arrays["a"][3:7] = np.full(4, launch.number)
            case "set field":
                self.made[1].f1 = launch.number
            case "new":
                new = oa.new(self.module.Left, 2, f0=launch.number)
                new.next = new[::-1]
                self.extra.append(new)
            case "delete" if self.extra:
                oa.delete(self.extra.pop())

    def seen(self) -> Seen:
        found = {name: array.numpy().tobytes() for name, array in self.arrays.items()}
        for number, objects in enumerate([*self.made, *self.extra]):
            for name in (*FLOATS, *INTS):
                found[f"{number}.{name}"] = getattr(objects, name).numpy().tobytes()
        return found | {"read": b"".join(self.read)}


def _by_themselves(world: _World, trace: Trace) -> None:
    for launch in trace.launches:
        world.do(launch)


def _in_a_block(world: _World, trace: Trace) -> None:
    with oa.fuse():
        _by_themselves(world, trace)


def _captured(world: _World, trace: Trace) -> None:
    """What the host does stands between captured steps."""
    launches = [*trace.launches]
    while launches:
        own = 0
        while own < len(launches) and (launches[own].on or launches[own].arrays):
            own += 1
        if own:
            with oa.capture() as step:
                for launch in launches[:own]:
                    world.do(launch)
            step.run()
        for launch in launches[own : own + 1]:
            world.do(launch)
        del launches[: own + 1]


def _run(module: ModuleType, trace: Trace, how: Any, **settings: Any) -> Seen:
    with knobs.scope(fuse="always"), oa.Heap(capacity="64MiB", initial_region=8, **settings):
        world = _World(module)
        how(world, trace)
        return world.seen()


def agree(folder: Path, seed: int, mode: str, on_gpu: bool) -> None:
    """Run a trace in every way, and compare all that can be seen afterwards."""
    trace = make_trace(seed)
    module = load_module(folder, trace.text)
    own = {"mode": mode, "layout": layout_for(mode, seed), "references": references_for(mode, seed)}
    backend: Any = InterpretedGpu() if on_gpu else "cpu"
    expected = _run(module, trace, _by_themselves, backend=backend, **own)
    uses_library = "math." in trace.text
    worlds: list[tuple[Any, Any]] = [(_in_a_block, backend), (_captured, backend)]
    if not uses_library:  # of which CPython computes other bits
        worlds.append((_by_themselves, "python"))
    for how, where in worlds:
        found = _run(module, trace, how, backend=where, **own)
        wrong = [name for name in expected if found[name] != expected[name]]
        assert not wrong, f"{how.__name__}: {wrong}\n{trace.launches}\n{trace.text}"


@pytest.mark.parametrize("mode", half_of(_MODES, 0))
@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**32 - 1))
def test_traces(tmp_path_factory: pytest.TempPathFactory, mode: str, seed: int) -> None:
    agree(tmp_path_factory.mktemp("traces"), seed, mode, on_gpu=False)


@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**32 - 1))
def test_traces_in_warps(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    agree(tmp_path_factory.mktemp("traces"), seed, "auto", on_gpu=True)
