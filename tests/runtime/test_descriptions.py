"""Code that is found by the description of its compilation: what changes one, what does not, and
that what is found is what would be made."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from dispatch.mode import parse_mode
from ptxpass.ir import Ranges
from sharedoa import f32, f64, i32
from sharedoa.errors import InternalError
from sharedoa.ir.core import Function, Operation, Program, Value
from sharedoa.ir.description import describe
from sharedoa.ir.job import Facts, Job
from sharedoa.model import object as model_object
from sharedoa.model.classes import ClassType, Family
from sharedoa.model.clusters import Clusters
from sharedoa.model.reference import NarrowReference, PlainReference
from sharedoa.model.run_form import RunForm
from sharedoa.model.types import ValueType
from sharedoa.runtime import code_cache, knobs, pipeline
from sharedoa.runtime.code_cache import descriptions, entry
from sharedoa.targets.nvptx import NvptxTarget

TABLE = np.array([1, 2, 3], np.int32)


@oa.value
class Pair:
    first: f32
    second: f32


class Shape(oa.Object):
    def area(self) -> f32: ...


class Square(Shape):
    size: f32
    other: Square | None
    parts: oa.Array[Square]

    def area(self) -> f32:
        return self.size * self.size


class Strip(Shape):
    pair: Pair

    def area(self) -> f32:
        return self.pair.first


@oa.kernel
def total(shapes: oa.Array[Shape], out: oa.Array[f32], by: i32, those: oa.Array[Square]):
    i = oa.grid(1)
    assert by > 0, "by is not positive"
    out[i] = shapes[i].area() * by + TABLE[i] + those[i].parts[0].size
    if isinstance(shapes[i], Square):
        out[i] += 1


SHAPE, SQUARE, STRIP = (cls.__sharedoa__ for cls in (Shape, Square, Strip))
PAIR = vars(Pair)["__sharedoa_value__"]
HERE = Path(__file__).parents[2] / "sharedoa"


@pytest.fixture
def heap(tmp_path: Path) -> Iterator[oa.Heap]:
    with (
        knobs.scope(cache_dir=tmp_path / "cache"),
        oa.Heap(backend="cpu", capacity="64MiB", initial_region=16) as made,
    ):
        yield made


#: Of every question that the program may ask.
ANSWERS = {
    "clusters": Clusters(),
    "populated": frozenset({SQUARE.type_index}),
    "ranges": Ranges((SQUARE.type_index,)),
    "run": None,
    "pieces": None,
    "constant": None,
    "block": None,
    "packs": False,
}
OTHER_ANSWERS = {
    "clusters": Clusters(frozenset({(SQUARE, (("size", "other"),))})),
    "populated": frozenset({SQUARE.type_index, STRIP.type_index}),
    "ranges": Ranges((STRIP.type_index, SQUARE.type_index)),
    "run": RunForm(SQUARE, True),
    "pieces": RunForm(SQUARE, True, 0),
    "constant": 1,
    "block": (64, 1),
    "packs": True,
}


def job_of(heap: oa.Heap, answers: dict[str, Any] = ANSWERS, **changes: Any) -> Job:
    uses = total.program.uses()
    job = total.program.job(heap, heap.mode, False, heap.backend.target)
    facts = Facts(uses, lambda question: answers[question[0]], True)
    return dataclasses.replace(job, facts=facts, **changes)


def text_of(job: Job) -> str:
    found = describe(job)
    assert found is not None
    return found.text


def test_the_same_has_the_same(heap: oa.Heap) -> None:
    assert text_of(job_of(heap)) == text_of(job_of(heap))
    assert __file__ not in text_of(job_of(heap))


def test_code_that_tells_lines_is_that_of_its_place(heap: oa.Heap) -> None:
    job = job_of(heap, lines=True)
    kernel = job.program.kernel
    moved = dataclasses.replace(
        kernel, location=kernel.location._replace(line=kernel.location.line + 1)
    )
    functions = {**job.program.functions, kernel.symbol: moved}
    elsewhere = dataclasses.replace(job, program=Program(moved, functions))
    assert __file__ in text_of(job)
    assert text_of(elsewhere) != text_of(job)


@pytest.mark.parametrize("question", ANSWERS)
def test_each_answer_alone_changes_it(heap: oa.Heap, question: str) -> None:
    answers = {**ANSWERS, question: OTHER_ANSWERS[question]}
    assert text_of(job_of(heap, answers)) != text_of(job_of(heap))


def _other_layout(job: Job) -> Any:
    with oa.Heap(backend="cpu", capacity="64MiB", layout="tile") as heap:
        return heap.layout


def _other_encoding(job: Job) -> Any:
    # Which one a heap has depends on the addresses that its process holds already.
    is_wide = isinstance(job.encoding, PlainReference)
    return NarrowReference() if is_wide else PlainReference()


CHANGES: dict[str, Callable[[Job], Any]] = {
    "name": lambda job: "another",
    "target": lambda job: NvptxTarget(),
    "layout": _other_layout,
    "encoding": _other_encoding,
    "mode": lambda job: parse_mode("range+switch"),
    "debug": lambda job: True,
    "lines": lambda job: True,
    "fastmath": lambda job: True,
}


def test_each_setting_alone_changes_it(heap: oa.Heap) -> None:
    job = job_of(heap)
    known = {field.name for field in dataclasses.fields(Job)} - {"program", "facts"}
    assert known == CHANGES.keys()
    texts = [text_of(dataclasses.replace(job, **{n: new(job)})) for n, new in CHANGES.items()]
    assert len({text_of(job), *texts}) == 1 + len(CHANGES)


#: By what has it: attributes of which the description has to change with each, and others that
#: code cannot depend on, or that are named by the program where it does.
STATED: dict[Any, tuple[dict[str, Any], set[str]]] = {
    SQUARE: (
        {
            "name": "Other", "base": None, "type_index": 4321, "slots": {"area": 5},
            "entry_base": 77, "unordered": frozenset({"size"}), "frozen": True,
            "_own_fields": {"size": i32}, "_own_abstract": ["area"],
        },
        {"python_class", "resolve_fields", "subclasses", "foreign", "initialiser", "own_defaults",
         "made", "methods", "_all_fields"},
    ),
    SHAPE.family: ({"entries": 99, "layout": "aos"}, {"root"}),
    PAIR: (
        {"fields": {"first": f32, "second": i32}, "dtype": np.dtype([("first", "f4")]),
         "name": "Twin"},
        {"python_class", "methods", "forms", "constructors", "defaults", "properties", "made"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("thing", STATED, ids=["class", "family", "struct"])
def test_each_property_of_a_type_alone_changes_it(heap: oa.Heap, thing: Any) -> None:
    changed, free = STATED[thing]
    # Who adds a field decides whether code depends on it.
    assert {field.name for field in dataclasses.fields(thing)} == changed.keys() | free
    before = text_of(job_of(heap))
    for name, value in changed.items():
        kept = getattr(thing, name)
        object.__setattr__(thing, name, value)
        try:
            assert text_of(job_of(heap)) != before, name
        finally:
            object.__setattr__(thing, name, kept)
    assert text_of(job_of(heap)) == before
    assert type(thing) in (ClassType, Family, ValueType)


def test_slots_are_told_where_they_are_not_those_of_the_base(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text_of(job_of(heap))]
    for own in ({"more": 1}, {"more": 2}, {"other": 1}):
        monkeypatch.setattr(SQUARE, "slots", {**SHAPE.slots, **own})
        texts.append(text_of(job_of(heap)))
    assert len(set(texts)) == len(texts)


def test_programs_have_nothing_that_texts_leave_out() -> None:
    # Texts of the IR have all of these; who adds a field adds it there.
    names = {
        part: {f.name for f in dataclasses.fields(part)} for part in (Value, Operation, Function)
    }
    assert names[Value] == {"type", "name", "source"}
    assert names[Operation] == {
        "kind", "operands", "location", "attributes", "results", "regions",
    }  # fmt: skip
    assert names[Function] == {
        "symbol", "name", "kind", "result", "body", "location", "owner", "known", "melded",
        "gradient",
    }  # fmt: skip


def test_tables_and_sources_and_versions(heap: oa.Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(heap)
    found = describe(job)
    assert found is not None
    before = descriptions._key(job.target, found)
    TABLE[1] = 7
    try:
        assert text_of(job_of(heap)) != found.text
    finally:
        TABLE[1] = 2
    version = descriptions.compiler_version()
    monkeypatch.setattr(descriptions, "compiler_version", lambda: "another")
    assert descriptions._key(job.target, found) != before
    sources = {path.relative_to(HERE.parent).as_posix() for path in descriptions._sources()}
    assert sources >= {
        "sharedoa/ir/passes/runs.py", "sharedoa/codegen/lower.py", "sharedoa/model/layout.py",
        "sharedoa/targets/host.py", "sharedoa/runtime/pipeline.py", "dispatch/windows.py",
        "dispatch/identify/range.py", "ptxpass/ir/lowering.py",
    }  # fmt: skip
    monkeypatch.undo()
    descriptions.compiler_version.cache_clear()
    monkeypatch.setattr(descriptions.llvmlite, "__version__", "0.0.1")
    try:
        assert descriptions.compiler_version() != version
    finally:
        descriptions.compiler_version.cache_clear()


def compile_again(heap: oa.Heap) -> pipeline.Compilation:
    return pipeline.compile(total.program.job(heap, heap.mode, True, heap.backend.target))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is found is not made; the names of jobs that were lowered."""
    monkeypatch.setattr(pipeline, "always_compiles", False)
    made: list[str] = []
    lower = pipeline.lower

    def noting(program: Any, job: Job, **more: Any) -> Any:
        made.append(job.name)
        return lower(program, job, **more)

    monkeypatch.setattr(pipeline, "lower", noting)
    return made


