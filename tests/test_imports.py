"""Who imports whom: packages, parts of sharedoa, and what stays unloaded."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import sharedoa

ROOT = Path(__file__).parents[1]
PACKAGES = ("dispatch", "ptxpass", "sharedoa", "apps", "bench")
PARTS = (
    "model", "targets", "ir", "frontend", "codegen", "heap", "backends", "sampling", "runtime",
    "cxx", "cli", "many",
)  # fmt: skip


@functools.cache
def imports(file: Path) -> list[tuple[str, bool]]:
    """Absolute names that ``file`` imports, and whether it does so when it is itself imported."""
    return list(_imports(file))


def _imports(file: Path) -> Iterator[tuple[str, bool]]:
    package = file.relative_to(ROOT).with_suffix("").parts[:-1]
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(file.read_text()), True)]
    while waiting:
        node, at_once = waiting.pop()
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        at_once = at_once and not is_function and not _is_for_types(node)
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", at_once) for alias in node.names)
        elif isinstance(node, (ast.stmt, ast.Module, ast.ExceptHandler, ast.match_case)):
            waiting += [(each, at_once) for each in ast.iter_child_nodes(node)]


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def modules(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"no modules in {folder}"
    return found


@pytest.mark.parametrize("package", PACKAGES[:-1])
def test_packages_import_one_way(package: str) -> None:
    later = PACKAGES[PACKAGES.index(package) + 1 :]
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules(package)
        # The command line is where programs are run from; nothing imports it.
        if file.parent != ROOT / "sharedoa" / "cli"
        for name, _ in imports(file)
        if name.split(".")[0] in later
    ]
    assert not wrong


def test_dataclasses_are_those_that_are_made_quickly() -> None:
    files = [file for package in PACKAGES[:3] for file in modules(package)]
    late = ROOT / "sharedoa" / "cli"  # nobody imports it
    wrong = [
        str(file.relative_to(ROOT))
        for file in files
        if late not in file.parents
        and any(at_once and name.split(".")[0] == "dataclasses" for name, at_once in imports(file))
    ]
    assert not wrong


def test_blocks_of_generators_are_those_that_are_left_whatever_comes() -> None:
    own = ROOT / "sharedoa" / "context_managers.py"
    wrong = [
        str(file.relative_to(ROOT))
        for file in modules("sharedoa")
        if file != own and "contextlib.contextmanager" in dict(imports(file))
    ]
    assert not wrong


def test_parts_of_sharedoa_import_one_way() -> None:
    """Not even later, or for their types, do they import a part that rests on them."""
    allowed = {
        "model": {"model"},
        "targets": {"model", "targets"},
        "ir": {"model", "targets", "ir"},
        "frontend": {"model", "ir", "frontend"},
        "codegen": {"model", "ir", "targets", "codegen"},
        "backends": {"model", "ir", "targets", "codegen", "heap", "backends"},
        # The heap reads its settings, which import nothing of their part.
        "heap": {"model", "heap", "runtime.knobs"},
        "sampling": {"model", "ir", "heap", "sampling"},
        "runtime": {*PARTS} - {"many", "cxx", "cli"},
        "many": {*PARTS} - {"cxx", "cli"},
        "cxx": {*PARTS} - {"cli"},
    }
    wrong = []
    for part, others in allowed.items():
        for file in modules(f"sharedoa/{part}"):
            for name, _ in imports(file):
                inner = name.removeprefix("sharedoa.")
                if inner.split(".")[0] in PARTS and not any(
                    inner == other or inner.startswith(f"{other}.") for other in others
                ):
                    wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert not wrong


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


OURS = "[m for m in sys.modules if m.split('.')[0] in ('sharedoa', 'dispatch', 'ptxpass')]"


def test_import_loads_next_to_nothing(tmp_path: Path) -> None:
    """Not even NumPy, which takes longer than all of ours."""
    ours = ["sharedoa", "sharedoa.errors", "sharedoa.search_path", "sharedoa.tracebacks"]
    loaded = run("import sharedoa; print(*sys.modules)", tmp_path).split()
    assert {name for name in loaded if name.split(".")[0] in PACKAGES} == {*ours}
    assert {"numpy", "llvmlite", "cffi", "dataclasses", "inspect"}.isdisjoint(loaded)


def test_the_first_name_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = {"typer", "rich", "matplotlib", "PIL", "cuda", "hip", "apps", "scipy", "networkx"}
    code = "import sharedoa; sharedoa.Object; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = run(code, tmp_path).split()
    assert "numpy" in loaded
    assert heavy.isdisjoint(loaded)
    code = f"import sharedoa; sharedoa.Object; print(len({OURS}))"
    assert int(run(code, tmp_path)) <= 145


def test_the_first_name_loads_no_compiler(tmp_path: Path) -> None:
    """Which takes longer than all the rest, and which a program may never need."""
    parts = [f"sharedoa.{part}" for part in ("frontend", "ir", "codegen", "targets", "sampling")]
    code = (
        "import sharedoa; sharedoa.Object; "
        f"print(*{{*sys.modules}} & {{*{[*parts, 'cffi', 'logging']}}})"
    )
    assert not run(code, tmp_path).split()


def test_who_reads_the_code_finds_what_is_imported_later() -> None:
    """As those do that put a program and all that it imports into one file."""
    found = [name for name, _ in imports(ROOT / "sharedoa" / "__init__.py")]
    for module in ("everyday", *sharedoa._LATER):
        assert any(f"{name}.".startswith(f"sharedoa.{module}.") for name in found), module


def test_what_is_usual_comes_first(tmp_path: Path) -> None:
    """Threads that ask for first names together all wait for it. Each would import from another end
    else, and Python gives modules of which half is there to some of them."""
    code = """
        import sharedoa, sys, threading
        class Noting:
            def find_spec(self, name, *others):
                print(name)
        sys.meta_path.insert(0, Noting())
        names = ("vec3", "stream", "fuse", "tape", "HashGrid", "reduce", "sweep", "Object")
        work = [threading.Thread(target=getattr, args=(sharedoa, name)) for name in names]
        for each in work: each.start()
    """
    loaded = run(dedent(code), tmp_path).split()
    assert loaded[0] == "sharedoa.everyday" and "sharedoa.sweeps.call" in loaded


@pytest.mark.parametrize("first", ["random", "sharedoa.philox", "sharedoa.random_numbers"])
def test_names_are_what_they_are_in_any_order(tmp_path: Path, first: str) -> None:
    """A module of ours that something imports is no name of the package."""
    start = f"import {first}" if "." in first else f"from sharedoa import {first}"
    code = (
        f"{start}; import sharedoa; import types; "
        "print([n for n in sharedoa.__all__ "
        "if isinstance(getattr(sharedoa, n), types.ModuleType)], sharedoa.random(7, 3) < 1)"
    )
    assert run(code, tmp_path).split() == ["[]", "True"]


def test_what_is_imported_later_is_there_all_the_same(tmp_path: Path) -> None:
    code = (
        "import sharedoa; before = {*dir(sharedoa)}; "
        "print({*sharedoa.__all__} - before, "
        "[name for name in sharedoa.__all__ if getattr(sharedoa, name, None) is None]); "
        "from sharedoa import capture, sweep; from sharedoa import *; print(tape is sharedoa.tape)"
    )
    assert run(code, tmp_path).splitlines() == ["set() []", "True"]


@pytest.mark.parametrize("name", ["apps", "dispatch"])
def test_a_folder_of_ours_name_shadows_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong folder')\n")
    done = subprocess.run(
        [sys.executable, "-m", "sharedoa", "apps"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "200"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "traffic" in done.stdout


def test_the_search_path_may_begin_with_what_is_not_there(tmp_path: Path) -> None:
    """As where Python's library is no archive, which is first once the current folder is gone."""
    done = subprocess.run(
        [sys.executable, "-m", "sharedoa", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path / 'missing'}{os.pathsep}{ROOT}", "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["dispatch", "ptxpass"])
