"""The pass over stored programs: what programs.toml says of each is found, and nothing else.

What is expected was written from the C++ and the PTX, not by the pass; the rewritten text is read
with regular expressions alone (text_reading.py).
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random

import pytest

from dispatch.mode import parse_mode
from ptxpass.text import LEFT_ALONE, CallReport, print_module, read_module, rewrite
from sharedoa.errors import BackendError
from sharedoa.runtime.code_cache.folder import CodeFolder
from sharedoa.targets.ptxas import find_ptxas
from tests.differential.effort import IS_THOROUGH

from . import text_reading
from .golden import FOLDER, ExpectedCall, Program, is_slow, marked, programs
from .text_reading import Counts

MODES = ("coal", "typepointer", "range+switch", "bits+switch", "tag+switch")
#: In which what is written is read.
READ = (*MODES, "range+vtable")
#: ptxas of CUDA 13 knows no older architecture.
OLDEST = 75
PROGRAMS = programs()


@cache
def rewritten(name: str, mode: str, for_heap: bool = False) -> str:
    text = PROGRAMS[name].text
    text = text_reading.for_heap(text) if for_heap else text
    return rewrite(text, parse_mode(mode), name).text


# ---------------------------------------------------------------- what is stored


def test_the_manifest_names_every_file() -> None:
    named = {*PROGRAMS, *(source for program in PROGRAMS.values() for source in program.sources)}
    stored = {path.name for path in FOLDER.iterdir() if path.suffix in (".ptx", ".cu", ".h")}
    assert named == stored


def test_a_file_without_a_command_is_written_by_hand() -> None:
    for program in PROGRAMS.values():
        assert bool(program.command) == bool(program.sources)
        assert not program.command or program.command.endswith(f" -o {program.name}")


def _strings(text: str) -> Iterator[str]:
    """Text in quotes, and what is written as numbers: strings, debug information."""
    yield from re.findall(r'"([^"]*)"', text)
    for numbers in re.findall(r"\.b8 (?:[\w$]+\[\d+\] = \{)?(\d+(?:, ?\d+)*)\b", text):
        yield bytes(map(int, numbers.split(","))).decode("latin-1")


def test_no_stored_file_names_the_machine_it_was_made_on() -> None:
    for program in PROGRAMS.values():
        paths = [string for string in _strings(program.text) if string.startswith("/")]
        folders = {str(Path(path).parent) for path in paths}
        assert folders <= {"/"}, program.name


# ---------------------------------------------------------------- what the pass finds


@pytest.mark.parametrize("name", PROGRAMS)
def test_printing_gives_the_text_back(name: str) -> None:
    text = PROGRAMS[name].text
    assert print_module(read_module(text, name)) == text


@pytest.mark.parametrize("name", marked(PROGRAMS))
def test_calls_are_found(name: str) -> None:
    program = PROGRAMS[name]
    # Modes that go by place may leave a call alone that is found.
    found = rewrite(program.text, parse_mode("tag+switch"), name).calls
    assert _by_function([_seen(call) for call in found]) == _by_function(
        [_wanted(call) for call in program.calls], found
    )


@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if p.misplaced])
@pytest.mark.parametrize("mode", ["coal", "typepointer", "range+switch", "bits+vtable"])
def test_calls_that_no_place_decides(name: str, mode: str) -> None:
    program = PROGRAMS[name]
    found = rewrite(text_reading.for_heap(program.text), parse_mode(mode), name).calls
    refused = [call for call in found if "place of another object" in call.reason]
    assert len(refused) == len(program.virtual_calls) - len(program.by_place) > 0
    assert {call.decision for call in refused} == {LEFT_ALONE}


Seen = tuple[str, int, frozenset[str], bool | None, str]


def _seen(call: CallReport) -> Seen:
    left = call.reason if call.decision == LEFT_ALONE else ""
    if left:
        return call.function, -1, frozenset(), None, left
    return call.function, call.slot, frozenset(call.candidates), call.uniform, ""


def _wanted(call: ExpectedCall) -> Seen:
    return call.function, call.slot, call.classes, call.uniform, call.left


def _by_function(calls: list[Seen], found: tuple[CallReport, ...] = ()) -> Mapping[str, list[Seen]]:
    """The calls of each function, in order. Of expected ones, what is not specified is taken from
    the call found in the same place: uniformity where both are right, and a reason's details."""
    result: dict[str, list[Seen]] = {}
    for call in calls:
        result.setdefault(call[0], []).append(call)
    places: dict[str, list[CallReport]] = {}
    for report in found:
        places.setdefault(report.function, []).append(report)
    for function, reports in places.items():
        expected = result.get(function, [])
        for index, (call, report) in enumerate(zip(expected, reports, strict=False)):
            name, slot, classes, uniform, left = call
            if left and left in report.reason:
                left = report.reason
            elif not left and uniform is None:
                uniform = report.uniform
            expected[index] = (name, slot, classes, uniform, left)
    return result


# ---------------------------------------------------------------- what the pass writes


def _functions_of(call: ExpectedCall, slots: dict[str, list[str]]) -> set[str]:
    return {slots[symbol][call.slot] for symbol in call.classes}


def _methods_call(program: Program) -> bool:
    """Whether a method has calls itself: in its callers they are counted again."""
    methods = {name for table in text_reading.slots(program.text).values() for name in table}
    return any(call.function in methods for call in program.calls)


def _direct(program: Program) -> int:
    """The calls with one possible target, which our modes call directly."""
    slots = text_reading.slots(program.text)
    if text_reading.shared_tables(program.text):
        return 0
    return sum(len(_functions_of(call, slots)) == 1 for call in program.virtual_calls)


