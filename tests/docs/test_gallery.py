"""The gallery: it has every program, its commands are understood, and it is what would be made."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import typer

from apps.registry import APPS
from bench import gallery
from sharedoa.cli import commands

TEXT = gallery.PAGE.read_text()
COMMANDS = re.findall(r"^sharedoa .*$", TEXT, re.M)


def test_every_program_has_an_entry():
    folders = {path.parent.name for path in (gallery.ROOT / "apps").glob("*/README.md")}
    assert set(gallery.ENTRIES) == folders == {app.module.split(".")[1] for app in APPS.values()}
    headings = re.findall(r"^## (.*)$", TEXT, re.M)
    readmes = [gallery.ROOT / "apps" / folder / "README.md" for folder in gallery.ENTRIES]
    assert headings == [readme.read_text().split("\n")[0].removeprefix("# ") for readme in readmes]
    assert not [name for name in APPS if f"| `{name}` |" not in TEXT]


def test_it_is_what_would_be_made_of_its_records():
    """If not: `make gallery`, or `python -m bench.gallery --page-only`."""
    names = re.findall(r"`bench/results/([\w.-]+)`", TEXT)
    assert gallery.page([gallery.RESULTS / name for name in names]) == TEXT


def test_links_lead_somewhere():
    targets = re.findall(r"\]\((?!https?:)([^)#]*)[^)]*\)", TEXT)
    assert len(targets) > 40
    assert not [each for each in targets if not (gallery.PAGE.parent / each).exists()]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command):
    program = typer.main.get_command(commands.application)
    _, name, *arguments = shlex.split(command)
    with program.commands[name].make_context(name, arguments) as context:
        given = context.params
    (app,) = [app for app in APPS.values() if app.name in given.values()]
    app.settings_from(next((each for each in given.values() if isinstance(each, list)), []))


def test_each_entry_has_a_command():
    assert len(COMMANDS) >= len(gallery.ENTRIES)
    assert {command.split()[1] for command in COMMANDS} == {"run"}


def test_pictures_are_small():
    files = sorted(gallery.PICTURES.iterdir())
    entries = gallery.ENTRIES.items()
    drawn = [f"{name}.png" for name, entry in entries if entry.picture is not None]
    films = [f"{name}.gif" for name, entry in entries if entry.film is not None]
    assert [file.name for file in files] == sorted([*drawn, *films])
    sizes = {file.name: file.stat().st_size for file in files}
    assert max(sizes[name] for name in drawn) < gallery.MOST_BYTES
    assert max(sizes[name] for name in films) < gallery.MOST_FILM_BYTES
    assert sum(sizes.values()) < 1_500_000


@pytest.mark.slow  # a film has many pictures
def test_a_film_is_made_small_enough(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    entry = gallery.Entry(["classes"], None, film={"size": 30, "steps": 12})
    monkeypatch.setitem(gallery.ENTRIES, "schelling", entry)
    monkeypatch.setattr(gallery, "MOST_FILM_BYTES", 16_000)
    file = gallery.film("schelling", tmp_path)
    assert file.name == "schelling.gif" and file.stat().st_size < 16_000
    with image.open(file) as opened:
        assert 4 < opened.n_frames < 12


@pytest.mark.slow
def test_a_picture_is_made_small_enough(tmp_path, monkeypatch):
    picture = {"size": 40, "steps": 2}
    monkeypatch.setitem(gallery.ENTRIES, "schelling", gallery.Entry(["classes"], picture))
    monkeypatch.setattr(gallery, "MOST_BYTES", 3000)
    file = gallery.draw("schelling", tmp_path)
    assert file.name == "schelling.png" and 500 < file.stat().st_size < 3000


def test_of_records_the_newest_count(tmp_path):
    machine = {"backend": "cuda", "device": "A GPU"}
    for name, hour, median in (
        ("programs-a-gpu-2026-01-02", 9, 0.002),
        ("programs-a-gpu-2026-01-03", 7, 0.003),
        ("programs-wealth-a-gpu-2026-01-03", 6, 0.005),
        ("agents-wealth-a-gpu-2026-01-01", 9, 0.001),
        ("other-a-gpu-2026-01-04", 9, 0.004),
    ):
        row = {"program": "wealth", "size": 5, "median": median}
        if name.startswith("agents"):
            row = {"program": "wealth", "agents": 7000, "median": median}
        rows = [row, {"program": "turnover", "agents": 5, "median": 1.0}]
        head = {"date": f"{name[-10:]}T0{hour}:00:00+00:00", "machine": machine}
        (tmp_path / f"{name}.json").write_text(json.dumps(head | {"rows": rows}))
    records = gallery.newest_records(tmp_path)
    assert [file.stem for file in records] == [
        "agents-wealth-a-gpu-2026-01-01",
        "programs-wealth-a-gpu-2026-01-03",
        "programs-a-gpu-2026-01-03",
    ]
    assert gallery._measured(records) == {
        "wealth": [
            "| `wealth` | 7,000 agents | A GPU | 1 ms |",
            "| `wealth` | 5 people | A GPU | 3 ms |",
        ]
    }


@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("[a](#b)", "[a](../apps/wealth/README.md#b)"),
        ("[a](classes.py)", "[a](../apps/wealth/classes.py)"),
        ("[a](../common/plane.py)", "[a](../apps/common/plane.py)"),
        ("[a](../../docs/tutorial.md#b)", "[a](tutorial.md#b)"),
        ("[a](https://b.c/d)", "[a](https://b.c/d)"),
    ],
)
def test_links_are_those_from_the_page(link, moved):
    assert gallery._from_docs(link, "wealth") == moved


def test_classes_and_what_they_override():
    found = gallery._classes("schelling", gallery.ENTRIES["schelling"])
    assert found == "`Cell`; `Person` (`is_red`) with `Red`, `Blue`"


def test_records_of_other_things_are_left_out() -> None:
    """They begin with the same word, and have no rows of programs."""
    records = gallery.newest_records()
    assert {each.name[:6] for each in records} == {"progra", "agents", "births"}
    assert any(gallery.RESULTS.glob("births-clock-*.json"))
    assert "births-clock" not in str(records)
    assert "## " in gallery.page(records)
