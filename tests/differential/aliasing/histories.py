"""Random histories of a program: objects and arrays come and go, kernels are launched with arrays
that overlap. Each is played in plain Python while it is made, so that every launch is defined."""

from __future__ import annotations

from collections.abc import Set
from random import Random
from typing import Any

import numpy as np

from ..signatures import DTYPES, Named
from . import operations as op
from .plain_memory import Array, Object, Undefined
from .plain_world import PlainWorld
from .scope import FLOATS, INTS, NODES, REFERENCES, VALUES
from .source import Kernel, Program

#: Threads of a warp and some, so that loops are shared; and few, which is quick.
MANY, FEW = 37, 6
_TRIES = 5


def make_history(program: Program, seed: int, features: Set[str], length: int) -> list[op.Step]:
    """About ``length`` operations after the first objects and arrays are there."""
    maker = _Maker(program, Random(seed), features)
    maker.begin()
    for _ in range(length):
        maker.go_on()
    maker.steps.append(op.Step(op.Nothing(), None, maker.plain.observe()))
    return maker.steps


class _Maker:
    def __init__(self, program: Program, random: Random, features: Set[str]) -> None:
        self.program, self.random, self.features = program, random, features
        self.plain = PlainWorld(program)
        self.steps: list[op.Step] = []
        self.threads = MANY if program.for_warps or random.random() < 0.1 else FEW
        self.made = self.named = 0
        #: Types of the elements, by the array's name: a class for references.
        self.elements: dict[str, str] = {}
        #: Arrays of which it is known where their objects lie.
        self.runs: list[str] = []

    def _do(self, operation: op.Operation, *, look: bool = False) -> None:
        results = self.plain.do(operation)
        look = look or (results is not None and self.random.random() < 0.25)
        # Looking at everything costs as much as a launch.
        after = self.plain.observe() if look else None
        self.steps.append(op.Step(operation, results, after))

    def _name(self) -> str:
        self.named += 1
        return f"array{self.named}"

    # ----------------------------------------------------- objects and arrays

    def begin(self) -> None:
        count = self.threads + self.random.randint(0, 4)
        groups = self.random.choice((1, 1, 2, 3))
        for group in range(groups):
            cls = "Node" if group == 0 and self.random.random() < 0.5 else ""
            self._new_objects(count // groups + (group == 0) * (count % groups), cls)
        for _ in range(3):
            self._new_numbers("i32")
        if f"oa.Array[{self.program.other}]" in self.program.text:
            self._new_numbers(self.program.other)
        for _ in range(3):
            self._new_references()
        self._link(list(self.plain.objects))

    def _new_objects(self, count: int, cls: str = "") -> None:
        cls = cls or self.random.choice(("Node", "C0", "C1", "C2"))
        ids = tuple(range(self.made, self.made + count))
        self.made += count
        program = self.program
        columns = {field.text: self._numbers(field.type, count) for field in program.fields}
        for own in program.own[cls]:
            columns[own.text] = self._numbers(own.type, count)
        columns["id"] = list(ids)
        ranges = [self._range() for _ in ids]
        columns["b"], columns["e"] = [b for b, _ in ranges], [e for _, e in ranges]
        columns["v"] = [self._struct() for _ in ids]
        columns["il"] = [self._numbers(program.inline, INTS) for _ in ids]
        columns["iv"] = [[self._struct() for _ in range(VALUES)] for _ in ids]
        name = self._name()
        self._do(op.New(cls, ids, columns, name))
        self.elements[name] = cls
        self.runs.append(name)

    def _range(self) -> tuple[int, int]:
        """Of a loop: mostly short, and in a warp a few long ones."""
        start = self.random.randint(0, 2)
        if self.threads == MANY:
            length = self.random.choice((-1, 0, 0, 1, 2)) if self.random.random() < 0.9 else 34
        else:
            length = self.random.randint(-1, 3)
        return start, start + length

    def _struct(self) -> tuple[Any, ...]:
        return tuple(self._numbers(type, 1)[0] for type in self.program.value)

    def _numbers(self, type: str, count: int) -> list[Any]:
        if type in FLOATS:
            return [float(self.random.choice((0.5, -2.0, 3.25, 100.0, 7.0))) for _ in range(count)]
        limits = np.iinfo(DTYPES[type])
        high = int(limits.max)
        usual = (0, 1, 2, 3, 5, 8, 50, high - 3)
        return [self.random.choice(usual) for _ in range(count)]

    def _new_numbers(self, type: str) -> None:
        length = self.threads + self.random.randint(4, 8)
        name = self._name()
        if type == "i32":
            values = [self.random.randint(-3, 50) for _ in range(length)]
        else:
            values = self._numbers(type, length)
        self._do(op.NewArray(name, type, tuple(values)))
        self.elements[name] = type

    def _new_references(self) -> None:
        """All objects in some order, some of them, the elements of an array, or any."""
        ids = list(self.plain.objects)
        how = self.random.random()
        source = ""
        if how < 0.4:  # often a run
            news = [n for n, e in self.elements.items() if e not in (*DTYPES, "Node")]
            known = [n for n, e in self.elements.items() if e not in DTYPES]
            source = self.random.choice(news or known)
            ids = [int(each.id) for each in self.plain.arrays[source].plain()]
        elif how < 0.6:
            self.random.shuffle(ids)
        elif how < 0.7:
            ids = [self.random.choice(ids) for _ in ids]
        elif how < 0.8:
            ids.reverse()
        name = self._name()
        self._do(op.NewArray(name, "Node", tuple(ids), source))
        self.elements[name] = "Node"

    def _link(self, ids: list[int]) -> None:
        """References and arrays of new objects."""
        known = list(self.plain.objects)
        for number in ids:
            opt = None if self.random.random() < 0.5 else self.random.choice(known)
            near = self.random.choice(known) if self.random.random() < 0.5 else number
            self._do(op.SetReference(number, "nxt", -1, near))
            self._do(op.SetReference(number, "opt", -1, opt))
            for place in range(REFERENCES):
                self._do(op.SetReference(number, "ir", place, self.random.choice(known)))
        for field, element in (("nodes", "Node"), ("nums", "i32")):
            if self.random.random() < 0.6:
                self._split(field, element, ids)
            else:
                for number in ids:
                    self._do(op.SetArray(number, field, self._some(element)))

    def _split(self, field: str, element: str, ids: list[int]) -> None:
        source = self._some(element)
        length, count = len(self.plain.arrays[source]), len(ids)
        cuts = sorted(self.random.randint(0, length) for _ in range(count - 1))
        if length >= count and self.random.random() < 0.8:  # no piece is empty
            cuts = sorted(self.random.sample(range(1, length), count - 1))
        ends = [*cuts, length]
        lengths = [end - start for start, end in zip([0, *cuts], ends, strict=True)]
        self._do(op.Split(source, tuple(lengths), tuple(ids), field))

    def _some(self, element: str) -> str:
        return self._pick([n for n, e in self.elements.items() if e == element])

    def _pick(self, names: list[str]) -> str:
        """One of the names, often a run."""
        runs = [name for name in names if name in self.runs]
        return self.random.choice(runs if runs and self.random.random() < 0.4 else names)

    # -------------------------------------------------------------- operations

    def go_on(self) -> None:
        kinds = [(8, self._launch), (2, self._call), (2, self._slice), (1, self._change)]
        kinds += [(1, self._new_references), (1, self._replace), (1, self._view)]
        if "dumps" in self.features:
            kinds.append((1, self._dump))
        if self.program.bindings:
            kinds.append((2, self._bind))
        weights = [weight for weight, _ in kinds]
        self.random.choices([kind for _, kind in kinds], weights)[0]()

    def _slice(self) -> None:
        source = self.random.choice(list(self.elements))
        length = len(self.plain.arrays[source])
        start = self.random.randint(0, min(2, length - 1))
        stop = max(start + 1, length - self.random.randint(0, 2))
        name = self._name()
        self._do(op.Slice(name, source, start, stop))
        self.elements[name] = self.elements[source]
        if source in self.runs:
            self.runs.append(name)

    def _change(self) -> None:
        """The host writes one place, or gives fields other arrays."""
        number = self.random.choice(list(self.plain.objects))
        other = self.random.choice(list(self.plain.objects))
        roll = self.random.random()
        if roll < 0.3:
            field = self.random.choice(self.program.fields)
            self._do(op.SetNumber(number, field.text, self._numbers(field.type, 1)[0]))
        elif roll < 0.5:
            self._do(op.SetReference(number, "nxt", -1, other))
        elif roll < 0.7:
            name = self._some("Node")
            place = self.random.randrange(len(self.plain.arrays[name]))
            self._do(op.SetElement(name, place, other))
        elif roll < 0.85:
            self._do(op.SetArray(number, "nodes", self._some("Node")))
        else:
            self._split("nodes", "Node", list(self.plain.objects))

    def _replace(self) -> None:
        """Some objects go, others come, which may get their places."""
        ids = list(self.plain.objects)
        gone = set(self.random.sample(ids, self.random.randint(1, 1 + len(ids) // 4)))
        stay = [number for number in ids if number not in gone]
        for name, element in list(self.elements.items()):
            cells = self.plain.arrays[name].plain()
            held = [
                p
                for p, each in enumerate(cells)
                if isinstance(each, Object) and int(each.id) in gone
            ]
            if held and (element != "Node" or self.random.random() < 0.3) and self._can_drop(name):
                self._do(op.Drop(name))
                del self.elements[name]
                continue
            for place in held:
                self._do(op.SetElement(name, place, self.random.choice(stay)))
        for number in stay:
            self._let_go(number, gone, stay)
        self._do(op.Delete(tuple(gone)), look=True)
        before = set(self.plain.objects)
        self._new_objects(len(gone))
        self._link([number for number in self.plain.objects if number not in before])

    def _can_drop(self, name: str) -> bool:
        element = self.elements[name]
        return (
            element not in ("i32", "Node") or sum(e == element for e in self.elements.values()) > 1
        )

    def _let_go(self, number: int, gone: set[int], stay: list[int]) -> None:
        """An object that stays refers to none that goes."""
        owner = self.plain.objects[number]
        if int(owner.nxt.id) in gone:
            self._do(op.SetReference(number, "nxt", -1, self.random.choice(stay)))
        if owner.opt is not None and int(owner.opt.id) in gone:
            self._do(op.SetReference(number, "opt", -1, None))
        for field in ("ir", "nodes"):
            array: Array = getattr(owner, field)
            for place, each in enumerate(array.plain()):
                if int(each.id) in gone:
                    self._do(op.SetReference(number, field, place, self.random.choice(stay)))

    def _view(self) -> None:
        name = self.random.choice([n for n, e in self.elements.items() if e not in DTYPES])
        length = len(self.plain.arrays[name])
        ids = [int(each.id) for each in self.plain.arrays[name].plain()]
        places = list(range(length))
        if self.random.random() < 0.7:
            places = [self.random.randrange(length) for _ in range(self.random.randint(1, 5))]
        if "repeated views" not in self.features:
            first = {ids[place]: place for place in reversed(places)}
            places = list(first.values())
        fields = [field for field in self.program.fields if field.type not in FLOATS]
        if not fields:
            return
        field = self.random.choice(fields)
        values = tuple(self.random.randint(0, 9) for _ in places)
        symbol = self.random.choice("+-*^")
        whole = places == list(range(length)) and self.random.random() < 0.8
        chosen = None if whole else tuple(places)
        self._do(op.View(name, chosen, field.text, symbol, values), look=True)

    def _dump(self) -> None:
        self._do(op.Dump(self.random.randrange(1000)), look=True)

    def _bind(self) -> None:
        name = self.random.choice(list(self.program.bindings))
        self._do(op.Bind(name, self.random.choice(self.program.bindings[name])))

    # ---------------------------------------------------------------- launches

    def _launch(self) -> None:
        kernel = self.random.choice(self.program.kernels)
        for attempt in range(_TRIES + 1):
            arguments = self._arguments(kernel)
            lengths = [len(self.plain.arrays[a]) for a in arguments if isinstance(a, str) and a]
            threads = min(self.threads, *lengths)
            if attempt == _TRIES or self.random.random() < 0.1:
                threads = 1
            try:
                self._do(op.Launch(kernel.name, threads, tuple(arguments)))
            except Undefined:
                continue
            return

    def _arguments(self, kernel: Kernel) -> list[Any]:
        found: list[Any] = []
        for parameter in kernel.parameters:
            if parameter.text == "out":
                found.append("")
            elif "Array" in parameter.type:
                found.append(self._array(parameter, kernel, found))
            elif parameter.type == "Node":
                found.append(self.random.choice(list(self.plain.objects)))
            else:
                found.append(self.random.randint(0, 60))
        return found

    def _array(self, parameter: Named, kernel: Kernel, chosen: list[Any]) -> str:
        element = "Node" if parameter.type == NODES else parameter.type[9:-1]
        allowed = {element}
        if (
            element == "Node"
            and "covariance" in self.features
            and parameter.text not in kernel.written
        ):
            allowed |= {"C0", "C1", "C2"}
        names = [name for name, kind in self.elements.items() if kind in allowed]
        arrays = self.plain.arrays
        used = [arrays[name].cells for name in chosen if isinstance(name, str) and name]
        overlapping = [name for name in names if arrays[name].cells in used]
        if "one array twice" not in self.features:
            names = [name for name in names if name not in overlapping]
            if not names:
                return self._copy(element)
        elif overlapping and self.random.random() < 0.4:
            return self._pick(overlapping)
        return self._pick(names)

    def _copy(self, element: str) -> str:
        if element == "Node":
            self._new_references()
        else:
            self._new_numbers(element)
        return list(self.elements)[-1]

    def _call(self) -> None:
        """A method of all objects of an array, if that is defined."""
        names = [name for name, kind in self.elements.items() if kind not in DTYPES]
        for _ in range(_TRIES):
            call = op.Call(
                self.random.choice(names),
                self.random.choice(self.program.methods),
                self.random.randint(0, 9),
                self.random.choice(list(self.plain.objects)),
                self._some("i32"),
            )
            try:
                self._do(call)
            except Undefined:
                continue
            return
