"""``for x in grid.near(...)``: what it is translated to is tested with grids
(``tests/runtime/test_hash_grid.py``); here is what is complained of."""

# mypy: disable-error-code="type-arg,assignment,index"

from __future__ import annotations

from pathlib import Path

import pytest

from ..source_files import load_module
from .translated import complaints

PROLOGUE = """
        @oa.value
        class Point:
            x: f32
            y: f32

        @oa.value
        class Whole:
            x: i32
            y: i32

        class Bird(oa.Object):
            x: f32
            pos: Point
            cell: Whole

        class Fish(oa.Object):
            x: f32

        @oa.func
        def of_fish(grid: oa.HashGrid[Fish]) -> i32:
            return 0

        def kernel(birds: oa.Array[Bird], grid: oa.HashGrid[Bird], out: oa.Array[f32]):
            bird = birds[0]
"""


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("for other in grid.near(bird.pos): pass", "takes a position and a radius"),
        ("for other in grid.near(1, 2, 3, 4, 5): pass", "takes a position and a radius"),
        ("for other in grid.near(bird.pos, radius=1.0): pass", "takes a position and a radius"),
        ("for other in grid.near(bird, 1.0): pass", "Bird has no x and y of f32 or f64"),
        ("for other in grid.near(bird.cell, 1.0): pass", "Whole has no x and y of f32 or f64"),
        ("for other in grid.near(bird.x, 1.0): pass", "f32 has no x and y of f32 or f64"),
        ("for other in grid.near(bird.x, bird, 1.0): pass", "this is Bird, and no number"),
        ("for other in grid.near(bird.pos, True): pass", "this is bool, and no number"),
        ("for a, b in grid.near(bird.pos, 1.0): pass", "Bird cannot be unpacked into 2"),
        ("other = grid.near(bird.pos, 1.0)", r"HashGrid[Bird] is only searched in a for loop"),
        ("out[0] = grid.cell", r"HashGrid[Bird] is only searched in a for loop"),
        ("of_fish(grid)", "of_fish: grid takes HashGrid[Fish], not HashGrid[Bird]"),
        ("for other in bird.near(1.0): pass", "Bird has no field or method near"),
        ("for other in nobody.near(1.0): pass", "nobody is not defined"),
        ("""
            for other in grid.near(bird.pos, 1.0):
                last = other
            out[0] = last.x
""", "last may be read before it has a value"),
        ("""
            other = 1.0
            for other in grid.near(bird.pos, 1.0): pass
""", "other is float and Bird is assigned to it"),
    ],
)  # fmt: skip
def test_complaints(tmp_path: Path, lines: str, complaint: str) -> None:
    body = lines if lines.startswith("\n") else f"            {lines}\n"
    module = load_module(tmp_path, PROLOGUE + body.lstrip("\n"))
    assert any(complaint in found.message for found in complaints(module.kernel)), [
        found.message for found in complaints(module.kernel)
    ]
