"""Random programs run by sharedoa, with their gradients by a tape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sharedoa as oa

from ..source_files import load_module
from .source import Launch, Program
from .worlds import NAMES, Floats, Inputs, Outcome, argument, groups_of, same_inputs


class SharedProgram:
    """The program as sharedoa runs it, in a heap of its own each time."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program = program
        self.module = load_module(folder, program.text)

    def run(
        self, inputs: Inputs, heap: oa.Heap, checkpoints: int | None = None, blocks: int = 1
    ) -> Outcome:
        """Record, reverse, and look; ``blocks``: so many times, of which the last one counts."""
        program, module = self.program, self.module
        objects: dict[int, Any] = {}
        groups_made: list[tuple[str, Any]] = []
        for cls in sorted({cls for cls, _, _ in program.objects}):
            numbers = [k for k, (name, _, _) in enumerate(program.objects) if name == cls]
            made = heap.new(getattr(module, cls), len(numbers))
            groups_made.append((cls, made))
            objects |= {number: made[k] for k, number in enumerate(numbers)}
        everybody = heap.array(module.Root, [objects[k] for k in range(len(objects))])
        everybody.me = everybody
        lead = [objects[k] for k in range(program.lead)]
        groups = groups_of(program, everybody, heap.array(module.Root, lead[::-1]))
        arrays: dict[str, Any] = {
            name: heap.array(oa.f64, numbers) for name, numbers in inputs.arrays.items()
        }
        arrays["L"] = heap.zeros(1, oa.f64)
        kept = {name: arrays[name] for name in NAMES}
        for number in range(blocks):
            self._begin(inputs, everybody, groups_made, arrays)
            with oa.tape(checkpoints=checkpoints) as tape:
                for launch in program.launches:
                    self._launch(launch, groups, arrays, heap)
            after, loss = self._look(objects, kept, ""), float(arrays["L"][0])
            everybody.peer = everybody.child = everybody[::-1]  # which makes no difference any more
            everybody.n = 7
            for cls, made in groups_made:
                for name in program.fields[cls]:
                    self._write(made, name, np.full_like(self._column(made, name), -3.5))
            for name in NAMES:
                arrays[name][:] = -3.5
            changed = self._look(objects, kept, "")
            tape.backward(arrays["L"])
            gradient = self._look(objects, kept, "grad")
            assert same_inputs(changed, self._look(objects, kept, ""))
            assert (everybody.n == 7).all() and everybody.peer[0] == everybody[-1]
            if number < blocks - 1:
                tape.zero()
        return Outcome(loss, after, gradient)

    def _begin(
        self, inputs: Inputs, everybody: Any, groups: list[tuple[str, Any]], arrays: dict[str, Any]
    ) -> None:
        """What objects and arrays hold when a block begins."""
        program = self.program
        for cls, made in groups:
            numbers = [k for k, (name, _, _) in enumerate(program.objects) if name == cls]
            for name in program.fields[cls]:
                self._write(made, name, np.array([inputs.fields[k][name] for k in numbers]))
            made.n = np.array([inputs.counts[k] for k in numbers], np.int32)
        everybody.peer = everybody[[peer for _, peer, _ in program.objects]]
        everybody.child = everybody[[child for _, _, child in program.objects]]
        for name in NAMES:
            arrays[name][:] = inputs.arrays[name]
        arrays["L"][:] = 0.0

    def _write(self, made: Any, name: str, values: Floats) -> None:
        if values.shape[1] == 1:
            setattr(made, name, values[:, 0])
        elif name == "p":
            made.p["a"], made.p["b"] = values.T
        else:
            setattr(made, name, values)

    def _launch(self, launch: Launch, groups: Any, arrays: dict[str, Any], heap: oa.Heap) -> None:
        arguments = [argument(arrays, each) for each in launch.arguments]
        if launch.kind == "kernel":
            first = groups.get(launch.objects)
            first = arrays[launch.objects] if first is None else first
            getattr(self.module, launch.name)[len(first)](first, *arguments)
        elif launch.kind == "call":
            result = getattr(groups[launch.objects], launch.name)(*arguments)
            arrays[launch.result] = result
        else:
            cls = getattr(self.module, launch.objects)
            getattr(heap.all(cls), launch.name)(*arguments)

    def _look(self, objects: dict[int, Any], arrays: dict[str, Any], what: str) -> Inputs:
        """Values, or their adjoints, by object."""
        found: dict[int, dict[str, Floats]] = {}
        for cls in {cls for cls, _, _ in self.program.objects}:
            numbers = [k for k, (name, _, _) in enumerate(self.program.objects) if name == cls]
            array = oa.array(getattr(self.module, cls), [objects[k] for k in numbers])
            source = array.grad if what else array
            columns = {name: self._column(source, name) for name in self.program.fields[cls]}
            for place, number in enumerate(numbers):
                found[number] = {name: rows[place] for name, rows in columns.items()}
        looked = {n: np.array(oa.grad(a) if what else a) for n, a in arrays.items()}
        return Inputs([found[k] for k in range(len(objects))], [], looked)

    def _column(self, source: Any, name: str) -> Floats:
        view = getattr(source, name)
        if name == "p":
            rows = np.stack([np.array(view["a"]), np.array(view["b"])], 1)
        else:
            rows = np.array(view)
        return rows.reshape(len(rows), -1)
