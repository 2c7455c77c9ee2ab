"""What one access to a field costs, counted in the PTX of a kernel: in tiles a field of 4 bytes is
as cheap as in a record, and any other costs two instructions more, for the lane."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64

from .ptx_reading import entry_symbol, instructions


class Thing(oa.Object):
    first: i32
    wide: i64
    small: i8
    half: i16
    number: f32
    other: f64
    weights: oa.inline[f32, 4]


@oa.kernel
def number(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        things[i].number = f32(things[i].first)


@oa.kernel
def weights(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        things[i].weights[1] = things[i].weights[3]


@oa.kernel
def other(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        things[i].other = f64(things[i].wide)


@oa.kernel
def half(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        things[i].half = i16(1)


@oa.kernel
def small(things: oa.Array[Thing]):
    i = oa.grid(1)
    if i < len(things):
        things[i].small = i8(1)


def compiled(kernel: oa.Kernel, layout: str) -> list[tuple[str, list[str]]]:
    """The instructions of its entry, from where it loads a reference on."""
    with oa.Heap("range+switch", "cpu", layout, "16MiB"):
        ptx = kernel.compile("nvptx").products["ptx"]
    assert isinstance(ptx, str)
    found = instructions(ptx, entry_symbol(ptx))
    loads = [n for n, (op, _) in enumerate(found) if re.match(r"ld\.global\.(nc\.)?b64", op)]
    return found[loads[0] :]


def accesses(code: list[tuple[str, list[str]]]) -> list[tuple[str, int]]:
    """Registers and constants of the addresses of fields."""
    found = []
    for op, operands in code[1:]:
        if op.startswith(("ld.global", "st.global")):
            match = re.search(r"\[(%\w+)(?:\+(\d+))?\]", ",".join(operands))
            assert match is not None
            found.append((match[1], int(match[2] or 0)))
    return found


@pytest.mark.parametrize("kernel", [number, weights])
def test_a_field_of_four_bytes_is_one_instruction(kernel: oa.Kernel) -> None:
    records, tiles = compiled(kernel, "aos"), compiled(kernel, "tile")
    assert [op for op, _ in records] == [op for op, _ in tiles], "no arithmetic more"
    _, (reference, *_) = tiles[0]
    at_record, at_tile = accesses(records), accesses(tiles)
    assert [register for register, _ in at_tile] == [reference] * 2
    assert [offset for _, offset in at_tile] == [32 * offset for _, offset in at_record]


@pytest.mark.parametrize(
    ("kernel", "extra"),
    [
        (other, {"and.b64": 1, "add.s64": 1}),
        (half, {"bfe.u64": 1, "sub.s64": 1}),
        (small, {"bfe.u64": 1, "mad.lo.s64": 1}),
    ],
)
def test_the_lane_of_another_field_is_two_instructions(
    kernel: oa.Kernel, extra: dict[str, int]
) -> None:
    records, tiles = compiled(kernel, "aos"), compiled(kernel, "tile")
    more = Counter(op for op, _ in tiles)
    more.subtract(op for op, _ in records)
    assert +more == extra
    registers = {register for register, _ in accesses(tiles)}
    assert len(registers) == 1, "computed once for both accesses"
    scaled = [32 * offset for _, offset in accesses(records)]
    assert [offset for _, offset in accesses(tiles)] == scaled


class Chain(oa.Object):
    value: i32
    next: Chain


@oa.kernel
def follow(chains: oa.Array[Chain], out: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(chains):
        out[i] = chains[i].next.next.value


def test_a_reference_of_32_bits_is_one_shift_and_one_sum() -> None:
    code = {}
    for references in ("64", "32"):
        with oa.Heap("range+switch", "cpu", "tile", "16MiB", references=references):
            ptx = follow.compile("nvptx").products["ptx"]
        assert isinstance(ptx, str)
        code[references] = Counter(op for op, _ in instructions(ptx, entry_symbol(ptx)))
    for width, found in code.items():
        wide = sum(n for op, n in found.items() if re.match(r"ld\.global\.(nc\.)?b64", op))
        assert wide == (3 if width == "64" else 0)
    # Three references: each a shift (mul.wide) and a sum in the place of what 8 bytes need in a
    # row of a tile; the base is read once.
    code["32"].subtract(code["64"])
    assert code["32"]["ld.const.b64"] == 1 and code["32"]["and.b64"] <= 0
    assert sum(code["32"].values()) <= 5, +code["32"]


class Ball(oa.Object):
    x: f32
    y: f32
    z: f32
    radius: f32


@oa.kernel
def grow(balls: oa.Array[Ball]):
    ball = balls[oa.grid(1)]
    ball.radius = ball.x + ball.y + ball.z + ball.radius


def loads_of_floats(kernel: oa.Kernel) -> list[str]:
    """How wide each is, of the current heap's objects."""
    ptx = kernel.compile("nvptx").products["ptx"]
    assert isinstance(ptx, str)
    return re.findall(r"ld\.global(?:\.nc)?\.(\S*b32)\b", ptx)


@pytest.mark.parametrize(
    ("mode", "layout", "loads"),
    [
        ("range+switch", "aos", ["v4.b32"]),
        ("sharedoa", "aos", ["v2.b32", "v2.b32"]),  # records of 24 bytes
        ("cuda", "aos", ["b32"] * 4),  # wherever there is room
        ("range+switch", "tile", ["b32"] * 4),  # in rows of their own
    ],
)
def test_fields_side_by_side_are_loaded_at_once(mode: str, layout: str, loads: list[str]) -> None:
    with oa.Heap(mode, "cpu", layout, "16MiB"):
        assert loads_of_floats(grow) == loads


def test_a_subclass_that_breaks_the_alignment(backend: str) -> None:
    class Disc(oa.Object):
        x: f32
        y: f32
        z: f32
        radius: f32

    @oa.kernel
    def widen(discs: oa.Array[Disc]):
        disc = discs[oa.grid(1)]
        disc.radius = disc.x + disc.y + disc.z + disc.radius

    with oa.Heap("range+switch", backend, "aos", "16MiB"):
        plain = oa.new(Disc, 3, radius=[1, 2, 3])
        widen[3](plain)
        assert plain.radius.numpy().tolist() == [1, 2, 3]
        assert loads_of_floats(widen) == ["v4.b32"]

        class Tagged(Disc):
            tag: i32

        tagged = oa.new(Tagged, 3, x=1, y=2, z=3, radius=[4, 5, 6], tag=7)
        widen[3](tagged)
        assert tagged.radius.numpy().tolist() == [10, 11, 12]
        assert loads_of_floats(widen) == ["b32"] * 4, "records of 20 bytes are among them"
