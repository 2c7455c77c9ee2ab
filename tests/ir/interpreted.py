"""Random programs of ``tests.differential``, with their objects, run by the interpreter."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sharedoa import ir
from sharedoa.model.array2_type import COLUMNS, FLAT, ROWS
from sharedoa.model.scalars import ScalarType
from sharedoa.model.types import InlineType, ReferenceType, ValueType

from ..differential.populations import Specimen, Step
from ..differential.programs import Program
from ..differential.running import seen_as
from .interpreter import Machine, Thing, zero


class InterpretedWorld:
    """Objects of a program, which the interpreter runs in the form ``kernel``."""

    def __init__(self, program: Program, module: ModuleType, kernel: ir.Program, seed: int) -> None:
        self._program, self._module, self._kernel, self._seed = program, module, kernel, seed
        self._objects: dict[int, Thing] = {}

    def create(self, specimens: list[Specimen]) -> None:
        for specimen in specimens:
            cls = getattr(self._module, specimen.cls).__sharedoa__
            fields = {name: zero(type) for name, type in cls.fields.items()}
            # As Python's numbers, as those of a specimen.
            defaults = {name: np.asarray(v).item() for name, v in cls.defaults.items()}
            fields |= {name: _inside(cls.fields[name], v) for name, v in defaults.items()}
            for name, value in specimen.values.items():
                fields[name] = _inside(cls.fields[name], value)
            self._objects[specimen.number] = Thing(cls, fields)
        for specimen in specimens:
            for name, number in specimen.links.items():
                target = None if number is None else self._objects[number]
                self._objects[specimen.number].fields[name] = target

    def delete(self, numbers: list[int]) -> None:
        for number in numbers:
            del self._objects[number]

    def launch(self, step: Step) -> list[list[Any]]:
        workers = [self._objects[number] for number in step.workers]
        parameters: list[Any] = self._kernel.kernel.parameters[3:]
        types = [parameter.type.element for parameter in parameters]
        outs = [[zero(type) for _ in workers] for type in types]
        flat = [number for row in step.cells for number in row]
        cells = {FLAT: flat, ROWS: len(step.cells), COLUMNS: len(step.cells[0])}
        given = [workers, [*step.data], cells, *outs]
        block, threads = self._program.block or 1, self._program.threads(len(workers))
        Machine(self._kernel, self._seed).run(given, threads, block)
        return [
            [seen_as(self._program, _outside(type, value)) for value in out]
            for type, out in zip(types, outs, strict=True)
        ]

    def get(self, number: int) -> Any:
        return _outside(None, self._objects[number])

    def numbers(self) -> list[int]:
        return list(self._objects)


def _inside(type: Any, value: Any) -> Any:
    """A specimen's value as the interpreter has it."""
    if isinstance(type, InlineType):
        return tuple(_inside(type.item, part) for part in value)
    if isinstance(type, ValueType):
        return {
            n: _inside(t, part) for (n, t), part in zip(type.fields.items(), value, strict=True)
        }
    return value


def _outside(type: Any, value: Any) -> Any:
    """As those who observe a world know values and objects."""
    if isinstance(value, Thing):
        made = _named(value.cls.name)
        for name, each in value.cls.fields.items():
            found = value.fields[name]
            if isinstance(each, ReferenceType) and found is not None:
                found = SimpleNamespace(id=found.fields.get("id", -1))
            setattr(made, name, found if found is None else _outside(each, found))
        return made
    if isinstance(type, InlineType):
        return [_outside(type.item, part) for part in value]
    if isinstance(type, ValueType):
        made = _named(type.name)
        for name, part in type.fields.items():
            setattr(made, name, _outside(part, value[name]))
        return made
    return type(value) if isinstance(type, ScalarType) else value


def _named(name: str) -> Any:
    return type(name, (SimpleNamespace,), {})()
