"""The notebooks run from top to bottom in kernels of Jupyter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/notebooks"
FIRST, *OTHERS = ("first-steps", "agents-with-births", "modes")


def executed(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Any]:
    """Its cells of code, with what they showed."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    variables = {
        "PYTHONPATH": ROOT,
        "SHAREDOA_BACKEND": "cpu",
        "SHAREDOA_CACHE_DIR": "off",
        "IPYTHONDIR": folder / "ipython",
        "JUPYTER_RUNTIME_DIR": folder / "jupyter",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    for variable, value in variables.items():
        monkeypatch.setenv(variable, str(value))
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells: list[Any], kind: str) -> list[str]:
    """What came of cells in one MIME type."""
    outputs = (output for cell in cells for output in cell.outputs)
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def test_first_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells = executed(FIRST, monkeypatch, tmp_path)
    tables = shown(cells, "text/html")
    titles = ("Array[Walker] of 23", "Walker.x of 10", "", "Array[f32] of 23", "Array[Child] of 3")
    assert len(tables) == len(titles)
    assert all(title in table for title, table in zip(titles, tables, strict=True))
    assert "The square of each walker" in str(cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cells = executed(name, monkeypatch, tmp_path)
    if name == "modes":
        assert "typepointer" in shown(cells, "text/html")[0]
    else:
        assert len(shown(cells, "image/png")) == 1
        assert any("deleted" in text for text in shown(cells, "text/plain"))


def test_they_are_small_and_without_results() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {FIRST, *OTHERS}
    for path in FOLDER.glob("*.ipynb"):
        assert path.stat().st_size < 10_000
        cells = json.loads(path.read_text())["cells"]
        assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
