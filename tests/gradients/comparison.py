"""One random program: its gradients by a tape and by dual numbers."""

from __future__ import annotations

from pathlib import Path

import sharedoa as oa
from dispatch.mode import MODES, parse_mode

from ..differential.aliasing.places import backend as opened
from ..differential.effort import layout_for, references_for
from .shared_world import SharedProgram
from .source import make_program
from .worlds import differences, make_inputs, numbered, tame

#: Modes whose objects have adjoints.
BY_CLASS = [mode for mode in MODES if parse_mode(mode).placement == "by_type"]


def agree(
    folder: Path,
    seed: int,
    mode: str,
    backend: str,
    checkpoints: int | None = None,
    debug: bool = False,
    *,
    is_small: bool = True,
) -> bool:
    """Run one program there and back; False if its numbers are too large to compare."""
    program = make_program(seed, is_small=is_small)
    inputs = make_inputs(program, seed)
    wanted = tame(program, inputs)
    if wanted is None:
        return False
    layout, references = layout_for(mode, seed), references_for(mode, seed)
    with oa.Heap(mode, opened(backend), layout, "64MiB", 16, debug, references) as heap:
        found = SharedProgram(program, folder).run(inputs, heap, checkpoints)
    wrong = differences(wanted, found)
    assert not wrong, "\n".join([f"seed {seed}, {mode}", *wrong[:9], numbered(program)])
    return True