def test_what_is_found_is_what_is_made(heap: oa.Heap, quick: list[str]) -> None:
    oa.new(Square, 3)
    first = compile_again(heap)
    again = compile_again(heap)
    assert quick == ["total"] and first.found is None and again.found is not None
    assert again.outline == first.outline and len(again.outline.source_sites) > 2
    assert "by is not positive" in [*again.outline.assertion_texts.values()]
    assert again.job == first.job and again.job.facts.questions == first.job.facts.questions
    assert again.products["o"] == first.products["o"]
    # The rest is made when somebody looks.
    assert again.products["dispatch.ll"] == first.products["dispatch.ll"]
    assert again.reports == first.reports and quick == ["total"] * 2


@pytest.mark.parametrize("objects", [0, 3])
def test_programs_are_not_kept_but_made_again_the_same(heap: oa.Heap, objects: int) -> None:
    oa.new(Square, objects)
    made = compile_again(heap)
    assert made.found is None and vars(made).keys().isdisjoint({"program", "lowered"})
    oa.new(Square, 40)  # of the heap as it was then
    text = made.products.pop("dispatch.ll")
    assert made.products["dispatch.ll"] == text


def test_damaged_entries_are_made_again(heap: oa.Heap, quick: list[str]) -> None:
    compile_again(heap)
    folder = code_cache.open_folder()
    assert folder is not None
    generator = random.Random(3)
    files = [Path(file.path) for file in folder.files()]
    whole = [file.read_bytes() for file in files]
    outlines = [file for file, data in zip(files, whole, strict=True) if b"outline" in data[:200]]
    assert len(files) > len(outlines) == 1
    for number, victim in enumerate([*files, *files]):
        for file, data in zip(files, whole, strict=True):
            file.write_bytes(data)
        data = victim.read_bytes()
        place = generator.randrange(len(data))
        cut = bytes([data[place] ^ 4]) + data[place + 1 :] if number < len(files) else b""
        victim.write_bytes(data[:place] + cut)
        quick.clear()
        assert compile_again(heap).products["o"]
        if victim in outlines:
            assert quick == ["total"]


