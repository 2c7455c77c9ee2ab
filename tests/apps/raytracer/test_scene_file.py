"""Scene files: what a small one means, what is refused and how."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from apps.raytracer.natural import scene
from apps.raytracer.natural.rendering import picture_size
from apps.raytracer.natural.scene_file import DEFAULT_SCENE, LARGEST_FILE, read_scene
from sharedoa import ArgumentError

from .running import SCENE, small_scene

SHAPE = '{ kind = "sphere", centre = [0, 0, 0], radius = 1, material = "m" }'
SMALL = """
camera = {{ eye = [0, 0, 5], target = [0, 0, 0]{camera} }}
sky = {{ horizon = [0, 0, 0], zenith = [1, 1, 1]{sky} }}
shapes = [{shape}]
materials = {{ m = {{ {material} }} }}
{more}
"""


def write(folder: Path, **parts: str) -> Path:
    given = {
        "camera": "", "sky": "", "shape": SHAPE, "more": "",
        "material": 'kind = "diffuse", colour = [1, 0.5, 0]',
    }  # fmt: skip
    file = folder / "scene.toml"
    file.write_text(SMALL.format(**{**given, **parts}))
    return file


def test_defaults(tmp_path: Path) -> None:
    made = read_scene(write(tmp_path))
    assert made.view == scene.View((0, 0, 5), (0, 0, 0), (0, 1, 0), 40, 1.5)
    assert made.surfaces == 10
    assert made.materials == (scene.Diffuse((1, 0.5, 0)),)
    assert made.shapes == (scene.Sphere(0, (0, 0, 0), 1),)
    glass = read_scene(write(tmp_path, material='kind = "glass"')).materials
    assert glass == (scene.Glass((1, 1, 1), 1.5),)


def test_all_kinds(tmp_path: Path) -> None:
    made = small_scene(tmp_path)
    kinds = {type(shape) for shape in made.shapes}
    assert kinds == {scene.Sphere, scene.Plane, scene.Box, scene.Triangle}
    kinds = {type(material) for material in made.materials}
    assert kinds == {scene.Diffuse, scene.Checkered, scene.Metal, scene.Glass}
    assert made.shapes[2] == scene.Box(2, (-2, 0, -1), (-1, 1.5, 0.2))
    assert made.materials[2] == scene.Metal((0.9, 0.7, 0.3), 0.3)


def test_the_default_scene_has_everything() -> None:
    made = read_scene(DEFAULT_SCENE)
    assert len(made.shapes) == 41
    assert len({type(shape) for shape in made.shapes}) == 4
    assert len({type(material) for material in made.materials}) == 4
    assert picture_size(made, 600) == (600, 400)


@pytest.mark.parametrize(("aspect", "size"), [(2, (100, 50)), (0.5, (50, 100)), (10, (100, 10))])
def test_aspect(tmp_path: Path, aspect: float, size: tuple[int, int]) -> None:
    made = read_scene(write(tmp_path, camera=f", aspect = {aspect}"))
    assert picture_size(made, 100) == size


def shape(text: str) -> dict[str, str]:
    return {"shape": "{ " + text + ', material = "m" }'}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"shape": ""}, "shapes is [], not a list of tables"),
        ({"shape": "3"}, "shapes[0] is 3, not a table"),
        ({"shape": "{ }"}, "shapes[0]: kind is missing"),
        (shape('kind = "cone"'), "shapes[0]: kind is 'cone', none of sphere, plane, box, triangle"),
        (shape('kind = ["sphere"]'), "shapes[0]: kind is ['sphere'], none of sphere, plane"),
        ({"shape": SHAPE.replace('"m"', '"steel"')}, "material is 'steel', none of m"),
        ({"shape": SHAPE.replace("radius = 1", "radius = -1")},
         "shapes[0]: radius is -1, not a number from 0.01 to 10000"),
        ({"shape": SHAPE.replace("radius = 1", "radius = nan")}, "radius is nan, not a number"),
        ({"shape": SHAPE.replace("radius = 1", "radius = true")}, "radius is True, not a number"),
        ({"shape": SHAPE.replace("radius = 1", "radius = 1" + 400 * "0")}, "radius is 1000"),
        ({"shape": SHAPE.replace("radius", "radios")}, "shapes[0]: radius is missing"),
        ({"shape": SHAPE.replace("radius = 1", "radius = 1, height = 2")},
         "shapes[0]: there is no 'height' here, only kind, material, centre, radius"),
        ({"shape": SHAPE.replace("[0, 0, 0]", "[0, 0]")},
         "centre is [0, 0], not a list of 3 numbers from -10000 to 10000"),
        ({"shape": SHAPE.replace("[0, 0, 0]", "[0, 0, 1e9]")}, "centre is [0, 0, 1000000000.0]"),
        ({"shape": SHAPE.replace("[0, 0, 0]", "[0, 0, inf]")}, "centre is [0, 0, inf]"),
        ({"shape": SHAPE + ", " + SHAPE.replace("sphere", "ball")}, "shapes[1]: kind is 'ball'"),
        (shape('kind = "plane", point = [0, 0, 0], normal = [0, 0, 0]'), "normal has no length"),
        (shape('kind = "box", low = [0, 0, 0], high = [1, 0, 1]'), "high is not above low"),
        (shape('kind = "triangle", corners = [[0, 0, 0], [1, 1, 1], [2, 2, 2]]'),
         "the corners lie on one line"),
        (shape('kind = "triangle", corners = [[0, 0, 0], [1, 1, 1]]'), "not a list of 3 points"),
        (shape('kind = "triangle", corners = [[0, 0, 0], [1, 1, 1], 2]'), "corners[2] is 2, not"),
        ({"material": 'kind = "diffuse"'}, "materials.m: colour is missing"),
        ({"material": 'kind = "diffuse", colour = [2, 0, 0]'}, "colour is [2, 0, 0]"),
        ({"material": 'kind = "wood"'}, "kind is 'wood', none of diffuse, checkered, metal, glass"),
        ({"material": 'kind = "glass", refraction = 0.5'}, "refraction is 0.5, not a number"),
        ({"material": 'kind = "metal", colour = [1, 1, 1], side = 2'}, "no 'side' here"),
        ({"camera": ", eye = [0, 0, 0]"}, "this is not TOML: "),
        ({"camera": ", angle = 180"}, "camera: angle is 180, not a number from 1 to 170"),
        ({"camera": ", up = [0, 0, 1]"}, "camera: up is the direction in which the camera looks"),
        ({"camera": ", up = [0, 0, 0]"}, "camera: up is the direction in which the camera looks"),
        ({"sky": ", sun = [1, 1, 1]"}, "sky: there is no 'sun' here, only horizon, zenith"),
        ({"more": "surfaces = 0"}, "surfaces is 0, not a whole number from 1 to 63"),
        ({"more": "surfaces = 1.5"}, "surfaces is 1.5, not a whole number"),
        ({"more": "light = 3"}, "there is no 'light' here, only materials, shapes, sky"),
        ({"more": "surfaces = 0x1" + 5000 * "0"}, "surfaces is a number of very many digits, not"),
        ({"more": "a." * 50_000 + "b = 1"}, "a key has more than 32 parts"),
        ({"more": "x = {" + "'a' . " * 40 + "b = 1}"}, "a key has more than 32 parts"),
        ({"more": "[" + '"a b".' * 40 + "b]"}, "a key has more than 32 parts"),
        ({"more": '"\\u001b[2J' + 1000 * "x" + '" = 1'}, "there is no '\\x1b[2Jxxx"),
        ({"material": 'kind = "glass"}, "\\u001b' + 999 * "x" + '" = {kind = 3'}, "\\x1bxx"),
        ({"more": "deep = " + "[" * 5000 + "]" * 5000}, "this is not TOML: "),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, parts: dict[str, str], message: str) -> None:
    file = write(tmp_path, **parts)
    with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
        read_scene(file)
    assert str(file) in str(caught.value)
    assert "README.md" in str(caught.value)


def test_one_point_of_view(tmp_path: Path) -> None:
    file = write(tmp_path)
    file.write_text(file.read_text().replace("target = [0, 0, 0]", "target = [0, 0, 5]"))
    with pytest.raises(ArgumentError, match="camera: eye and target are the same point"):
        read_scene(file)


@pytest.mark.parametrize("name", ["camera", "sky", "shapes", "materials"])
def test_what_is_missing(tmp_path: Path, name: str) -> None:
    lines = SMALL.format(camera="", sky="", shape=SHAPE, material='kind = "glass"', more="")
    file = tmp_path / "scene.toml"
    file.write_text("\n".join(line for line in lines.splitlines() if not line.startswith(name)))
    with pytest.raises(ArgumentError, match=f"{name} is missing"):
        read_scene(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "this is not a text file"),
        (b"colour = \"\xff\xfe\"", "this is not a text file in UTF-8"),
        (SCENE.encode()[:300], "this is not TOML: "),
        (b"surfaces = 1" + 5000 * b"0", "this is not TOML: "),
        (b"# " + LARGEST_FILE * b"x", "the file is larger than 16 MiB"),
    ],
)  # fmt: skip
def test_files_that_are_no_scenes(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "scene.toml"
    file.write_bytes(content)
    with pytest.raises(ArgumentError, match=message):
        read_scene(file)


def test_long_lines_are_looked_at_in_short_time(tmp_path: Path) -> None:
    for piece in ("x", '"', "'", "a.b ", "a . b ", "- "):
        file = write(tmp_path, more="# " + piece * (2**20 // len(piece)))
        begun = time.process_time()
        read_scene(file)
        assert time.process_time() - begun < 20


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be read: No such file"):
        read_scene(tmp_path / "scene.toml")
    with pytest.raises(ArgumentError, match="cannot be read: it is not a regular file"):
        read_scene(tmp_path)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ArgumentError, match="cannot be read: it is not a regular file"):
        read_scene(tmp_path / "pipe.toml")
