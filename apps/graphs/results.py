"""Exact numbers and columns of a picture from the values of all vertices."""

from __future__ import annotations

import math

import numpy as np

from .reference import UNREACHED
from .workload import Bar, Values


def level_counts(values: Values) -> dict[str, int]:
    reached = values[values != UNREACHED].astype(np.int64)
    return {
        "reached": len(reached),
        "last_level": int(reached.max(initial=0)),
        "level_sum": int(reached.sum()),
    }


def level_bars(values: Values) -> list[Bar]:
    heights = np.bincount(values[values != UNREACHED])
    return [Bar(str(level), int(height)) for level, height in enumerate(heights)]


def distance_counts(values: Values) -> dict[str, int]:
    reached = values[values != UNREACHED].astype(np.int64)
    return {
        "reached": len(reached),
        "longest_distance": int(reached.max(initial=0)),
        "distance_sum": int(reached.sum()),
    }


def distance_bars(values: Values) -> list[Bar]:
    """Up to 24 columns of equal widths."""
    reached = values[values != UNREACHED]
    width = int(reached.max(initial=0)) // 24 + 1
    heights = np.bincount(reached // width)
    return [Bar(f"{place * width:,}", int(height)) for place, height in enumerate(heights)]


def core_counts(values: Values) -> dict[str, int]:
    highest = int(values.max(initial=0))
    return {
        "highest_core": highest,
        "in_highest_core": int((values == highest).sum()),
        "core_sum": int(values.sum(dtype=np.int64)),
    }


def core_bars(values: Values) -> list[Bar]:
    return [Bar(str(core), int(height)) for core, height in enumerate(np.bincount(values))]


def triangle_counts(values: Values) -> dict[str, int]:
    """Each triangle counts at its three vertices."""
    return {
        "triangles": int(values.sum(dtype=np.int64)) // 3,
        "in_triangles": int((values > 0).sum()),
        "most_of_a_vertex": int(values.max(initial=0)),
    }


def triangle_bars(values: Values) -> list[Bar]:
    """A column for none, and one for each power of two."""
    bits = np.frexp(values.astype(np.float64))[1]
    labels = ["0", *(f"{1 << power:,}" for power in range(31))]
    return [Bar(labels[place], int(height)) for place, height in enumerate(np.bincount(bits))]


def component_counts(values: Values) -> dict[str, int]:
    return _group_counts(values, "components", "largest_component")


def community_counts(values: Values) -> dict[str, int]:
    return _group_counts(values, "communities", "largest_community")


def _group_counts(values: Values, groups: str, largest: str) -> dict[str, int]:
    sizes = np.unique(values, return_counts=True)[1]
    return {
        groups: len(sizes),
        largest: int(sizes.max(initial=0)),
        "label_sum": int(values.astype(np.int64).sum()),
    }


def component_bars(values: Values) -> list[Bar]:
    """A column for each power of two."""
    sizes = np.unique(values, return_counts=True)[1]
    powers = np.array([int(size).bit_length() - 1 for size in sizes], np.int64)
    heights = np.bincount(powers)
    return [Bar(f"{1 << power:,}", int(height)) for power, height in enumerate(heights)]


def rank_counts(values: Values) -> dict[str, int]:
    """``rank_bits`` is the sum of the ranks' bit patterns, for the order of additions is fixed."""
    return {
        "rank_bits": int(values.view(np.uint32).sum(dtype=np.uint64)),
        "rank_sum_millionths": round(math.fsum(values.tolist()) * 1e6),
        "highest_vertex": int(values.argmax()) if len(values) else -1,
    }


def rank_bars(values: Values) -> list[Bar]:
    """A column for each power of the square root of two."""
    if not len(values):
        return []
    steps = np.floor(2 * np.log2(values)).astype(np.int64)
    heights = np.bincount(steps - steps.min())
    return [
        Bar(f"{2 ** ((steps.min() + step) / 2):.2f}", int(height))
        for step, height in enumerate(heights)
    ]
