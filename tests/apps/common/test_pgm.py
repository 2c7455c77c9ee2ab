"""PGM pictures: what files of both kinds mean, and what is refused and how."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from apps.common import pgm, pgm_text
from apps.common.pgm import read_pgm
from sharedoa import ArgumentError

TEXT = b"P2\n# by hand\n3 2\n255\n0 7 255\n19 0 1\n"
PIXELS = [[0, 7, 255], [19, 0, 1]]


def write(folder: Path, content: bytes) -> Path:
    file = folder / "picture.pgm"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        b"P2 3 2 255 0 7 255 19 0 1",
        b"P2#\n#one\n #two\r\n3#wide\n\t2\r\n255\n0\n7\n255\r19\v0\f1\r\n\r\n",
        b"P5\n3 2\n255\n" + bytes([0, 7, 255, 19, 0, 1]),
        b"P5\n3 2\n255\n" + bytes([0, 7, 255, 19, 0, 1]) + b"\n",
        b"P5 3 2 # a comment\n 65535 " + np.array(PIXELS, ">u2").tobytes(),
        gzip.compress(TEXT, mtime=0),
        gzip.compress(b"P5\n3 2\n255\n" + bytes([0, 7, 255, 19, 0, 1]), mtime=0),
    ],
)
def test_small_pictures(tmp_path: Path, content: bytes) -> None:
    pixels = read_pgm(write(tmp_path, content))
    assert pixels.dtype == np.uint16
    assert pixels.tolist() == PIXELS


def test_pixels_that_look_like_white_space(tmp_path: Path) -> None:
    content = b"P5\n2 2\n255\n" + b"\n \t "
    assert read_pgm(write(tmp_path, content)).ravel().tolist() == [10, 32, 9, 32]


@given(
    pixels=arrays(np.uint16, array_shapes(min_dims=2, max_dims=2, max_side=40)),
    brightest=st.sampled_from([255, 256, 65535]),
    text=st.booleans(),
    block=st.integers(11, 64),
)
def test_what_is_written_is_read(
    tmp_path: Path, pixels: np.ndarray, brightest: int, text: bool, block: int
) -> None:
    pixels = np.minimum(pixels, brightest)
    height, width = pixels.shape
    header = f"P{2 if text else 5} {width} {height}\n{brightest}\n".encode()
    sample = ">u2" if brightest > 255 else "u1"
    content = (
        b"\n".join(b" ".join(str(p).encode() for p in row) for row in pixels.tolist())
        if text
        else pixels.astype(sample).tobytes()
    )
    file = write(tmp_path, header + content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pgm, "_BLOCK", max(block, len(header)))
        assert np.array_equal(read_pgm(file), pixels)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"picture.pgm: the file is empty"),
        (gzip.compress(b"", mtime=0), r"picture.pgm: the file is empty"),
        (b"\x00\xff" * 50, r"picture.pgm: this is no PGM picture"),
        (b"P3\n3 2\n255\n", r"picture.pgm: this is a P3 picture"),
        (b"P6 3 2 255 xxxxxx", r"picture.pgm: this is a P6 picture"),
        (b"P2", r"the file is truncated: the header lacks the width"),
        (b"P2\n3", r"the file is truncated: the header lacks the height"),
        (b"P2\n3 2 # no more", r"the file is truncated: the header lacks the maximum"),
        (b"P2\n3 -2 255\n", r"the height is '-2', not a number from 1"),
        (b"P2\n0 2 255\n", r"the width is '0', not a number from 1"),
        (b"P2\n3 2 65536\n0", r"the maximum is '65536', not a number from 1 to 65535"),
        (b"P2\n3 2 0\n0", r"the maximum is '0', not a number from 1 to 65535"),
        (b"P2\nthree 2 255\n", r"the width is 'three', not a number"),
        (b"P2\n" + b"9" * 5000 + b" 2 255\n", r"the width is '9{20}', not a number"),
        (b"P2\n" + b"0" * 11 + b"3" + b"9" * 5000 + b" 2 255\n", r"the width is '0+39+', not a"),
        (b"P5\n16000 16000 255\n" + bytes(1000), r"it has 1000 of 16000 x 16000 pixels"),
        (b"P2\n100000 100000 255\n0", r"100000 x 100000 pixels are more than 268435456"),
        (b"P2\n3 2 255\n", r"the file is truncated: it has 0 of 3 x 2 pixels"),
        (b"P2\n3 2 255\n1 2 3 4 5\n", r"the file is truncated: it has 5 of 3 x 2 pixels"),
        (b"P2\n3 2 255\n1 2 3 4 5 6 7\n", r"the file has more than 3 x 2 pixels"),
        (b"P2\n3 2 255\n1 2 3\n4 5 x\n", r"picture.pgm:4: 'x' is no pixel, 0 to 65535"),
        (b"P2\n3 2 255\n1 2 3\n4 -5 6\n", r"picture.pgm:4: '-5' is no pixel"),
        (b"P2\n3 2 255\n1 2 3\n4 5 6e1\n", r"picture.pgm:4: '6e1' is no pixel"),
        (b"P2\n3 2 255\n1 2\n3 99999 4 5\n", r"picture.pgm:4: '99999' is no pixel"),
        (b"P2\n3 2 255\n1 2\n3 123456789 4\n", r"picture.pgm:4: '123456789' is no pixel"),
        (b"P2\n3 2 255\n1 2 # 3\n4 5 6\n", r"picture.pgm:3: '#' is no pixel"),
        (b"P2\n3 2 255\n1 2 3 4 5 \x00\n", r"picture.pgm:3: '\\x00' is no pixel"),
        (b"P2\n3 2 15\n1 2 3 4 5 16\n", r"a pixel is 16, above the picture's maximum 15"),
        (b"P5\n3 2 15\n\x00\x01\x02\x10\x04\x05", r"a pixel is 16, above the picture's maximum 15"),
        (b"P5\n3 2\n255\n12345", r"the file is truncated: it has 5 of 3 x 2 pixels"),
        (b"P5\n3 2\n255", r"the file is truncated: it has 0 of 3 x 2 pixels"),
        (b"P5\n3 2\n256\n12345678901", r"the file is truncated: it has 5 of 3 x 2 pixels"),
        (b"P5\n3 2\n255\n1234567", r"the file has more than 3 x 2 pixels"),
        (gzip.compress(TEXT, mtime=0)[:-12], r"the compressed file is truncated"),
        (gzip.compress(TEXT, mtime=0)[:15], r"the compressed file is truncated"),
        (b"\x1f\x8b\x08\x00" + b"\x07" * 60, r"the compressed file is damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as raised:
        read_pgm(write(tmp_path, content))
    assert "picture.pgm" in str(raised.value)
    assert "give a PGM picture" in str(raised.value)


def test_damage_after_the_pixels_of_a_packed_file(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT, mtime=0))
    packed[-6] ^= 1  # the check sum
    with pytest.raises(ArgumentError, match="the compressed file is damaged: CRC"):
        read_pgm(write(tmp_path, bytes(packed)))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"none.pgm: cannot be read: No such file"):
        read_pgm(tmp_path / "none.pgm")
    with pytest.raises(ArgumentError, match=r"cannot be read: it is not a regular file"):
        read_pgm(tmp_path)
    os.mkfifo(tmp_path / "pipe.pgm")
    with pytest.raises(ArgumentError, match=r"cannot be read: it is not a regular file"):
        read_pgm(tmp_path / "pipe.pgm")


@pytest.mark.parametrize("kind", [b"P2", b"P5"])
def test_a_header_that_promises_much_allocates_nothing(tmp_path: Path, kind: bytes) -> None:
    file = write(tmp_path, kind + b"\n16384 16384 65535\n1 2 3\n")
    tracemalloc.start()
    with pytest.raises(ArgumentError, match="the file is truncated"):
        read_pgm(file)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_a_file_that_unpacks_to_very_much_is_not_unpacked(tmp_path: Path) -> None:
    file = write(tmp_path, gzip.compress(b"P5\n3 2\n255\n" + bytes(1 << 28), 1))
    tracemalloc.start()
    with pytest.raises(ArgumentError, match="more than 3 x 2 pixels"):
        read_pgm(file)
    assert tracemalloc.get_traced_memory()[1] < 150 << 20
    tracemalloc.stop()


@given(words=st.lists(st.integers(0, 65535), max_size=30), size=st.integers(1, 40))
def test_numbers_in_blocks(words: list[int], size: int) -> None:
    text = " ".join(map(str, words)).encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    parts = [pgm_text.numbers(part) for part in pgm_text.blocks_of_whole_words(iter(pieces))]
    assert np.concatenate([np.empty(0, np.uint16), *parts]).tolist() == words


def test_the_turing_machine(data: Path) -> None:
    pixels = read_pgm(data / "tm.pgm.gz")
    assert pixels.shape == (1647, 1714)
    assert np.unique(pixels).tolist() == [0, 255]
    assert np.count_nonzero(pixels == 0) == 36_549
