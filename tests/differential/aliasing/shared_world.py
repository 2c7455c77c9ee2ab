"""The world of a history in a heap."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import sharedoa as oa

from . import operations as op
from .plain_memory import seen
from .source import Program

_IN_PLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "^": operator.ixor}


class SharedWorld:
    """``heap`` opens one, of which the number may choose the mode."""

    def __init__(
        self, program: Program, module: ModuleType, folder: Path, heap: Callable[[int], oa.Heap]
    ) -> None:
        self.program, self.module, self.folder = program, module, folder
        self._open = heap
        self.heap = heap(0)
        self.objects: dict[int, Any] = {}
        self.arrays: dict[str, Any] = {}
        self._parameters = {kernel.name: kernel.parameters for kernel in program.kernels}

    def do(self, operation: op.Operation) -> list[Any] | None:
        method = getattr(self, f"_{type(operation).__name__.lower()}")
        result: list[Any] | None = method(operation)
        return result

    def observe(self) -> op.Observation:
        objects = {number: self._look(each) for number, each in self.objects.items()}
        arrays = {name: [_seen(v) for v in array] for name, array in self.arrays.items()}
        return objects, arrays

    def _look(self, found: Any) -> tuple[str, dict[str, Any]]:
        fields = {}
        for name in type(found).__sharedoa__.fields:
            value = getattr(found, name)
            many = name in ("ir", "iv", "il", "nodes", "nums")
            fields[name] = [_seen(each) for each in value] if many else _seen(value)
        return type(found).__name__, fields

    # ------------------------------------------------------------ operations

    def _value(self, type_: Any, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(type_.element, part) for part in value]
        if isinstance(value, tuple):
            parts = zip(type_.fields.values(), value, strict=True)
            return type_.python_class(*(self._value(t, part) for t, part in parts))
        return type_(value)

    def _new(self, given: op.New) -> None:
        cls = getattr(self.module, given.cls)
        fields = cls.__sharedoa__.fields
        columns = {
            name: np.array(values, fields[name].dtype)
            for name, values in given.columns.items()
            if not isinstance(values[0], (list, tuple))
        }
        made = self.heap.new(cls, len(given.ids), **columns)
        self.arrays[given.name] = made
        for place, number in enumerate(given.ids):
            found = self.objects[number] = made[place]
            for name in given.columns.keys() - columns.keys():
                setattr(found, name, self._value(fields[name], given.columns[name][place]))

    def _newarray(self, given: op.NewArray) -> None:
        if given.element != "Node":
            element = getattr(self.module, given.element)
            values: Any = np.array(given.values, element.dtype)
            self.arrays[given.name] = self.heap.array(element, values)
            return
        source = self.arrays.get(given.source) if given.source else None
        objects = [self.objects[number] for number in given.values] if source is None else source
        self.arrays[given.name] = self.heap.array(self.module.Node, objects)

    def _slice(self, given: op.Slice) -> None:
        self.arrays[given.name] = self.arrays[given.source][given.start : given.stop]

    def _split(self, given: op.Split) -> None:
        owners = self.heap.array(self.module.Node, [self.objects[n] for n in given.ids])
        setattr(owners, given.field, oa.split(self.arrays[given.source], given.lengths))

    def _setreference(self, given: op.SetReference) -> None:
        value = None if given.value is None else self.objects[given.value]
        owner = self.objects[given.id]
        if given.place < 0:
            setattr(owner, given.field, value)
        else:
            getattr(owner, given.field)[given.place] = value

    def _setarray(self, given: op.SetArray) -> None:
        setattr(self.objects[given.id], given.field, self.arrays[given.name])

    def _setnumber(self, given: op.SetNumber) -> None:
        setattr(self.objects[given.id], given.field, given.value)

    def _setelement(self, given: op.SetElement) -> None:
        self.arrays[given.name][given.place] = self.objects[given.value]

    def _view(self, given: op.View) -> None:
        array = self.arrays[given.name]
        if given.places is not None:
            array = array[list(given.places)]
        type_ = array[0].__class__.__sharedoa__.fields[given.field]
        values = np.array(given.values).astype(type_.dtype)
        with np.errstate(all="ignore"):
            view = _IN_PLACE[given.operator](getattr(array, given.field), values)
            setattr(array, given.field, view)

    def _delete(self, given: op.Delete) -> None:
        objects = [self.objects.pop(number) for number in given.ids]
        self.heap.delete(objects[0] if len(objects) == 1 else objects)

    def _drop(self, given: op.Drop) -> None:
        del self.arrays[given.name]

    def _bind(self, given: op.Bind) -> None:
        exec(f"{given.name} = {given.text}", vars(self.module))

    def _dump(self, given: op.Dump) -> None:
        path = self.folder / "heap.dump"
        numbers = sorted(self.objects)
        everything = self.heap.array(self.module.Node, [self.objects[n] for n in numbers])
        self.heap.dump(path, all_objects=everything, **self.arrays)
        self.objects, self.arrays = {}, {}
        self.heap = self._open(given.number)
        arrays = self.heap.load(path)
        self.objects = dict(zip(numbers, arrays.pop("all_objects"), strict=True))
        self.arrays = arrays

    def _nothing(self, given: op.Nothing) -> None:
        pass

    def _launch(self, given: op.Launch) -> list[Any]:
        out = self.heap.zeros(given.threads, oa.i64)
        arguments: list[Any] = []
        for parameter, value in zip(self._parameters[given.kernel], given.arguments, strict=True):
            if parameter.text == "out":
                arguments.append(out)
            elif "Array" in parameter.type:
                arguments.append(self.arrays[value])
            else:
                arguments.append(self.objects[value] if parameter.type == "Node" else value)
        getattr(self.module, given.kernel)[given.threads](*arguments)
        return [seen(value) for value in out]

    def _call(self, given: op.Call) -> list[Any]:
        method = getattr(self.arrays[given.name], given.method)
        found = method(given.number, self.objects[given.reference], self.arrays[given.ints])
        return [seen(value) for value in found]


def _seen(value: Any) -> Any:
    if isinstance(value, oa.Object):
        return int(value.id)
    return seen(value)
