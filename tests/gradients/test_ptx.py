"""The way back on GPUs: who adds how to adjoints, in the PTX of the three programs of the
documents, and what comes of it in an interpreter of PTX."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64
from sharedoa.ir.core import operations_in
from sharedoa.ir.roles import role_of
from sharedoa.ir.uniformity import shared_lvalues
from sharedoa.targets.ptxas import assemble, find_ptxas

from ..codegen.interpreted import InterpretedGpu
from ..docs.test_examples import program
from ..ir.programs import program_of

_ADD = re.compile(r"\b(atom\.global\.add|red\.global\.add|match\.any)")


class _Listening(InterpretedGpu):
    """Keeps the PTX of what is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    def load(self, symbol: str, stages: Any, *more: Any, **named: Any) -> Any:
        self.texts[symbol] = str(stages["ptx"])
        return super().load(symbol, stages, *more, **named)


@cache
def reversed_kernels() -> dict[str, str]:
    """The PTX of all kernels that go back, by name."""
    gpu = _Listening()
    sizes = {
        "springs": {"size": 2, "steps": 1, "rounds": 1}, "page_rank": {"size": 12, "steps": 1},
        "inverse_ray_tracer": {"size": 4, "rounds": 1},
    }  # fmt: skip
    for name, given in sizes.items():
        with oa.Heap(backend=gpu, mode="auto", capacity="256MiB"):
            program(name).main(**given)
    return {
        name.removeprefix("kernel_").removesuffix("_reverse"): text
        for name, text in gpu.texts.items()
        if name.endswith("_reverse")
    }


#: By kernel, how often threads add atomically, and how often they ask who adds to the same place.
#: Both ends of a spring have a place of two components; of a ball all pixels see the same fields,
#: and that of the picture is each pixel's own.
ADDS = {
    "Node_move": (0, 0), "Spring_pull": (4, 0), "Rope_pull": (4, 0), "Page_gather": (0, 0),
    "Page_spread": (1, 0), "Advert_spread": (1, 0), "render": (14, 14), "compare": (0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDS)
def test_who_adds_to_adjoints(name: str) -> None:
    found = Counter(_ADD.findall(reversed_kernels()[name]))
    assert (found["atom.global.add"] + found["red.global.add"], found["match.any"]) == ADDS[name]


#: Registers of a thread, as ptxas 13 gives them out for sm_90; none spills.
REGISTERS = {
    "Node_move": 22, "Spring_pull": 48, "Rope_pull": 47, "Page_gather": 22, "Page_spread": 28,
    "Advert_spread": 29, "compare": 31, "render": 58,
}  # fmt: skip


@pytest.mark.parametrize("name", REGISTERS)
def test_registers(name: str) -> None:
    try:
        find_ptxas()
    except oa.BackendError:
        pytest.skip("no ptxas on this machine")
    report = assemble(reversed_kernels()[name], "sm_90")
    assert (report.spill_stores, report.spill_loads) == (0, 0)
    assert report.registers <= 1.2 * REGISTERS[name]


class Lamp(oa.Object):
    light: f64
    tint: f32
    place: oa.vec2d

    def shine(self, x: f64) -> f64:
        return self.light * x + self.place.x * self.place.y


class Red(Lamp):
    def shine(self, x: f64) -> f64:
        return math.sin(self.light * x) + f64(self.tint)


@oa.kernel
def lit(lamps: oa.Array[Lamp], x: oa.Array[f64], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    total = 0.0
    for lamp in lamps:
        if x[i] > lamp.place.x:
            total += lamp.shine(x[i])
    chosen = lamps[0]
    if i % 3 == 1:
        chosen = lamps[2]
    total += chosen.shine(f64(chosen.tint)) * chosen.light
    oa.atomic_add(out, 0, total * total)


@oa.kernel
def choose(lamps: oa.Array[Lamp], own: oa.Array[Lamp], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    one = lamps[0]
    other = lamps[1]
    if i > 3:
        one = lamps[2]
        other = own[i]
    out[i] = one.light * other.place.x


def test_places_that_threads_share() -> None:
    made = program_of(choose)
    loads = [each.operands[0] for each in operations_in(made) if each.kind == "load"]
    found = {role_of(place)[2] for place in loads if place in shared_lvalues(made)
             if role_of(place)[0] == "field"}  # fmt: skip
    assert found == {"light"}


def lamp_gradients(backend: Any) -> list[Any]:
    with oa.Heap(backend=backend, capacity="64MiB"):
        lamps = oa.concat(oa.new(Lamp, 2), oa.new(Red, 2))
        lamps.light, lamps.tint = [0.5, 1.5, -0.75, 2.0], [1.0, 0.5, 2.0, 0.25]
        lamps.place = np.linspace(-1, 1, 8).reshape(4, 2)
        x, out = oa.array(f64, np.linspace(-1.5, 1.5, 70)), oa.zeros(1, f64)
        with oa.tape() as tape:
            lit[70](lamps, x, out)
        tape.backward(out)
        grad = lamps.grad
        return [np.array(each) for each in (grad.light, grad.tint, grad.place, oa.grad(x))]


def test_sums_of_warps() -> None:
    """Whoever is together when threads ask who adds to the same place."""
    expected, gpu = lamp_gradients("cpu"), InterpretedGpu()
    random = Random(3)

    def some(lanes: Any) -> Any:
        return random.sample(list(lanes), random.randint(1, len(lanes)))

    counts = []
    for choose in (gpu.choose, some):
        gpu.choose = choose
        gpu.collectives.clear()
        for one, other in zip(expected, lamp_gradients(gpu), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-5 if one.dtype == np.float32 else 1e-12)
        counts.append(gpu.collectives["match.any.sync.b64"])
    assert 0 < counts[0] < counts[1]
