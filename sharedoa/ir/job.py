"""What is compiled, for which machine and heap, and what its code rests on.

A ``Job`` is the key of loaded code, what every stage of a compilation is given, and the head of
``kernel.explain()`` and of dumps. Code on disk is found by the description of a job, and keyed by
the text that its stages make of it (``runtime.code_cache``): a job names classes and programs of
this process, these name nothing but what the machine code depends on.

What code rests on besides its program is asked of ``Facts``, which remembers question and answer.
Nobody tells beforehand what will be asked, and what was not asked may change: code holds as long as
the same questions have the same answers. The front end asks about classes, methods and constants
(``frontend.dependencies``), code generation and the dispatch pass about a heap and the arguments of
a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dispatch.dataclass import dataclass, field
from dispatch.mode import Mode
from ptxpass.ir import Ranges

from ..errors import InternalError
from ..model.classes import ClassType, Family, class_of_index
from ..model.clusters import Clusters
from ..model.layout import Layout
from ..model.reference import ReferenceEncoding
from ..model.run_form import RunForm
from ..model.scalars import ScalarType
from ..model.types import ReferenceType, ValueType
from ..targets.base import Target
from .array_use import (
    ElementStores,
    array_fields,
    element_stores,
    indexed_parameters,
    stores_references,
)
from .births import Births, births_of
from .core import Program, operations_in
from .frozen import FrozenObject
from .number_parts import KnownStruct, known_struct, number_parts, place_of_part
from .roles import EVERYTHING, stored_roles
from .thread_accesses import ThreadAccesses, thread_accesses

Question = tuple[Any, ...]
"""The name of one of the questions of ``Facts``, and what it is about."""
Answer = Callable[[Question], Any]
"""Who knows what is so at the moment (``runtime.facts``)."""


class Translated(Protocol):
    """What the front end made of a kernel."""

    @property
    def ir(self) -> Program:
        """The program as it comes from the front end; nobody changes it."""
        ...

    def current(self) -> bool:
        """Whether translating again would see the same world."""
        ...


class Uses:
    """What a program does with classes, fields and arrays: whatever else is true of a heap, its
    code cannot rest on it. Each is found when it is first asked for."""

    def __init__(self, translation: Translated, receivers: int = 0) -> None:
        """``receivers``: how many parameters are receivers (``indexed_parameters``)."""
        self.translation = translation
        self.program = translation.ir
        #: What others have made of the program.
        self.derived: dict[Any, Any] = {}
        self._receivers = receivers
        self._thread_accesses: dict[tuple[bool, frozenset[int] | None], ThreadAccesses] = {}

    @cached_property
    def families(self) -> frozenset[Family]:
        """The families of the classes whose fields it reads or writes."""
        return frozenset(owner.family for owner in owners_of_fields(self.program))

    @cached_property
    def classes_met(self) -> frozenset[int]:
        """Type indices of the classes that its virtual calls and type tests may meet."""
        return _classes_met(self.program)

    @cached_property
    def indexed_parameters(self) -> tuple[int, ...]:
        """Those that may be runs."""
        return indexed_parameters(self.program, self._receivers)

    @cached_property
    def scalars(self) -> Mapping[int, ScalarType]:
        """The types of the kernel's scalar parameters, by number, that it uses, and of the numbers
        of those that are structs of numbers (``number_parts``)."""
        used = {operand for each in operations_in(self.program.kernel) for operand in each.operands}
        found = {}
        for number, parameter in enumerate(self.program.kernel.parameters):
            type = parameter.type
            if isinstance(type, ScalarType) and parameter in used:
                found[number] = type
            elif isinstance(type, ValueType) and parameter in used:
                for place, part in enumerate(number_parts(type).values()):
                    found[place_of_part(number, place)] = part
        return found

    @cached_property
    def frozen(self) -> Mapping[int, ClassType]:
        """The classes of the kernel's parameters that are frozen objects, by number."""
        return {
            number: parameter.type.cls
            for number, parameter in enumerate(self.program.kernel.parameters)
            if isinstance(parameter.type, ReferenceType) and parameter.type.cls.frozen
        }

    @cached_property
    def references(self) -> frozenset[int]:
        """The kernel's parameters that are references, by number."""
        every = enumerate(self.program.kernel.parameters)
        return frozenset(n for n, each in every if isinstance(each.type, ReferenceType))

    @cached_property
    def array_fields(self) -> frozenset[tuple[ClassType, str]]:
        """The fields whose arrays may be pieces."""
        return frozenset() if self.stores_references else array_fields(self.program)

    @cached_property
    def births(self) -> Births:
        """Which objects it makes and ends."""
        return births_of(self.program)

    def thread_accesses(self, on_device: bool, populated: frozenset[int] | None) -> ThreadAccesses:
        """What its threads do to memory; ``populated``: as in ``thread_accesses``."""
        key = on_device, populated
        found = self._thread_accesses.get(key)
        if found is None:
            found = thread_accesses(self.program, on_device, populated)
            self._thread_accesses[key] = found
        return found

    @cached_property
    def stores_references(self) -> bool:
        """Whether a launch may change elements of arrays of references."""
        return stores_references(self.program)

    @cached_property
    def stored_fields(self) -> frozenset[tuple[ClassType, str]] | None:
        """The fields of references that a launch may change, by the class that declares each and
        name; None: any."""
        found = set()
        for role in stored_roles(self.program):
            if role == EVERYTHING:
                return None
            kind, *rest = role
            if kind == "field":
                index, name, *_ = rest
                assert isinstance(index, int) and isinstance(name, str)
                owner = class_of_index(index)
                if owner is None:
                    return None
                if isinstance(owner.fields[name], ReferenceType):
                    found.add((owner, name))
        return frozenset(found)

    @cached_property
    def element_stores(self) -> ElementStores | None:
        """Which arrays it stores references to."""
        return element_stores(self.program) if self.stores_references else None


