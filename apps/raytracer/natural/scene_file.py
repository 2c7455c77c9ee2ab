"""Scene files: TOML to a scene. README.md of the program describes them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...common.text_file import read_text_file
from . import scene
from .sampling import MOST_SURFACES
from .scene import Scene, Triple
from .toml_table import HELP, TomlTable, scene_error

DEFAULT_SCENE = Path(__file__).parents[1] / "default_scene.toml"
#: A longer file is a mistake.
LARGEST_FILE = 16 * 2**20
#: tomllib takes memory for every beginning of a dotted key: of a long one, all there is.
_MOST_PARTS = 32
_DEEP_KEY = re.compile(
    rb"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % _MOST_PARTS
)
#: Everything lies within this distance of the origin in each coordinate.
WORLD = 1e4
SMALLEST = 1e-2


def read_scene(file: Path) -> Scene:
    """Read a scene. Raises ArgumentError, naming the file and the place in it, for what is missing,
    unknown, malformed or impossible."""
    content = TomlTable(file, "", _content(file))
    materials = _materials(content.table("materials"))
    names = list(materials)
    shapes = tuple(_shape(table, names) for table in content.tables("shapes"))
    sky = content.table("sky")
    horizon, zenith = sky.triple("horizon", 0, 100), sky.triple("zenith", 0, 100)
    sky.finish()
    made = Scene(
        view=_view(content.table("camera")),
        horizon=horizon,
        zenith=zenith,
        surfaces=content.whole("surfaces", 1, MOST_SURFACES, default=10),
        materials=tuple(materials.values()),
        shapes=shapes,
    )
    content.finish()
    return made


def _content(file: Path) -> dict[str, Any]:
    data = read_text_file(file, HELP)
    if len(data) > LARGEST_FILE:
        raise scene_error(file, f"the file is larger than {LARGEST_FILE // 2**20} MiB")
    if _DEEP_KEY.search(data):
        raise scene_error(file, f"a key has more than {_MOST_PARTS} parts with dots between")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise scene_error(file, "this is not a text file in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise scene_error(file, f"this is not TOML: {error}") from None


def _view(table: TomlTable) -> scene.View:
    view = scene.View(
        eye=table.triple("eye", -WORLD, WORLD),
        target=table.triple("target", -WORLD, WORLD),
        up=table.triple("up", -WORLD, WORLD, default=(0.0, 1.0, 0.0)),
        angle=table.number("angle", 1, 170, default=40.0),
        aspect=table.number("aspect", 0.1, 10, default=1.5),
    )
    table.finish()
    forward = np.subtract(view.target, view.eye)
    if np.linalg.norm(forward) < SMALLEST:
        raise table.error("eye and target are the same point")
    if np.linalg.norm(np.cross(forward, view.up)) < 1e-6 * np.linalg.norm(forward):
        raise table.error("up is the direction in which the camera looks, or has no length")
    return view


# ------------------------------------------------------------------- materials


def _materials(table: TomlTable) -> dict[str, scene.Material]:
    made = {}
    for name, inner in table.named_tables().items():
        made[name] = _MATERIALS[inner.choice("kind", list(_MATERIALS))](inner)
        inner.finish()
    return made


def _colour(table: TomlTable, name: str = "colour", default: Triple | None = None) -> Triple:
    return table.triple(name, 0, 1, default)


def _diffuse(table: TomlTable) -> scene.Diffuse:
    return scene.Diffuse(_colour(table))


def _checkered(table: TomlTable) -> scene.Checkered:
    second = _colour(table, "second_colour")
    return scene.Checkered(_colour(table), second, table.number("side", SMALLEST, WORLD, 1.0))


def _metal(table: TomlTable) -> scene.Metal:
    return scene.Metal(_colour(table), table.number("fuzz", 0, 1, 0.0))


def _glass(table: TomlTable) -> scene.Glass:
    white = (1.0, 1.0, 1.0)
    return scene.Glass(_colour(table, default=white), table.number("refraction", 1, 4, 1.5))


_MATERIALS: dict[str, Callable[[TomlTable], scene.Material]] = {
    "diffuse": _diffuse,
    "checkered": _checkered,
    "metal": _metal,
    "glass": _glass,
}


# ---------------------------------------------------------------------- shapes


def _shape(table: TomlTable, materials: list[str]) -> scene.Shape:
    make = _SHAPES[table.choice("kind", list(_SHAPES))]
    made = make(table, materials.index(table.choice("material", materials)))
    table.finish()
    return made


def _sphere(table: TomlTable, material: int) -> scene.Sphere:
    centre = table.triple("centre", -WORLD, WORLD)
    return scene.Sphere(material, centre, table.number("radius", SMALLEST, WORLD))


def _plane(table: TomlTable, material: int) -> scene.Plane:
    normal = table.triple("normal", -WORLD, WORLD, default=(0.0, 1.0, 0.0))
    if np.linalg.norm(normal) < 1e-6:
        raise table.error("normal has no length")
    return scene.Plane(material, table.triple("point", -WORLD, WORLD), normal)


def _box(table: TomlTable, material: int) -> scene.Box:
    low, high = (table.triple(name, -WORLD, WORLD) for name in ("low", "high"))
    if np.subtract(high, low).min() < SMALLEST:
        raise table.error(f"high is not above low by {SMALLEST:g} in each coordinate")
    return scene.Box(material, low, high)


def _triangle(table: TomlTable, material: int) -> scene.Triangle:
    a, b, c = table.triples("corners", 3, -WORLD, WORLD)
    if np.linalg.norm(np.cross(np.subtract(b, a), np.subtract(c, a))) < SMALLEST**2:
        raise table.error("the corners lie on one line")
    return scene.Triangle(material, (a, b, c))


_SHAPES: dict[str, Callable[[TomlTable, int], scene.Shape]] = {
    "sphere": _sphere,
    "plane": _plane,
    "box": _box,
    "triangle": _triangle,
}
