"""All that passes and code generation depend on, as text: by which machine code is found again.

It is the program as it comes from the front end (``text``), every class and value struct that it
can reach, the settings of the job, and what is so of the heap and the arguments of the launch.
Nothing in it is an address, and no file or line unless code tells of them (``Job.lines``), so that
it is the same in any process and wherever the source stands. What there is no text for has no
description, and is compiled.

Which facts code rests on shows when it is compiled, so the answers to all questions that the
program can ask stand here. Where one of them differs that was not asked, the code is made again,
found by its LLVM text (``runtime.code_cache``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dispatch.dataclass import dataclass

from ..errors import InternalError
from ..location import Location
from ..model.classes import ClassType, Family
from ..model.clusters import Clusters
from ..model.run_form import RunForm
from ..model.types import ArrayType, InlineType, ListType, ReferenceType, TupleType, ValueType
from .core import Program
from .job import Facts, Job, Question
from .text import Named, TypeTexts, code_text, type_names

#: What ``ValueType`` and its subclasses have; methods and getters of properties are functions of
#: the program where they are called, defaults are constants of it, and what was made for a struct
#: follows from it.
_STRUCT = {
    "name", "python_class", "fields", "methods", "dtype", "forms", "constructors", "defaults",
    "made", "properties",
}  # fmt: skip


@dataclass(frozen=True)
class Description:
    """``locations``: places in the source, in the order in which the program mentions them;
    ``facts``: answers to all questions that it can ask."""

    text: str
    locations: Sequence[Location]
    facts: Facts

    @property
    def questions(self) -> Sequence[Question]:
        return self.facts.questions


def describe(job: Job) -> Description | None:
    """The description of a job of which nothing was asked yet; None where something of it has no
    text."""
    facts = job.facts.all_known()
    try:
        names = _names(job.program, _in_facts(facts))
        types = TypeTexts(names)
        program, locations = code_text(job.program, types)
        parts = [
            *_settings(job),
            *(_named(type, types) for type in names.values()),
            *(_fact(question, answer, types) for question, answer in facts.answers.items()),
            program,
        ]
        if job.lines:
            parts += map(repr, locations)
    except (InternalError, RecursionError):
        return None
    return Description("\n".join(parts), locations, facts)


def describe_program(program: Program) -> tuple[str, Mapping[str, Named]] | None:
    """What follows from a program alone, and what the text calls classes and value structs; None
    where something of it has no text."""
    try:
        names = _names(program)
        types = TypeTexts(names)
        text, _ = code_text(program, types)
        return "\n".join([*(_named(type, types) for type in names.values()), text]), names
    except (InternalError, RecursionError):
        return None


def _settings(job: Job) -> Iterator[str]:
    name, header, tiles, in_regions, references = job.layout.key
    yield f"job {job.name!r} {job.target.name} {job.mode!r} debug {job.debug} fast {job.fastmath}"
    yield f"layout {name} {header!r} {tiles} {in_regions} {references} {job.encoding.name}"


# ---------------------------------------------------------------------- types


def _names(program: Program, others: Iterable[Named] = ()) -> dict[str, Named]:
    """Every class and struct that the program mentions, those of ``others``, and what is reached
    from one: bases and subclasses, and the types of fields. Classes are called by their numbers,
    too."""
    found: dict[Named, str] = {}
    families: set[Family] = set()
    pending: list[Named] = [*type_names(program).values(), *others]
    while pending:
        each = pending.pop()
        if each in found:
            continue
        if isinstance(each, ClassType):
            found[each] = f"{each.name}.{each.type_index}"
            if each.family not in families:
                families.add(each.family)
                pending += each.family.root.descendants()
            fields = each.own_fields if each.is_resolved else {}
        else:
            found[each] = f"{each.name}.struct.{len(found)}"
            fields = each.fields
        pending += reversed([*_in_types(fields.values())])
    return {name: each for each, name in found.items()}


def _in_types(types: Any) -> Iterator[Named]:
    for type in types:
        match type:
            case ReferenceType():
                yield type.cls
            case ValueType():
                yield type
            case ArrayType() | InlineType() | ListType():
                yield from _in_types([type.element])
            case TupleType():
                yield from _in_types(type.items)


def _in_facts(facts: Facts) -> Iterator[Named]:
    for question, answer in facts.answers.items():
        parts = [*question[1:], answer]
        yield from (each for each in parts if isinstance(each, ClassType))
        yield from (each.cls for each in parts if isinstance(each, RunForm))
        for each in parts:
            if isinstance(each, Clusters):
                yield from (cls for cls, _ in each)


def _named(type: Named, types: TypeTexts) -> str:
    return _class(type, types) if isinstance(type, ClassType) else _struct(type, types)


def _class(cls: ClassType, types: TypeTexts) -> str:
    if cls.foreign is not None:
        raise InternalError(f"no text for {cls!r}, which another compiler has laid out")
    base = "none" if cls.base is None else types.named(cls.base)
    family = f"{types.named(cls.family.root)} {cls.family.layout} {cls.family.entries}"
    slots = f"{cls.entry_base} {_slots(cls)}"
    kind = f"{cls.is_abstract} {cls.is_resolved} {cls.frozen} {sorted(cls.unordered)!r}"
    fields = _fields(cls.own_fields, types) if cls.is_resolved else "?"
    return f"class {types.named(cls)} {base} ({family}) ({slots}) {kind} {{{fields}}}"


def _slots(cls: ClassType) -> str:
    """Those that the base class has, which is described, too, are not told again: of a thousand
    classes that would be most of the text."""
    inherited = {} if cls.base is None else cls.base.slots
    if not inherited or not inherited.items() <= cls.slots.items():
        return repr(cls.slots)
    own = {name: slot for name, slot in cls.slots.items() if name not in inherited}
    return f"of the base and {own!r}"


def _struct(struct: ValueType, types: TypeTexts) -> str:
    if {*vars(struct)} - _STRUCT:
        raise InternalError(f"no text for all of {struct!r}")
    dtype = "none"
    if struct.dtype is not None:
        dtype = f"{struct.dtype!r} {struct.dtype.itemsize} {struct.dtype.alignment}"
    kind = type(struct).__qualname__
    return f"{kind} {types.named(struct)} {dtype} {{{_fields(struct.fields, types)}}}"


def _fields(fields: Mapping[str, Any], types: TypeTexts) -> str:
    return ", ".join(f"{name!r}: {types.type(type)}" for name, type in fields.items())


# ---------------------------------------------------------------------- facts


def _fact(question: Question, answer: Any, types: TypeTexts) -> str:
    what, *about = question
    names = [types.named(each) if isinstance(each, ClassType) else repr(each) for each in about]
    if what == "clusters":
        names = [types.named(about[0].root)]
    return f"{what} {' '.join(names)}: {_answer(answer, types)}"


def _answer(answer: Any, types: TypeTexts) -> str:
    match answer:
        case Clusters():
            return repr(sorted((types.named(cls), groups) for cls, groups in answer))
        case frozenset():
            return repr(sorted(answer))
        case RunForm():
            return types.run_form(answer)
    if isinstance(answer, (int, tuple)) or answer is None:
        return repr(answer)
    raise InternalError(f"no text for the answer {answer!r}")
