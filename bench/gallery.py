"""The gallery: ``docs/gallery.md`` with an entry for each folder of ``apps/``, and the pictures in
``docs/gallery/``. ``python -m bench.gallery`` makes both anew, ``--page-only`` the page.

Nothing of the page is written by hand: what a program is and how it is run is in the README beside
it, its classes and virtual methods are those of its source, and how fast it is comes from the
newest records in ``bench/results``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import posixpath
import re
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import sharedoa as oa
from apps.interface import RunOptions
from apps.registry import APPS
from apps.scalability.family import family
from bench.harness import MILLISECONDS, RESULTS, errors_in_words
from ptxpass.output_file import whole_file, write_whole
from sharedoa.model.classes import ClassType
from sharedoa.model.object import shared_type

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
#: Of a picture; and its colours at first.
MOST_BYTES, _WIDTH, _COLOURS = 60_000, 480, 64
#: Of a film, at first and at most.
MOST_FILM_BYTES, _FILM_WIDTH, _FRAMES, _FRAME_MS = 200_000, 320, 40, 120
_FILM_COLOURS = 24
_COLUMNS = 120
#: Records are sought by how their names begin; of these, others are of kernels or of the clock.
_RECORDS = "programs", "agents", "births"
#: How rows of records say a size that is not that of the command line.
_SIZES = "agents", "bodies"


class Entry(NamedTuple):
    """What is shown of a folder of ``apps/``: the classes of ``modules`` in it; and how its picture
    is made, by the program of that name or the folder's own, if there is one; and a film, if it has
    one."""

    modules: Sequence[str]
    picture: dict[str, Any] | None
    program: str = ""
    film: dict[str, Any] | None = None


ENTRIES = {
    "traffic": Entry(
        ["natural.classes"], {"size": 40, "steps": 300}, film={"size": 12, "steps": 80}
    ),
    "game_of_life": Entry(["natural.classes"], {"size": 120, "steps": 150}),
    "generation": Entry(["natural.classes"], {"size": 240, "steps": 200}),
    "structure": Entry(["natural.classes"], {"size": 400, "steps": 60}),
    "wator": Entry(["classes"], {"size": 120, "steps": 300}, film={"size": 60, "steps": 80}),
    "sugarscape": Entry(["classes"], {"size": 120, "steps": 60}),
    "wolf_sheep": Entry(["classes"], {"size": 120, "steps": 5}),
    "forest_fire": Entry(["classes"], {"size": 120, "steps": 60, "settings": {"density": 75}}),
    "schelling": Entry(["classes"], {"size": 100, "steps": 100}),
    "wealth": Entry(["classes"], {"size": 10_000, "steps": 300}),
    "flocking": Entry(["classes"], {"size": 400, "steps": 300}),
    "boids": Entry(
        ["classes"], {"size": 1500, "steps": 1000, "settings": {"sight": 100}},
        film={"size": 500, "steps": 400, "settings": {"sight": 100}},
    ),
    "circles": Entry(["classes"], {"size": 2000, "steps": 300}),
    "nbody": Entry(["classes"], {"size": 1000, "steps": 100}),
    "collision": Entry(["classes"], {"size": 2000, "steps": 60}),
    "barnes_hut": Entry(
        ["classes"], {"size": 3000, "steps": 200, "settings": {"mass": 30_000_000}}
    ),
    "graphs": Entry(
        [
            "ve.vertices", "ven.vertices", "edges", "natural.classes", "natural.sssp",
            "natural.kcore", "natural.triangles", "natural.label_propagation",
        ],
        {"size": 5000, "steps": 20}, "pagerank",
    ),
    "routes": Entry(["classes"], {"size": 2000, "steps": 5}),
    "raytracer": Entry(["natural.shapes", "natural.materials"], {"size": 400, "steps": 60}),
    "scalability": Entry(["family"], None),
}  # fmt: skip


def programs_of(folder: str) -> list[str]:
    """The names on the command line."""
    return [app.name for app in APPS.values() if app.module.split(".")[1] == folder]


# ---------------------------------------------------------------------- the page


def page(records: Sequence[Path]) -> str:
    """The text of the gallery with the times in ``records``, of which later ones count."""
    measured = _measured(records)
    named = ", ".join(f"`bench/results/{file.name}`" for file in records)
    head = (
        "The programs that come with sharedoa, one after another: what each is, its classes with "
        "the methods that they override, and how long a step takes, the host's part included."
    )
    end = (
        f"Times are medians of these records: {named}; more is in "
        "[Births and deaths](performance/births.md). `make gallery` makes pictures and page anew."
    )
    parts = ["# Gallery", _wrapped(head)]
    for folder, entry in ENTRIES.items():
        readme = (ROOT / "apps" / folder / "README.md").read_text(encoding="utf-8")
        title = re.findall(r"^# (.*)$", readme, re.M)[0]
        parts.append(f"## {title}")
        if entry.picture is not None:
            parts.append(f"![{title}](gallery/{folder}.png)")
        if entry.film is not None:
            parts.append(f"![{title}, a film](gallery/{folder}.gif)")
        about = readme.split("\n\n")[1].replace("\n", " ")
        parts.append(_wrapped(_from_docs(about, folder)))
        parts.append(_wrapped(f"Classes: {_classes(folder, entry)}."))
        commands = re.findall(r"^    sharedoa run .*$", readme, re.M)
        parts.append("\n".join(["```", *(each.strip() for each in commands), "```"]))
        rows = [row for name in programs_of(folder) for row in measured.get(name, [])]
        if rows:
            parts.append(
                "\n".join(["| program | size | device | a step |", "|---|---|---|---|", *rows])
            )
        parts.append(f"[More](../apps/{folder}/README.md)")
    parts += ["---", _wrapped(end)]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _COLUMNS, break_long_words=False, break_on_hyphens=False)


def _from_docs(text: str, folder: str) -> str:
    """Links of the README as they are from ``docs``."""

    def moved(found: re.Match[str]) -> str:
        target = found[1]
        if target.startswith("#"):
            target = f"README.md{target}"
        return f"]({posixpath.relpath(posixpath.join('apps', folder, target), 'docs')})"

    return re.sub(r"\]\((?!https?:)([^)]*)\)", moved, text)


def _classes(folder: str, entry: Entry) -> str:
    """Each hierarchy: its base, with what is overridden, and the classes below it."""
    found: list[ClassType] = []
    for name in entry.modules:
        module = importlib.import_module(f"apps.{folder}.{name}")
        values: Iterable[Any] = vars(module).values()
        if folder == "scalability":  # its classes are made when it is run
            made = family(4)
            values = made.base, *made.classes
        found += [shared_type(each) for each in values if _is_of(each, module.__name__)]
    parts = []
    for base in [cls for cls in found if cls.base not in found]:
        below = [cls for cls in found if cls is not base and cls.is_subclass_of(base)]
        virtual = [name for name in _methods(found) if any(_overrides(cls, name) for cls in below)]
        text = f"`{base.name}`"
        if virtual:
            text += f" ({', '.join(f'`{name}`' for name in virtual)})"
        if below:
            text += f" with {', '.join(f'`{cls.name}`' for cls in below)}"
        parts.append(text)
    return "; ".join(parts)


def _is_of(value: Any, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, oa.Object) and value.__module__ == module


def _methods(classes: Iterable[ClassType]) -> list[str]:
    return list(dict.fromkeys(name for cls in classes for name in cls.methods))


def _overrides(cls: ClassType, name: str) -> bool:
    return name in cls.methods and cls.base is not None and name in cls.base.slots


# ---------------------------------------------------------------------- times


def newest_records(folder: Path = RESULTS) -> list[Path]:
    """Those that the page is made of: of each name and device the newest, the oldest first."""
    files = [file for name in _RECORDS for file in folder.glob(f"{name}-*.json")]
    of_programs = [each for each in files if any("program" in row for row in _read(each)["rows"])]
    newest = {file.stem[:-10]: file for file in sorted(of_programs, key=_when)}
    return sorted(newest.values(), key=_when)


def _read(record: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    return found


def _when(record: Path) -> str:
    return str(_read(record)["date"])


def _measured(records: Sequence[Path]) -> dict[str, list[str]]:
    """Rows of tables by program."""
    found: dict[tuple[str, str, str], str] = {}
    for file in records:
        record = _read(file)
        machine = record["machine"]
        device = machine["device"]
        if machine["backend"] == "cpu":
            device = f"{machine['cores']} cores, {machine['processor']}"
        for row in record["rows"]:
            if row["program"] in APPS and row.get("way", "captured") == "captured":
                found[row["program"], _size(row), device] = _time(row["median"])
    rows: dict[str, list[str]] = {}
    for (program, size, device), time in found.items():
        rows.setdefault(program, []).append(f"| `{program}` | {size} | {device} | {time} |")
    return rows


def _size(row: dict[str, Any]) -> str:
    if "width" in row:
        return f"{row['width']:,} x {row['height']:,} cells"
    for name in _SIZES:
        if name in row:
            return f"{row[name]:,} {name}"
    return f"{row['size']:,} {APPS[row['program']].unit}"


def _time(seconds: float) -> str:
    return f"{MILLISECONDS * seconds:.3g} ms"


# ---------------------------------------------------------------------- pictures


def draw(folder: str, into: Path) -> Path:
    """Make the picture of an entry that has one, small enough: a file in ``into``."""
    from PIL import Image

    entry = ENTRIES[folder]
    assert entry.picture is not None
    with _drawn(folder, entry.picture, "picture.png") as out, Image.open(out) as opened:
        image = opened.convert("RGB")
    width, colours = _WIDTH, _COLOURS
    while True:
        size = width, round(image.height * width / image.width)
        small = image.resize(size, Image.Resampling.LANCZOS).quantize(
            colours, dither=Image.Dither.NONE
        )
        content = io.BytesIO()
        small.save(content, format="PNG", optimize=True)
        if len(content.getvalue()) < MOST_BYTES:
            break
        width, colours = width * 9 // 10, max(colours * 3 // 4, 16)
    file = into / f"{folder}.png"
    with whole_file(file) as opened_file:
        opened_file.write(content.getvalue())
    return file


def film(folder: str, into: Path) -> Path:
    """Make the film of an entry that has one, small enough: a file in ``into``."""
    from PIL import Image, ImageSequence

    entry = ENTRIES[folder]
    assert entry.film is not None
    with _drawn(folder, entry.film, "film.gif") as out, Image.open(out) as opened:
        frames = [each.convert("RGB") for each in ImageSequence.Iterator(opened)]
    width, count = _FILM_WIDTH, _FRAMES
    while True:
        chosen = frames[:: -(-len(frames) // count)]
        size = width, round(chosen[0].height * width / chosen[0].width)
        # No colours between those that there are.
        small = [each.resize(size, Image.Resampling.NEAREST) for each in chosen]
        palette = small[-1].quantize(_FILM_COLOURS, dither=Image.Dither.NONE)
        first, *others = (
            each.quantize(palette=palette, dither=Image.Dither.NONE) for each in small
        )
        content = io.BytesIO()
        moving = {"save_all": True, "append_images": others, "loop": 0, "duration": _FRAME_MS}
        first.save(content, format="GIF", optimize=True, **moving)
        if len(content.getvalue()) < MOST_FILM_BYTES:
            break
        width, count = width * 19 // 20, count * 9 // 10
    file = into / f"{folder}.gif"
    with whole_file(file) as opened_file:
        opened_file.write(content.getvalue())
    return file


@contextmanager
def _drawn(folder: str, how: dict[str, Any], name: str) -> Iterator[Path]:
    """What the program draws."""
    app = APPS[ENTRIES[folder].program or folder]
    with tempfile.TemporaryDirectory(prefix="gallery-") as scratch:
        out = Path(scratch) / name
        app.run(RunOptions(**dict(how, out=out, natural=app.has_natural, backend="cpu")))
        yield out


# ---------------------------------------------------------------------- command line


@errors_in_words()
def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.gallery", description=__doc__)
    parser.add_argument("--page-only", action="store_true", help="leave the pictures as they are")
    if not parser.parse_args().page_only:
        PICTURES.mkdir(exist_ok=True)
        for folder, entry in ENTRIES.items():
            made = [draw(folder, PICTURES)] if entry.picture is not None else []
            made += [film(folder, PICTURES)] if entry.film is not None else []
            for file in made:
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes", flush=True)
    write_whole(PAGE, page(newest_records()))
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