def test_a_file_beside_a_script_that_hides_a_package_of_ours_is_named(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "script.py").write_text("import sharedoa\n")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert done.returncode == 1
    assert f"{tmp_path / name}.py hides the package {name} that sharedoa brings" in done.stderr


_FIRST_LAUNCHES = """
import sys
import sharedoa as oa
from sharedoa import f32
from sharedoa.runtime import clustering
from tests.codegen.interpreted import InterpretedGpu

class Cell(oa.Object):
    a: f32
    b: f32

@oa.kernel
def add(cells: oa.Array[Cell], out: oa.Array[f32]):
    i = oa.grid(1)
    out[i] = cells[i].a + cells[i].b

clustering.FEWEST_OBJECTS = clustering.FEWEST_THREADS = 64
clustering.PATIENCE = 0.0
looked, sample = [], clustering.sample
clustering.sample = lambda *given: looked.append(given) or sample(*given)
with oa.Heap(backend=InterpretedGpu(), capacity="64MiB"):
    cells = oa.array(Cell, list(oa.new(Cell, 64, a=[1.0] * 64))[::-1])
    for _ in range(clustering.LAUNCHES):
        add[64](cells, oa.zeros(64, f32))
assert len(looked) == 2
assert "numpy.ma" not in sys.modules
"""


def test_the_first_launches_do_not_wait_for_an_import_of_masked_arrays(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(_FIRST_LAUNCHES)
    done = subprocess.run(
        [sys.executable, "first.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
