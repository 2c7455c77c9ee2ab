"""A scenario of ``golden_kernels`` made ready: objects made, arrays filled, kernels to run."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from random import Random

from ptxpass.text import Module, print_module, read_module
from ptxpass.text.syntax import Function, Instruction, SymbolValue, Variable, names_in

from .golden_kernels import Kernel, Scenario
from .interpreter import Addresses, Machine
from .interpreter.memory import from_generic
from .random_modules import RandomModule
from .worlds import Run, World, random_numbers

_ARRAY = re.compile(r"(f32|f64|i32|i64|u8)(?:<(\d+))?")
_REFERENCES = re.compile(r"&(\w+)(?:\+(\d+))?(?:\[(\d+)\])?(?::([\w+]+))?")
_NUMBERS_AN_OBJECT = 8
_BELOW = 9
_POINTER = 8


class Scene:
    """``source``: the machine that has made everything. ``runs``: the kernels."""

    def __init__(self, module: Module, scenario: Scenario, random: Random) -> None:
        self.addresses = Addresses()
        self.source = Machine(module, self.addresses)
        self._scenario = scenario
        self._random = random
        self._arrays: dict[str, int] = {}
        for kernel in scenario.make:
            run = self._run(kernel)
            self.source.launch(run.kernel, run.arguments, run.blocks, run.threads, run.shared)
        self._link()
        for variable, word in scenario.variables.items():
            value, _ = self._argument(word)
            self._set_variable(variable, value)
        present = module.functions
        self.runs = [self._run(k) for k in scenario.kernels if k.name in present]

    def world(self, classes: list[str], moves: Callable[[], bool] = lambda: True) -> World:
        return World(self.source, self.addresses, classes, self._random, moves)

    # ------------------------------------------------------------ arguments

    def _run(self, kernel: Kernel) -> Run:
        found = [self._argument(word) for word in kernel.arguments.split()]
        references = frozenset(place for place, (_, refers) in enumerate(found) if refers)
        threads = kernel.threads or self._scenario.count
        arguments = tuple(value for value, _ in found)
        return Run(kernel.name, arguments, references, threads, kernel.blocks, kernel.shared)

    def _argument(self, word: str) -> tuple[int | bytes, bool]:
        """(value, whether it is a reference)."""
        count = self._scenario.count
        if word in ("n", "n-1"):
            return count - (word == "n-1"), False
        if word.isdigit():
            return int(word), False
        name, _, text = word.partition("=")
        if name == "f32" and text:
            return struct.pack("<f", float(text)), False
        if name == "hex":
            return bytes.fromhex(text), False
        if name == "function":
            return self.source.address_of(text), False
        if word in ("bytes", "zeros"):
            return self._zeros(word), False
        if word.startswith("places"):
            return self._places(int(word.removeprefix("places"))), False
        references = _REFERENCES.fullmatch(word)
        if references is not None:
            return self._references(*references.groups())
        array = _ARRAY.fullmatch(word)
        assert array is not None, f"what is {word}?"
        below = int(array[2]) if array[2] else _BELOW
        data = random_numbers(array[1], _NUMBERS_AN_OBJECT * count, self._random, below)
        return self.source.allocate(0, f"an array of {word}", data), False

    def _zeros(self, word: str) -> int:
        size = 2 * _POINTER * self._scenario.count
        if word == "bytes" and word in self._arrays:
            return self._arrays[word]
        self._arrays[word] = self.source.allocate(0, word, bytes(size))
        return self._arrays[word]

    def _places(self, size: int) -> int:
        """Memory for objects, each a block of its own, and the array ``places`` of their
        addresses."""
        count = self._scenario.count
        first = self.source.memory.reserve("heap", size * count, size)
        places = [first + size * i for i in range(count)]
        for place in places:
            self.source.memory.add(place, bytearray(size), "global", "a place")
        data = struct.pack(f"<{count}Q", *places)
        self._arrays["places"] = self.source.allocate(0, "places", data)
        return first

    def _references(
        self, name: str, first: str | None, index: str | None, tables: str | None
    ) -> tuple[int | bytes, bool]:
        count = self._scenario.count
        if name not in self._arrays:
            self._arrays[name] = self.source.allocate(_POINTER * count, name, bytes(8 * count))
        known = self._known(name)
        if index is not None:
            return known[int(index)], True
        if tables is None:
            return self._arrays[name] + _POINTER * int(first or 0), False
        wanted = {self.source.address_of(table) + 16 for table in tables.split("+")}
        load = self.source.memory.load
        fitting = [place for place in known if place and load("", place, _POINTER) in wanted]
        assert fitting, f"no {tables} among {name}"
        filled = [fitting[i % len(fitting)] for i in range(count)]
        data = struct.pack(f"<{count}Q", *filled)
        return self.source.allocate(0, f"some of {name}", data), False

    def _known(self, name: str) -> list[int]:
        count = self._scenario.count
        data = self.source.memory.read(self._arrays[name], _POINTER * count)
        return list(struct.unpack(f"<{count}Q", data))

    # ------------------------------------------------------------ after the objects are made

    def _link(self) -> None:
        """References from objects to later ones, so that no chain goes round."""
        if not self._scenario.links:
            return
        (name,) = self._arrays
        known = self._known(name)
        tables = {self.source.address_of(t) + 16: o for t, o in self._scenario.links.items()}
        for place, address in enumerate(known):
            later = [*known[place + 1 : place + 6], 0]
            for offset in tables[self.source.memory.load("", address, _POINTER)]:
                target = later[0] if place < 5 else self._random.choice(later)
                self.source.memory.store("", address + offset, _POINTER, target)

    def _set_variable(self, name: str, value: int | bytes) -> None:
        assert isinstance(value, int)
        address = self.source.address_of(name)
        variable = self.source.module.variables[name]
        if variable.space == "const":
            known = next(n for n, a in self._arrays.items() if a == value)
            words = self._known(known)
            self.source.memory.write(address, struct.pack("<4Q", *words[:4]))
            assert from_generic("const", address)
        else:
            self.source.memory.write(address, struct.pack("<Q", value))


class RandomScene:
    """The objects of a random module: each lies in a block of its own and is told its fields."""

    def __init__(self, module: RandomModule, random: Random) -> None:
        self._random = random
        self._module = module
        self.addresses = Addresses()
        self.source = Machine(module.text, self.addresses)
        allocate = self.source.allocate
        places = [allocate(c.size, "a place", bytes(c.size)) for c, *_ in module.objects]
        for (owner, first, second, following), place in zip(module.objects, places, strict=True):
            table = self.source.address_of(owner.table) + owner.address_point
            fields = (table, first, second, places[following])
            self.source.memory.write(place, struct.pack("<QIIQ", *fields))
        count = len(places)
        references = allocate(0, "references", struct.pack(f"<{count}Q", *places))
        self.runs = []
        for kernel in module.kernels:
            out = allocate(4 * count, "results", bytes(4 * count))
            arguments = (references, out, count)
            self.runs.append(Run(kernel, arguments, frozenset(), 4, -(-count // 4), 0))

    def world(self) -> World:
        """All objects lie in the heap, or some do not where the module makes objects itself."""
        # Of virtual bases nothing is known to the pass, and its heap has no such objects.
        tables = [c.table for c in self._module.classes if not c.offsets]
        some = self._module.constructs
        return World(
            self.source,
            self.addresses,
            tables,
            self._random,
            lambda: not some or self._random.random() < 0.7,
        )


def without_makers(text: str, scenario: Scenario) -> str:
    """The module with the scenario's kernels and what they need, but nothing that makes objects."""
    module = read_module(text)
    functions, variables = module.functions, module.variables
    work = [kernel.name for kernel in scenario.kernels if kernel.name in functions]
    work += [name for name in variables if name.startswith("_ZTV") or not _makes(variables[name])]
    kept: set[str] = set()
    while work:
        name = work.pop()
        if name in kept:
            continue
        kept.add(name)
        if name in functions:
            work += [n for n in _mentioned(functions[name]) if n in functions or n in variables]
        elif name in variables:
            values = variables[name].initial or []
            work += [value.name for value in values if isinstance(value, SymbolValue)]
    module.items[:] = [
        item
        for item in module.items
        if not isinstance(item, Function | Variable) or item.name in kept
    ]
    return print_module(module)


def _makes(variable: Variable) -> bool:
    """Whether it is a picture of an object, from which makers copy."""
    values = [value for value in variable.initial or [] if isinstance(value, SymbolValue)]
    return any(value.name.startswith("_ZTV") for value in values)


def _mentioned(function: Function) -> list[str]:
    found: list[str] = []
    for statement in function.body or []:
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                found += names_in(operand)
    return found