class Facts:
    """Answers that code rests on, by question. What is asked for the first time is answered by
    ``answer``, until ``close``. What a program does not use is not asked about, nor is more than
    clusters in modes whose code does not look at the heap's objects. Without ``uses`` nothing is
    known, and nothing asked."""

    def __init__(
        self,
        uses: Uses | None = None,
        answer: Answer | None = None,
        looks: bool = False,
        debug: bool = False,
    ) -> None:
        """``looks``: as ``Mode.by_population``."""
        self._uses = uses
        self._answer = answer
        self._looks = uses if looks else None
        self._debug = debug
        self._answers: dict[Question, Any] = {}

    # ---------------------------------------------------------------- the questions

    def clusters(self, family: Family) -> Clusters:
        """Which fields of the family's classes lie side by side."""
        found: Clusters = Clusters() if self._uses is None else self._ask("clusters", family)
        return found

    def populated(self) -> frozenset[int] | None:
        """Type indices of the classes that have regions, of those that the program may meet; None
        where none has, or nothing is known."""
        is_asked = self._looks is not None and self._looks.classes_met
        found: frozenset[int] | None = self._ask("populated") if is_asked else None
        return found

    def ranges(self) -> Ranges:
        """Where objects of these classes lie."""
        is_asked = self._looks is not None and not self._debug
        found: Ranges = self._ask("ranges") if is_asked else Ranges()
        return found

    def run(self, parameter: int) -> RunForm | None:
        """What the objects of an array are, if they lie side by side."""
        is_asked = self._looks is not None and parameter in self._looks.indexed_parameters
        found: RunForm | None = self._ask("run", parameter) if is_asked else None
        return found

    def pieces(self, owner: ClassType, name: str) -> RunForm | None:
        """The same of the array that all arrays in a field are pieces of (``heap.pieces``)."""
        if self._looks is None or self._debug or (owner, name) not in self._looks.array_fields:
            return None
        found: RunForm | None = self._ask("pieces", owner, name)
        return found

    def constant(self, parameter: int) -> int | float | bool | None:
        """The number that a scalar argument is in all launches of the code, if that is known; no
        NaN, of which there are many. Answers are words as kernels get them, which tell 0.0 from
        -0.0."""
        type = None if self._uses is None else self._uses.scalars.get(parameter)
        if type is None:
            return None
        word = self._ask("constant", parameter)
        return None if word is None else _number(word, type)

    def struct(self, parameter: int) -> KnownStruct | None:
        """What is known of an argument that is a struct of numbers."""
        if self._uses is None:
            return None
        type = self._uses.program.kernel.parameters[parameter].type
        paths = number_parts(type) if isinstance(type, ValueType) else {}
        places = (place_of_part(parameter, number) for number in range(len(paths)))
        return known_struct(dict(zip(paths, map(self.constant, places), strict=True)))

    def frozen(self, parameter: int) -> FrozenObject | None:
        """What a frozen object is and holds that is an argument of all launches of the code."""
        is_asked = self._uses is not None and parameter in self._uses.frozen
        found: FrozenObject | None = self._ask("frozen", parameter) if is_asked else None
        return found

    def is_object(self, parameter: int) -> bool:
        """Whether a reference is never None in launches of the code."""
        is_asked = self._uses is not None and parameter in self._uses.references
        return is_asked and bool(self._ask("is_object", parameter))

    def block(self) -> tuple[int, int] | None:
        """How many threads along x and y each block of all launches of the code has."""
        if self._uses is None or self._debug:
            return None
        found: tuple[int, int] | None = self._ask("block")
        return found

    def packs(self) -> bool:
        """Whether threads that go on at their first test run side by side, on a device."""
        is_asked = self._uses is not None and not self._debug
        return is_asked and bool(self._ask("packs"))

    def distinct(self, cls: ClassType, owner: ClassType, name: str) -> bool:
        """Whether no two objects of ``cls`` refer to the same one by a field."""
        found: bool = self._ask("distinct", cls, owner, name)
        return found

    def _ask(self, *question: Any) -> Any:
        if question not in self._answers:
            if self._answer is None:
                raise InternalError(f"asked when the code was complete: {question}")
            self._answers[question] = self._answer(question)
        return self._answers[question]

    def all_known(self) -> Facts:
        """Answers to all questions that code of the program can ask."""
        uses, looks = self._uses, self._looks is not None
        facts = Facts(uses, self._answer, looks, self._debug)
        if uses is None:
            return facts
        for family in sorted(uses.families, key=lambda each: each.root.type_index):
            facts.clusters(family)
        if uses.classes_met:
            facts.populated()
            facts.ranges()
        for parameter in uses.indexed_parameters:
            facts.run(parameter)
        for owner, name in sorted(
            uses.array_fields, key=lambda each: (each[0].type_index, each[1])
        ):
            facts.pieces(owner, name)
        for parameter in uses.scalars:
            facts.constant(parameter)
        for parameter in uses.frozen:
            facts.frozen(parameter)
        for parameter in sorted(uses.references):
            facts.is_object(parameter)
        facts.block()
        facts.packs()
        facts.close()
        return facts

    def rest_on(self, questions: Iterable[Question], known: Facts) -> None:
        """The code is complete: it was found, and asked these questions."""
        self._answers.update((question, known._answers[question]) for question in questions)
        self.close()

    # ---------------------------------------------------------------- what was asked

    @property
    def answers(self) -> Mapping[Question, Any]:
        """All that was asked, in order, and the answers."""
        return self._answers

    def close(self) -> None:
        """The code is complete."""
        self._answer = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that were asked, in order."""
        return tuple(self._answers)

    def asked(self, what: str) -> Iterator[tuple[Question, Any]]:
        """The questions of one kind, without its name, and their answers."""
        return ((q[1:], answer) for q, answer in self._answers.items() if q[0] == what)

    @property
    def constants(self) -> Mapping[int, int | float | bool]:
        """The numbers that are known to be always the same, by place, and what they are."""
        found = ((place, self.constant(place)) for (place,), _ in [*self.asked("constant")])
        return {place: number for place, number in found if number is not None}

    @property
    def words(self) -> Sequence[tuple[int, int]]:
        """The parameters that the code was told of, and the words that they are."""
        frozen = [(place, each.reference) for (place,), each in self.asked("frozen") if each]
        found = ((place, word) for (place,), word in self.asked("constant"))
        return [*[(place, word) for place, word in found if word is not None], *frozen]

    def again(self, questions: Iterable[Question]) -> Facts:
        """The answers to these questions and no others."""
        assert self._answer is not None
        facts = Facts()
        facts._answers = {question: self._answer(question) for question in questions}
        return facts

    def still_hold(self, answer: Answer) -> bool:
        """Whether all that the code rests on is as it was: everything is asked again."""
        is_current = self._uses is None or self._uses.translation.current()
        return is_current and all(
            answer(question) == known for question, known in self._answers.items()
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and self._answers == other._answers

    def __hash__(self) -> int:
        return hash(frozenset(self._answers.items()))


@dataclass(frozen=True, eq=False)
class Job:
    """One compilation, by the kernel's ``name``; equal to others whose code would be the same.
    ``layout`` is how objects lie in the heap, ``encoding`` how references are stored in it,
    ``fastmath`` says that floats may be approximate, ``lines`` that code tells which lines of the
    source it was made from."""

    name: str
    program: Program
    target: Target
    layout: Layout
    encoding: ReferenceEncoding
    mode: Mode
    debug: bool
    fastmath: bool = False
    lines: bool = False
    facts: Facts = field(default_factory=Facts)

    @property
    def works_in_warps(self) -> bool:
        """Whether threads of a warp may work for each other."""
        return self.mode.shares_loops and self.target.warp is not None and not self.debug

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other jobs; final when its facts are closed."""
        # Clusters are facts.
        layout, encoding = self.layout.key, self.encoding.name
        settings = self.mode, self.debug, self.fastmath, self.lines
        return self.program, self.target.fingerprint, layout, encoding, *settings, self.facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        """Some lines for who reads what was compiled."""
        settings = f"{'debug, ' if self.debug else ''}{'fast math, ' if self.fastmath else ''}"
        lines = [
            f"kernel {self.name}: mode {self.mode.name}, layout {self._layout()}, "
            f"{settings}target {self.target.name}",
            self.mode.explanation,
        ]
        parameters = self.program.kernel.parameters
        alone = "objects side by side, no reference is loaded"
        for (place,), form in self.facts.asked("run"):
            if form is not None:
                lines.append(f"{parameters[place].name}: {form.cls.name} {alone}")
        for (owner, name), form in self.facts.asked("pieces"):
            if form is not None:
                lines.append(f"{owner.name}.{name}: pieces of one array of {form.cls.name} {alone}")
        for (place,), each in self.facts.asked("frozen"):
            if each is not None:
                values = len(each.contents)
                lines.append(f"{parameters[place].name}: always one object, {values} values known")
        for _, block in self.facts.asked("block"):
            if block is not None:
                lines.append(f"blocks: always {block[0]} x {block[1]} threads")
        if any(packs for _, packs in self.facts.asked("packs")):
            lines.append("threads: those that go on at their first test run side by side")
        for place, number in self.facts.constants.items():
            lines.append(f"{parameters[place].name}: always {number}")
        return "\n".join(lines)

    def _layout(self) -> str:
        """Its name, what ``auto`` decided for the families whose fields the program accesses, and
        the clusters of their classes."""
        layout = self.layout
        owners = owners_of_fields(self.program)
        used = {cls for owner in owners for cls in owner.ancestry()}
        clusters = sorted(
            f", {cls.name} clusters " + " ".join(f"({', '.join(names)})" for names in groups)
            for cls, groups in layout.clusters
            if cls in used
        )
        name = layout.name
        if name == "auto":
            tiled = sorted({owner.family.root.name for owner in owners if layout.is_tiled(owner)})
            name = f"auto (tile for {', '.join(tiled)})" if tiled else "auto (aos)"
        return name + "".join(clusters)


def _number(word: int, type: ScalarType) -> int | float | bool | None:
    """The number in a word that a kernel is given as its argument; None for NaN."""
    stored = np.frombuffer(word.to_bytes(8, "little"), type.dtype, 1)
    number: int | float | bool = stored[0].item()
    return number if number == number else None


def owners_of_fields(program: Program) -> frozenset[ClassType]:
    """The classes that declare the fields which a program reads or writes."""
    return frozenset(each["owner"] for each in operations_in(program) if each.kind == "field")


def _classes_met(program: Program) -> frozenset[int]:
    found: set[int] = set()
    for operation in operations_in(program):
        if operation.kind == "call_virtual":
            found.update(candidate.cls.type_index for candidate in operation["candidates"])
        elif operation.kind == "type_test":
            type = operation.operands[0].type
            assert isinstance(type, ReferenceType)
            found.update(cls.type_index for cls in type.cls.concrete())
    return frozenset(found)