def _counts(name: str, *modes: str) -> Iterator[tuple[str, Counts]]:
    """What is written in those of the modes that are looked at."""
    for mode in modes:
        if mode in _read(name):
            yield mode, text_reading.counts(rewritten(name, mode, for_heap=True))


@cache
def _read(name: str) -> Sequence[str]:
    """For time, a third of the modes of each program, unless time is given."""
    return READ if IS_THOROUGH else Random(name).sample(READ, 2)


@pytest.mark.parametrize("name", marked(PROGRAMS))
def test_indirect_calls_that_are_left(name: str) -> None:
    program = PROGRAMS[name]
    calls, virtual = len(program.calls), len(program.virtual_calls)
    # The paper's modes dispatch every call through a table.
    for mode, found in _counts(name, "coal", "typepointer"):
        assert found.indirect == calls, mode
    if _methods_call(program):
        return
    for mode, found in _counts(name, "range+switch", "bits+switch", "tag+switch"):
        through_header = 0 if _closed(program) else virtual - _direct(program)
        assert found.indirect == calls - virtual + through_header, mode


@pytest.mark.parametrize("name", marked(PROGRAMS))
def test_coal_walks_for_every_call_that_may_diverge(name: str) -> None:
    virtual = PROGRAMS[name].by_place
    if any(call.uniform is None for call in virtual):
        pytest.skip("a receiver is neither uniform nor not")
    for _, found in _counts(name, "coal"):
        assert found.walks == sum(not call.uniform for call in virtual)


@pytest.mark.parametrize("name", marked(PROGRAMS))
def test_our_modes_walk_once_a_receiver(name: str) -> None:
    program = PROGRAMS[name]
    for mode, found in _counts(name, "typepointer", "bits+switch", "tag+switch"):
        assert found.walks == 0, mode
    if not _methods_call(program) and not _direct(program):
        walks = sum(not call.again for call in program.by_place)
        for mode, found in _counts(name, "range+vtable", "range+switch"):
            assert found.walks == walks, mode


@pytest.mark.parametrize("name", marked(n for n, p in PROGRAMS.items() if len(p.calls)))
def test_loads_of_headers(name: str) -> None:
    program = PROGRAMS[name]
    if len(program.calls) > len(program.virtual_calls):
        pytest.skip("some of its calls read headers as they did")
    virtual, uniform = program.virtual_calls, sum(bool(c.uniform) for c in program.virtual_calls)
    if _closed(program):
        for _, found in _counts(name, "coal"):
            assert found.header_loads == uniform
        for mode, found in _counts(name, "typepointer", "range+switch", "bits+switch"):
            assert found.header_loads == 0, mode
    elif not _methods_call(program):
        left = len(virtual) - _direct(program)
        for _, found in _counts(name, "range+switch"):
            assert found.header_loads == left


def _closed(program: Program) -> bool:
    return text_reading.closed(text_reading.for_heap(program.text))


# ---------------------------------------------------------------- ptxas


def _architectures(text: str) -> set[int]:
    found = re.search(r"^\.target sm_(\d+)", text, re.MULTILINE)
    assert found is not None
    own = max(int(found[1]), OLDEST)
    # A choice, for time: what older code becomes on a newer card is ptxas's business.
    return {own, 90} if own == OLDEST and IS_THOROUGH else {own}


def _variant(name: str) -> bool:
    return "." in name.removesuffix(".ptx")


def _modes_for_ptxas(name: str) -> Sequence[str]:
    """For time, one of those that are read."""
    return [mode for mode in _read(name) if mode in MODES][:1]


#: Bytes: 64 for each text that ptxas took.
_MOST_TAKEN = 1 << 20


@pytest.mark.parametrize(
    ("mode", "everything"),
    [
        *((mode, False) for mode in MODES),
        *(pytest.param(mode, True, marks=pytest.mark.slow) for mode in MODES),
    ],
)
def test_ptxas_takes_what_is_written(
    mode: str, everything: bool, tmp_path: Path, kept_folder: Path
) -> None:
    try:
        ptxas = find_ptxas()
    except BackendError:
        pytest.skip("no ptxas on this machine")

    few = [name for name in PROGRAMS if not is_slow(name) and mode in _modes_for_ptxas(name)]
    names = list(PROGRAMS) if everything else few
    # What this ptxas took in an earlier session it takes again.
    taken, version = CodeFolder(kept_folder / "taken"), hashlib.sha256(ptxas.read_bytes()).digest()

    def complaints(name: str) -> str:
        # What is written differs where our heap makes the objects: a base file is taken so.
        text = rewritten(name, mode, for_heap=not (_variant(name) and _closed(PROGRAMS[name])))
        source = tmp_path / name
        source.write_text(text)
        said = ""
        for architecture in _architectures(text):
            known = hashlib.sha256(version + f"{architecture} {text}".encode()).hexdigest()
            if taken.read(known, _MOST_TAKEN) is not None:
                continue
            command = [str(ptxas), "-c", "-arch", f"sm_{architecture}", "-o", f"{source}.o"]
            done = subprocess.run([*command, str(source)], capture_output=True, text=True)
            if done.returncode:
                said += done.stderr
            else:
                taken.write(known, known.encode(), _MOST_TAKEN)
        return said and f"{name}: {said}"

    with ThreadPoolExecutor(2) as threads:
        assert [said for said in threads.map(complaints, names) if said] == []
