"""What tests of clusters share: a family with fields of every kind, and clusters of them."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32
from sharedoa.model.clusters import Clusters

from .shapes import Point


class Plant(oa.Object):
    x: f32
    y: f32
    wide: f64
    flag: bool
    tiny: i8
    half: i16
    next: Plant
    where: Point
    weights: oa.inline[f32, 3]
    data: oa.Array[i32]
    corners: oa.inline[Point, 2]
    count: i32


class Tree(Plant):
    height: f32
    width: f32
    rings: oa.inline[f64, 5]


PLANT, TREE = Plant.__sharedoa__, Tree.__sharedoa__
NONE = Clusters()
FEW = NONE.replace(PLANT, [("x", "y"), ("flag", "tiny"), ("weights",)])
OTHERS = NONE.replace(PLANT, [("x", "y", "wide"), ("where",), ("data",)]).replace(
    TREE, [("height", "width"), ("rings",)]
)
MANY = NONE.replace(
    PLANT, [("x", "y", "wide", "flag", "tiny", "half", "next", "where"), ("weights", "data")]
).replace(TREE, [("width", "rings")])
