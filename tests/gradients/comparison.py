"""One random program: its gradients by a tape and by dual numbers."""

from __future__ import annotations

from pathlib import Path

import sharedoa as oa
from dispatch.mode import MODES, parse_mode

from ..differential.aliasing.places import backend as opened
from ..differential.effort import layout_for, references_for
from .copying_device import CopyingDevice
from .shared_world import SharedProgram
from .source import FEATURES, make_program
from .worlds import differences, make_inputs, numbered, tame

#: Modes whose objects have adjoints.
BY_CLASS = [mode for mode in MODES if parse_mode(mode).placement == "by_type"]

_OF_UNKNOWN_LENGTH = {"loops", "while", "recursion", "results", "break"}
"""After what has these a block is looked at anew."""


def agree(
    folder: Path,
    seed: int,
    mode: str,
    backend: str,
    checkpoints: int | None = None,
    debug: bool = False,
    *,
    is_small: bool = True,
    blocks: int = 1,
) -> bool:
    """Run one program there and back; False if its numbers are too large to compare. ``blocks``: of
    a tape, one after another, that do the same."""
    features = FEATURES - _OF_UNKNOWN_LENGTH if blocks > 1 else FEATURES
    program = make_program(seed, features, is_small=is_small)
    inputs = make_inputs(program, seed)
    wanted = tame(program, inputs)
    if wanted is None:
        return False
    layout, references = layout_for(mode, seed), references_for(mode, seed)
    where = CopyingDevice(1 << 30, keeps=True) if backend == "copying" else opened(backend)
    with oa.Heap(mode, where, layout, "64MiB", 16, debug, references) as heap:
        found = SharedProgram(program, folder).run(inputs, heap, checkpoints, blocks)
    wrong = differences(wanted, found)
    assert not wrong, "\n".join([f"seed {seed}, {mode}", *wrong[:9], numbered(program)])
    return True