@pytest.mark.parametrize(
    "change",
    [{"sites": [10**6]}, {"questions": [-(10**6)]}, {"code": "0" * 64}],
    ids=str,
)
def test_entries_that_say_what_cannot_be(
    heap: oa.Heap, quick: list[str], change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    dumps = json.dumps
    monkeypatch.setattr(descriptions.json, "dumps", lambda told: dumps({**told, **change}))
    compile_again(heap)
    monkeypatch.undo()
    monkeypatch.setattr(pipeline, "always_compiles", False)
    assert compile_again(heap).found is None


def test_the_net_catches_what_a_description_leaves_out(
    heap: oa.Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pipeline.describe

    def least(job: Job) -> Any:
        found = whole(job)
        return found and dataclasses.replace(found, text="kernel")

    monkeypatch.setattr(pipeline, "describe", least)
    compile_again(heap)
    compile_again(heap)
    job = total.program.job(heap, heap.mode, True, heap.backend.target)
    with pytest.raises(InternalError, match="its description is that of other code"):
        pipeline.compile(dataclasses.replace(job, fastmath=True))


def test_code_of_classes_that_changed_meanwhile_is_not_kept(
    heap: oa.Heap, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may define a class between the description of a job and its passes."""
    defined: list[type] = []
    entries = SHAPE.family.entries
    whole = pipeline.describe

    def then_define(job: Job) -> Any:
        found = whole(job)

        class Wider(Square):  # whose objects are not aligned as others
            more: f64

        defined.append(Wider)
        return found

    monkeypatch.setattr(pipeline, "describe", then_define)
    with_wider = compile_again(heap)
    text = with_wider.products["dispatch.ll"]
    monkeypatch.setattr(pipeline, "describe", whole)
    # As in a process that never had the class.
    defined[0].__sharedoa__.withdraw()  # type: ignore[attr-defined]
    monkeypatch.setattr(SHAPE.family, "entries", entries)
    again = compile_again(heap)
    assert again.found is None and quick == ["total"] * 2
    assert again.products["dispatch.ll"] != text
    assert compile_again(heap).found is not None


def test_other_threads_meet_classes_that_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class enters the hierarchy with its methods and their slots."""
    met: list[str] = []
    make = model_object._make_method

    def while_others_look(*arguments: Any) -> Any:
        met.extend(cls.name for cls in SHAPE.descendants() if not cls.slots)
        return make(*arguments)

    monkeypatch.setattr(model_object, "_make_method", while_others_look)

    class Disc(Strip):
        def area(self) -> f32:
            return 3 * self.pair.first

    Disc.__sharedoa__.withdraw()  # type: ignore[attr-defined]
    assert met == []


def test_keys_come_apart_again() -> None:
    parts = [b"", b"a", b"\0" * 9, "é".encode(), b"x" * 1000]
    assert entry.parts_of(entry.join(parts)) == parts
