"""Bars of progress: of text on a terminal, of HTML in a notebook, none in a pipe."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from sharedoa.progress import reporting


class Notebook:
    """What a notebook's front end does: shows something, and shows something else in its place."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, what: str, display_id: bool) -> Notebook:
        assert display_id
        self.update(what)
        return self

    def update(self, what: str) -> None:
        self.shown.append(what)


def shell(monkeypatch: pytest.MonkeyPatch, has_kernel: bool) -> Notebook:
    found = SimpleNamespace(has_trait=lambda name: has_kernel and name == "kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))  # type: ignore[arg-type]
    notebook = Notebook()
    module: Any = SimpleNamespace(HTML=str, display=notebook.display)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return notebook


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = shell(monkeypatch, has_kernel=True)
    with reporting("<model>") as progress:
        assert progress is not None
        progress(0, 8)
        progress(3, 8)
    bar = '<progress value="{}" max="{}"></progress> &lt;model&gt;: {} of {}'
    assert notebook.shown == [bar.format(*each, *each) for each in ((0, 0), (0, 8), (3, 8))]


def test_ipython_on_a_terminal_has_no_html(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = shell(monkeypatch, has_kernel=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with reporting("model") as progress:
        assert progress is None
    assert notebook.shown == []


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with reporting("model") as progress:
        assert progress is None and pipe.getvalue() == ""
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    for name in ("NO_COLOR", "TERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    with reporting("model") as progress:
        assert progress is not None
        progress(3, 8)
    assert "model" in terminal.getvalue() and "38%" in terminal.getvalue()
