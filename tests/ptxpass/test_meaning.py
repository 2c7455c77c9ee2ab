"""A module means the same before and after the pass: in every mode, what its kernels leave in
memory is equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from dispatch.mode import MODES, Mode, parse_mode
from ptxpass.text import LEFT_ALONE, Rewriting, read_module, rewrite
from tests.differential.effort import IS_THOROUGH, examples

from .golden import marked
from .golden_kernels import SCENARIOS, Scenario
from .interpreter import PtxFault
from .random_modules import RandomModule, modules
from .scenes import RandomScene, Scene, without_makers
from .text_reading import for_heap
from .worlds import Headers, World, differences

FOLDER = Path(__file__).parent / "programs"
#: Kernels that need other modules, or do nothing that the pass could change.
NOT_RUN = {"separate_classes", "separate_kernels"}
BY_TURNS = [
    f"{name}.ptx" for name in ("single", "chain", "conditions", "hand_predicated", "recursion")
]
#: (mode, debug)
EVERYTHING = [(mode, False) for mode in MODES] + [("range+switch", True), ("bits+vtable", True)]


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


FILES = [path for path in sorted(FOLDER.glob("*.ptx")) if _stem(path) not in NOT_RUN]


class Comparison:
    """The same runs of ``text`` and of what the pass makes of it. ``module`` makes the objects."""

    def __init__(self, name: str, text: str, scene: Scene | RandomScene, world: World) -> None:
        self._name = name
        self._text = text
        self._scene = scene
        self._world = world
        machine = world.original(text)
        for run in scene.runs:
            world.launch(machine, run, {})
        self._expected = world.image(machine, {})
        self._done: set[tuple[str, Headers]] = set()

    def check(self, rewriting: Rewriting, mode: Mode, headers: Headers, note: str = "") -> None:
        if (rewriting.text, headers) in self._done:
            return
        self._done.add((rewriting.text, headers))
        where = f"{self._name} in mode {mode.name}{note}; headers are {headers.name.lower()}"
        tags = {c.symbol: c.type_index for c in rewriting.classes} if mode.tagged_references else {}
        machine = self._world.rewritten(rewriting, mode.tagged_references, headers)
        for run in self._scene.runs:
            try:
                self._world.launch(machine, run, tags)
            except PtxFault as fault:
                raise AssertionError(f"{where}, kernel {run.kernel}:\n{fault}") from fault
        lines = differences(self._expected, self._world.image(machine, tags))
        assert not lines, f"{where}:\n" + "\n".join(lines[:20])


def all_rewritten(rewriting: Rewriting, mode: Mode) -> bool:
    """Whether no call reads an object's header that lies in the heap."""
    if mode.identify not in ("range", "bits"):
        return False
    return all(call.decision != LEFT_ALONE for call in rewriting.calls)


# ---------------------------------------------------------------- what compilers write


@pytest.mark.parametrize("name", marked(path.name for path in FILES))
def test_golden_programs(name: str) -> None:
    path = FOLDER / name
    scenario = SCENARIOS[_stem(path)]
    text = path.read_text()
    # With the code that makes objects some may lie elsewhere; without it, none. For time, one of
    # these for further variants of a program.
    both, first = IS_THOROUGH or _is_first(path), Random(name).random() < 0.5
    modes = _modes(path)
    # Where both are run in two modes, each in one of these.
    halves = (modes[:1], modes[1:]) if len(modes) == 2 else (modes, modes)
    if both or first:
        _compare_golden(path, text, scenario, Random(1), halves[0])
    if first and not both:
        return
    if not scenario.heap_makes:
        _compare_golden(path, without_makers(text, scenario), scenario, Random(2), halves[1])
        return
    _compare_golden(path, for_heap(text), scenario, Random(2), halves[1], from_heap=True)


def _compare_golden(
    path: Path,
    text: str,
    scenario: Scenario,
    random: Random,
    modes: Sequence[tuple[str, bool]],
    from_heap: bool = False,
) -> None:
    first = rewrite(text, parse_mode("cuda"), path.name)
    scene = Scene(read_module(path.read_text(), path.name), scenario, random)
    some = bool(first.constructions)
    elsewhere = some and not from_heap
    classes = [found.symbol for found in first.classes]
    world = scene.world(classes, lambda: not elsewhere or random.random() < 0.7)
    comparison = Comparison(path.name, text, scene, world)
    for name, debug in modes:
        mode = parse_mode(name)
        rewriting = rewrite(text, mode, path.name, debug=debug)
        unread = all_rewritten(rewriting, mode) and not some and not scenario.keeps_headers
        headers = Headers.GARBAGE if unread else Headers.KEPT
        comparison.check(rewriting, mode, headers, " with checks" * debug)


def _is_first(path: Path) -> bool:
    """Whether it is no further variant of a program."""
    return path.name == f"{_stem(path)}.ptx"


def _modes(path: Path) -> Sequence[tuple[str, bool]]:
    """(mode, debug). Unless time is given, every fifth for a few programs, by turns, and some for
    the rest, fewer for further variants of one program."""
    if IS_THOROUGH:
        return EVERYTHING
    if path.name in BY_TURNS:
        return EVERYTHING[BY_TURNS.index(path.name) :: len(BY_TURNS)]
    return Random(path.name).sample(EVERYTHING, 2 if _is_first(path) else 1)


# ---------------------------------------------------------------- random modules


#: Made smaller only when time is given: the message holds the whole module.
PHASES = tuple(Phase) if IS_THOROUGH else (Phase.explicit, Phase.reuse, Phase.generate)


@settings(max_examples=examples(24), phases=PHASES, report_multiple_bugs=False)
@given(modules(), st.randoms(use_true_random=False))
def test_random_modules(module: RandomModule, random: Random) -> None:
    scene = RandomScene(module, random)
    world = scene.world()
    try:
        comparison = Comparison("the random module", module.text, scene, world)
        for name, debug in EVERYTHING if IS_THOROUGH else random.sample(EVERYTHING, 5):
            mode = parse_mode(name)
            rewriting = rewrite(module.text, mode, type_indices=module.indices, debug=debug)
            _check_decisions(rewriting, mode, any(c.unclear for c in module.classes))
            # Objects of the heap are found without their headers, also where others are made.
            # A table that only a spill reads may still be loaded.
            unread = Headers.GARBAGE if module.spills else Headers.ABSENT
            headers = unread if all_rewritten(rewriting, mode) else Headers.KEPT
            comparison.check(rewriting, mode, headers, " with checks" * debug)
    except Exception:
        note(module.text)
        raise


def _check_decisions(rewriting: Rewriting, mode: Mode, unclear: bool) -> None:
    """All calls are found, and replaced where the mode says so; where tables are not clear, some
    may be left alone."""
    for call in rewriting.calls:
        if unclear and call.reason.startswith("virtual base or pure function"):
            continue
        assert call.slot >= 0, f"line {call.line} in {call.function}: {call.reason}"
        reads_header = mode.identify == "header" and mode.invoke == "vtable"
        if not reads_header and not (mode.spare_uniform and call.uniform):
            assert call.decision != LEFT_ALONE, f"mode {mode.name}, line {call.line}: {call.reason}"
