"""Code by the description of its compilation: neither passes nor code generation run for a hit.

An entry says which entry has the code, and what loading it and telling its errors takes beside it
(``Outline``). Code itself is kept by the LLVM text that it was made from, as always, so that it is
there once for all descriptions that lead to it, and whatever it depends on is compared again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import llvmlite

import dispatch
import ptxpass.ir
from dispatch.dataclass import dataclass

from ... import codegen, ir, model, targets
from ...codegen.lower import LoweredModule
from ...ir.description import Description
from ...ir.job import Job, Question
from ...location import Location
from ...targets.base import Stages
from .. import knobs
from . import Compiler, digest_of, entry, key_of, open_folder, stored

_STAGE = "outline"
#: The compiler that listings name.
_NAME = "description"


@dataclass(frozen=True)
class Outline:
    """What is to be known of code to load it, and to tell where it found an error: as in
    ``LoweredModule``."""

    kernel_symbol: str
    uses_barrier: bool
    recursive: bool
    at_once: int
    source_sites: Sequence[Location]
    assertion_texts: Mapping[int, str]

    @classmethod
    def of(cls, lowered: LoweredModule) -> Outline:
        return cls(
            lowered.kernel_symbol,
            lowered.uses_barrier,
            lowered.recursive,
            lowered.at_once,
            lowered.source_sites,
            lowered.assertion_texts,
        )


@dataclass(frozen=True)
class Found:
    """Code, the LLVM text that it was made from, and the questions that it rests on."""

    stages: Stages
    text: str
    outline: Outline
    questions: Sequence[Question]


def recall(job: Job, description: Description) -> Found | None:
    """What an earlier run made of the same."""
    folder = open_folder()
    if folder is None:
        return None
    limit = knobs.cache_size.value()
    key = _key(job.target, description)
    known = stored(folder.read(digest_of(key), limit))
    if known is None or known.key != key:
        return None
    try:
        told = json.loads(known.stages[_STAGE])
        outline = Outline(
            told["symbol"],
            told["uses_barrier"],
            told["recursive"],
            told["at_once"],
            [description.locations[place] for place in told["sites"]],
            {int(site): text for site, text in told["texts"].items()},
        )
        questions = [description.questions[place] for place in told["questions"]]
        code = stored(folder.read(told["code"], limit))
    except (KeyError, IndexError, TypeError, ValueError):
        return None  # of a version of this package that nobody told from ours
    if code is None:
        return None
    text = entry.parts_of(code.key)[-1].decode()
    if code.key != key_of(job.target, text):
        return None
    return Found(code.stages, text, outline, questions)


def remember(
    job: Job, description: Description, text: str, outline: Outline, questions: Sequence[Question]
) -> None:
    """Keep what was made, whose code was made from ``text``, unless it has something that its
    description does not mention."""
    folder = open_folder()
    if folder is None:
        return
    places = {location: place for place, location in enumerate(description.locations)}
    asked = {question: place for place, question in enumerate(description.questions)}
    if not (places.keys() >= {*outline.source_sites} and asked.keys() >= {*questions}):
        return
    told = json.dumps(
        {
            "code": digest_of(key_of(job.target, text)),
            "symbol": outline.kernel_symbol,
            "uses_barrier": outline.uses_barrier,
            "recursive": outline.recursive,
            "at_once": outline.at_once,
            "sites": [places[location] for location in outline.source_sites],
            "texts": outline.assertion_texts,
            "questions": [asked[question] for question in questions],
        }
    )
    key = _key(job.target, description)
    with contextlib.suppress(OSError):
        data = entry.pack(job.name, _NAME, key, {_STAGE: told})
        folder.write(digest_of(key), data, knobs.cache_size.value())


def _key(compiler: Compiler, description: Description) -> bytes:
    made_with = _NAME, compiler_version(), compiler.name, compiler.fingerprint
    return entry.join(part.encode() for part in (*made_with, description.text))


@cache
def compiler_version() -> str:
    """Of all that turns a program in SSA form into code: the sources, and llvmlite."""
    digest = hashlib.sha256()
    for path in _sources():
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode())
        digest.update(data)
    return f"{digest.hexdigest()} llvmlite {llvmlite.__version__}"


@cache
def version_with(*others: str) -> str:
    """The same with the sources in folders, and files, that are not among them."""
    digest = hashlib.sha256(compiler_version().encode())
    for place in map(Path, others):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for package in (dispatch, ptxpass.ir, ir, codegen, model, targets):
        (folder,) = package.__path__
        yield from sorted(Path(folder).rglob("*.py"))
    yield Path(__file__).parents[1] / "pipeline.py"
    yield Path(__file__)
