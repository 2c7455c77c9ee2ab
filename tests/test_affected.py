"""Which tests a change is given by ``make affected``."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from . import affected as module
from .affected import MUTATIONS, affected, changed_since
from .import_graph import files_of_ours, users


@cache
def _graph() -> dict[str, set[str]]:
    return users(files_of_ours())


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "users", lambda files: _graph())
    monkeypatch.setattr(module, "files_of_ours", list)


def _has(chosen: list[str], *tests: str) -> bool:
    return all({test, *module.around(test)} & {*chosen} for test in tests)


def test_what_is_made_of_it() -> None:
    """Prefix sums that hash grids could not make were on main for two hours: no test of hash grids
    had run."""
    chosen = affected(["sharedoa/runtime/prefix_sum.py"])
    grids = ("tests/runtime/test_hash_grid.py", "tests/runtime/test_hash_grid_use.py")
    assert _has(chosen, *grids, "tests/apps/boids/test_program.py")
    assert not _has(chosen, "tests/cxx/test_layouts.py")


def test_imports_alone_lead_to_what_finds_most_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MUTATIONS", ())
    chosen = {file: affected([file]) for file in {each.file for each in MUTATIONS}}
    missed = [
        each.name for each in MUTATIONS if not any(_has(chosen[each.file], t) for t in each.tests)
    ]
    assert len(missed) <= len(MUTATIONS) // 8, missed


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        # What faults in it must be seen by, however far away.
        ("sharedoa/targets/nvptx_division.py", ["tests/targets/test_block_divisions.py"]),
        ("sharedoa/heap/arrays.py", ["tests/heap", "tests/ir/test_files.py"]),  # used by too many
        ("tests/heap/test_dump.py", ["tests/heap/test_dump.py"]),
        # They run programs by name.
        (
            "apps/sugarscape/classes.py",
            ["tests/apps/test_launches.py", "tests/apps/test_layouts.py"],
        ),
        ("tests/ptxpass/interpreter/memory.py", ["tests/codegen/test_early_loads.py"]),
        ("tests/quick_code.py", ["tests"]),  # used by fixtures of all
        ("tests/heap/conftest.py", ["tests/heap"]),
        ("tests/ptxpass/programs/gone.ptx", ["tests/ptxpass"]),
        ("sharedoa/heap/gone.py", ["tests/heap"]),
        ("docs/performance.md", ["tests/docs", "tests/test_papers.py"]),
        ("docs/examples/shapes.py", ["tests/docs"]),
        ("pyproject.toml", ["tests"]),
    ],
)
def test_one_file(changed: str, tests: list[str]) -> None:
    assert _has(affected([changed]), *tests)


def test_what_is_within_what_is_chosen_is_not_named_again() -> None:
    assert affected(["tests/heap/conftest.py", "tests/heap/test_dump.py"]) == ["tests/heap"]
    assert affected(["pyproject.toml", "sharedoa/heap/dump.py"]) == ["tests"]
    assert affected([]) == []


def test_what_changed_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the branch, in the folder and new in it, but not what has come to the other branch."""

    def git(*words: str) -> None:
        name = ("-c", "user.name=x", "-c", "user.email=x")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", ".")
        git("commit", "-m", name)

    monkeypatch.setattr(module, "ROOT", tmp_path)
    git("init", "-b", "main")
    commit("before")
    git("checkout", "-b", "work")
    commit("on the branch")
    git("checkout", "main")
    commit("elsewhere")
    git("checkout", "work")
    (tmp_path / "before").write_text("again")
    (tmp_path / "new").write_text("")
    assert changed_since("main") == ["before", "on the branch", "new"]
