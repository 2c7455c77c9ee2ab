"""Running a program's history with sharedoa or without, and what can be seen of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

import numpy as np

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.model.scalars import SCALARS

from ..source_files import load_module
from . import plain, plain_library
from .blocks import BARRIER
from .populations import Specimen, Step
from .programs import Program
from .reductions import by_loops, by_sharedoa, chosen
from .signatures import Class, inline_parts

#: What a launch leaves behind: its results, and every field of every object, by number.
Observation = tuple[list[list[Any]], dict[int, dict[str, Any]]]


class World(Protocol):
    """Objects of a program, by number."""

    def create(self, specimens: list[Specimen]) -> None: ...

    def delete(self, numbers: list[int]) -> None: ...

    def launch(self, step: Step) -> list[list[Any]]: ...

    def get(self, number: int) -> Any: ...

    def numbers(self) -> list[int]: ...


def observe(program: Program, history: list[Step], world: World) -> Iterator[Observation]:
    """Play a history; after each launch, everything that can be seen."""
    classes = {cls.name: cls for cls in program.classes}
    for step in history:
        world.delete(step.delete)
        world.create(step.create)
        results = world.launch(step)
        objects = {}
        for number in world.numbers():
            instance = world.get(number)
            name = type(instance).__name__
            if name in classes:
                objects[number] = fields_of(program, instance, classes[name])
            else:
                objects[number] = {"weight": seen(instance.weight)}
        yield results, objects


def fields_of(program: Program, instance: Any, cls: Class) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in cls.all_fields:
        value = getattr(instance, field.text)
        if field.type in ("Root", "Other"):
            found[field.text] = None if value is None else int(getattr(value, "id", -1))
        elif inside := inline_parts(field.type):
            rows = list(value) if len(inside) == 3 else [value]
            found[field.text] = [seen_as(program, element) for row in rows for element in row]
        else:
            found[field.text] = seen_as(program, value)
    return found


def seen_as(program: Program, value: Any) -> Any:
    """A value in a form that compares bit by bit, except that every NaN is equal."""
    for struct in program.structs:
        if type(value).__name__ == struct.name:
            return tuple(seen_as(program, getattr(value, f.text)) for f in struct.fields)
    return seen(value)


def seen(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.floating):
        return "nan" if np.isnan(value) else (value.dtype.name, float(value).hex())
    assert isinstance(value, np.integer), f"{value!r} is no NumPy scalar"
    return (value.dtype.name, int(value))


class PlainWorld:
    """The oracle: CPython, NumPy scalars, nothing of sharedoa."""

    def __init__(self, program: Program, reduces: bool = True) -> None:
        self._program = program
        library = SimpleNamespace(**vars(plain.OA), **plain_library.names())
        self._names: dict[str, Any] = {**plain.NAMES, "oa": library}
        text = "from __future__ import annotations\n" + program.text.replace(BARRIER, "yield")
        exec(compile(text, "plain", "exec"), self._names)
        self._objects: dict[int, Any] = {}
        self._reductions = chosen(program.text, program.results) if reduces else []

    def create(self, specimens: list[Specimen]) -> None:
        for specimen in specimens:
            cls = self._names[specimen.cls]
            made = self._objects[specimen.number] = cls.__new__(cls)
            for name, value in specimen.values.items():
                setattr(made, name, self._value(cls.annotations[name], value))
        for specimen in specimens:
            for name, number in specimen.links.items():
                target = None if number is None else self._objects[number]
                setattr(self._objects[specimen.number], name, target)

    def _value(self, annotation: str, value: Any) -> Any:
        if inside := inline_parts(annotation):
            return plain.InlineArray(inside[0], self._values(inside[0], value))
        if isinstance(value, tuple):
            struct = self._names[annotation]
            parts = zip(struct.__annotations__.values(), value, strict=True)
            return struct(*(self._value(type_, part) for type_, part in parts))
        return value

    def _values(self, element: str, values: list[Any]) -> list[Any]:
        return [
            self._values(element, v) if isinstance(v, list) else self._value(element, v)
            for v in values
        ]

    def delete(self, numbers: list[int]) -> None:
        for number in numbers:
            del self._objects[number]

    def launch(self, step: Step) -> list[list[Any]]:
        objects = [self._objects[number] for number in step.workers]
        data = [np.int32(value) for value in step.data]
        outs = [_Results(type_, len(objects)) for type_ in self._program.results]
        cells = np.array(step.cells, np.float32)
        block, threads = self._program.block or 1, self._program.threads(len(objects))
        plain.launch(self._names["run"], threads, objects, data, cells, *outs, block=block)
        found = [[seen_as(self._program, value) for value in out] for out in outs]
        for number, name in self._reductions if objects else ():
            made = by_loops(outs[number], self._program.results[number], name)
            found.append([seen(value) for value in made])
        return found

    def get(self, number: int) -> Any:
        return self._objects[number]

    def numbers(self) -> list[int]:
        return list(self._objects)


class _Results(list[Any]):
    """An array argument: elements convert when they are assigned."""

    def __init__(self, annotation: str, length: int) -> None:
        super().__init__([None] * length)
        self._annotation = annotation

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, plain.convert(value, self._annotation))


class SharedWorld:
    """The program under test, in the heap it is given."""

    def __init__(self, program: Program, module: ModuleType, heap: oa.Heap) -> None:
        self._program, self._module, self._heap = program, module, heap
        self._objects: dict[int, Any] = {}
        self._reductions = chosen(program.text, program.results)

    def create(self, specimens: list[Specimen]) -> None:
        for name in sorted({specimen.cls for specimen in specimens}):
            group = [specimen for specimen in specimens if specimen.cls == name]
            self._create(getattr(self._module, name), group)
        for specimen in specimens:
            made = self._objects[specimen.number]
            for name, number in specimen.links.items():
                setattr(made, name, None if number is None else self._objects[number])

    def _create(self, cls: Any, group: list[Specimen]) -> None:
        """One class at once: numbers as columns, everything else object by object."""
        fields = cls.__sharedoa__.fields
        columns = {
            name: np.array([s.values[name] for s in group], fields[name].dtype)
            for name in group[0].values
            if fields[name] in SCALARS.values()
        }
        made = self._heap.new(cls, len(group), **columns)
        for index, specimen in enumerate(group):
            self._objects[specimen.number] = made[index]
            for name in specimen.values.keys() - columns.keys():
                value = self._value(fields[name], specimen.values[name])
                setattr(made[index], name, value)

    def _value(self, type_: Any, value: Any) -> Any:
        if isinstance(value, list):
            inner = type_ if isinstance(value[0], list) else type_.element
            return [self._value(inner, part) for part in value]
        if isinstance(value, tuple):
            parts = zip(type_.fields.values(), value, strict=True)
            return type_.python_class(*(self._value(t, part) for t, part in parts))
        return type_(value)

    def delete(self, numbers: list[int]) -> None:
        for number in numbers:
            self._heap.delete(self._objects.pop(number))

    def launch(self, step: Step) -> list[list[Any]]:
        heap = self._heap
        workers = [self._objects[number] for number in step.workers]
        objects = heap.array(self._module.Root, workers)
        data = heap.array(i32, np.array(step.data, np.int32))
        outs = [heap.zeros(len(workers), self._type(name)) for name in self._program.results]
        cells = heap.array(f32, np.array(step.cells, np.float32))
        block, run = self._program.block, self._module.run
        threads = self._program.threads(len(workers))
        launch = run[threads] if block is None else run[threads, block]
        forms, given = Random(self._program.text), [objects, data, cells, *outs]
        names = ["objects", "data", "cells", *(f"out{number}" for number in range(len(outs)))]
        by_position = forms.choice([len(given), forms.randint(0, len(given))])
        named = [*zip(names, given, strict=True)][by_position:]
        forms.shuffle(named)
        launch(*given[:by_position], **dict(named))
        found = [[seen_as(self._program, out[k]) for k in range(len(out))] for out in outs]
        for number, name in self._reductions if workers else ():
            found.append([seen(value) for value in by_sharedoa(outs[number], name)])
        return found

    def _type(self, name: str) -> Any:
        return bool if name == "bool" else getattr(self._module, name)

    def get(self, number: int) -> Any:
        return self._objects[number]

    def numbers(self) -> list[int]:
        return list(self._objects)


def load(program: Program, folder: Path) -> ModuleType:
    """The program as a module that sharedoa compiles."""
    return load_module(folder, program.text)
