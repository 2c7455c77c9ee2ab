"""The world of a history in plain Python."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..plain import conversion, convert
from . import operations as op
from .plain_memory import Array, Cells, Object, launch, namespace, seen
from .source import Program

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "^": operator.xor}


class PlainWorld:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = namespace(program.text)
        self.objects: dict[int, Any] = {}
        self.arrays: dict[str, Array] = {}
        self._parameters = {kernel.name: kernel.parameters for kernel in program.kernels}

    def do(self, operation: op.Operation) -> list[Any] | None:
        """Raises Undefined for launches that are not, with nothing changed."""
        method = getattr(self, f"_{type(operation).__name__.lower()}")
        result: list[Any] | None = method(operation)
        return result

    def observe(self) -> op.Observation:
        objects = {number: self._look(each) for number, each in self.objects.items()}
        arrays = {name: [self._seen(v) for v in a.plain()] for name, a in self.arrays.items()}
        return objects, arrays

    def _look(self, found: Any) -> tuple[str, dict[str, Any]]:
        fields = {}
        for name in type(found).annotations:
            value = getattr(found, name)
            many = isinstance(value, Array)
            fields[name] = [self._seen(v) for v in value.plain()] if many else self._seen(value)
        return type(found).__name__, fields

    def _seen(self, value: Any) -> Any:
        return int(value.id) if isinstance(value, Object) else seen(value)

    # ------------------------------------------------------------ operations

    def _value(self, annotation: str, value: Any) -> Any:
        if annotation.startswith("oa.inline["):
            element = annotation[10:].split(",")[0]
            return Array(Cells(element, [self._value(element, part) for part in value]))
        if annotation == "V":
            return self.names["V"](*value)
        return convert(value, annotation)

    def _new(self, given: op.New) -> None:
        cls = self.names[given.cls]
        for place, number in enumerate(given.ids):
            made = self.objects[number] = cls.__new__(cls)
            for name, annotation in cls.annotations.items():
                if name in given.columns:
                    value = self._value(annotation, given.columns[name][place])
                elif name == "ir":
                    value = Array(Cells("Node", [None, None]))
                else:
                    value = Array(Cells("", [])) if "Array" in annotation else None
                object.__setattr__(made, name, value)
        self.arrays[given.name] = Array(Cells("Node", [self.objects[n] for n in given.ids]))

    def _newarray(self, given: op.NewArray) -> None:
        values = list(given.values)
        if given.element == "Node":
            values = [self.objects[number] for number in values]
        self.arrays[given.name] = Array(Cells(given.element, values))

    def _slice(self, given: op.Slice) -> None:
        self.arrays[given.name] = self.arrays[given.source].slice(given.start, given.stop)

    def _split(self, given: op.Split) -> None:
        start = 0
        for number, length in zip(given.ids, given.lengths, strict=True):
            piece = self.arrays[given.source].slice(start, start + length)
            object.__setattr__(self.objects[number], given.field, piece)
            start += length

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
        """As NumPy does: what is computed comes from what was there, and of several results for
        one object the last is kept."""
        objects = self.arrays[given.name].plain()
        if given.places is not None:
            objects = [objects[place] for place in given.places]
        type_ = type(objects[0]).annotations[given.field]
        combine = _OPERATORS[given.operator]
        with np.errstate(all="ignore"):
            old = [getattr(each, given.field) for each in objects]
            new = [
                combine(before, conversion(type_)(value))
                for before, value in zip(old, given.values, strict=True)
            ]
        for each, value in zip(objects, new, strict=True):
            setattr(each, given.field, value)

    def _delete(self, given: op.Delete) -> None:
        for number in given.ids:
            del self.objects[number]

    def _drop(self, given: op.Drop) -> None:
        del self.arrays[given.name]

    def _bind(self, given: op.Bind) -> None:
        exec(f"{given.name} = {given.text}", self.names)

    def _dump(self, given: op.Dump) -> None:
        pass

    def _nothing(self, given: op.Nothing) -> None:
        pass

    def _launch(self, given: op.Launch) -> list[Any]:
        out = Array(Cells("i64", [0] * given.threads))
        arguments: list[Any] = []
        for parameter, value in zip(self._parameters[given.kernel], given.arguments, strict=True):
            if parameter.text == "out":
                arguments.append(out)
            elif "Array" in parameter.type:
                arguments.append(self.arrays[value])
            else:
                is_object = parameter.type == "Node"
                arguments.append(self.objects[value] if is_object else convert(value, "i32"))
        kernel = self.names[given.kernel]
        launch(lambda index: kernel(*arguments), given.threads)
        return [seen(value) for value in out.plain()]

    def _call(self, given: op.Call) -> list[Any]:
        objects = self.arrays[given.name]
        number, ints = convert(given.number, "i32"), self.arrays[given.ints]
        reference = self.objects[given.reference]
        call = lambda index: getattr(objects[index], given.method)(number, reference, ints)
        return [seen(value) for value in launch(call, len(objects))]
