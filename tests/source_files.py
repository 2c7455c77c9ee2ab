"""Modules from source text, as files: what tests generate has lines that errors can point at."""

from __future__ import annotations

import importlib.util
import itertools
import os
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from sharedoa.runtime import knobs

PRELUDE = """\
from __future__ import annotations

import math

import numpy as np
import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
"""
PRELUDE_LINES = PRELUDE.count("\n")

_numbers = itertools.count(1)


def environment() -> dict[str, str]:
    """For processes that import the tree from anywhere, and keep compiled code where tests do."""
    path = filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")])
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        knobs.cache_dir.variable: str(knobs.cache_dir.value()),
    }


def load_module(folder: Path, text: str, **names: Any) -> ModuleType:
    """Import ``text``, dedented and after ``PRELUDE``, as a new module in ``folder``; ``names``
    are globals that it finds there."""
    name = f"generated_{next(_numbers)}"
    file = folder / f"{name}.py"
    file.write_text(PRELUDE + textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    spec.loader.exec_module(module)
    return module
