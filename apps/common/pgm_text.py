"""Numbers in text, many at once: the pixels of a PGM picture of kind P2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

MOST_DIGITS = 5
MOST = 0xFFFF
_LAST_WORD = re.compile(rb"[^ \t-\r]*\Z")

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class NotANumber(Exception):
    """The word at ``position`` is no number from 0 to 65535."""

    def __init__(self, text: bytes, position: int) -> None:
        self.position = position
        self.word = text[position : position + 20].split()[0].decode("latin-1")
        super().__init__(self.word)


def blocks_of_whole_words(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text in blocks that end between words; only a word too long for a number is cut."""
    rest = b""
    for block in blocks:
        text = rest + block
        found = _LAST_WORD.search(text[-MOST_DIGITS - 1 :])
        rest = found[0] if found and len(found[0]) <= MOST_DIGITS else b""
        yield text[: len(text) - len(rest)]
    yield rest


def numbers(text: bytes) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """All numbers of a text. Raises NotANumber."""
    codes = np.frombuffer(text, np.uint8)
    starts, lengths = _words(codes)
    if not len(starts):
        return np.empty(0, np.uint16)
    digits = codes - np.uint8(ord("0"))
    values = np.zeros(len(starts), np.uint32)
    for place in range(min(int(lengths.max()), MOST_DIGITS)):
        longer = lengths > place
        values[longer] = values[longer] * 10 + digits[starts[longer] + place]
    # What follows the digits "0" to "9", or precedes them and wraps, is no digit.
    wrong = _word_of(np.flatnonzero(~_blank(codes) & (digits > 9)), starts)
    large = np.flatnonzero((lengths > MOST_DIGITS) | (values > MOST))
    first = np.concatenate([wrong, large])
    if len(first):
        raise NotANumber(text, int(starts[first.min()]))
    return values.astype(np.uint16)


def _blank(codes: Bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return (codes == ord(" ")) | ((codes >= ord("\t")) & (codes <= ord("\r")))


def _words(codes: Bytes) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where each word starts, and how long it is."""
    inside = np.zeros(len(codes) + 2, np.int8)
    inside[1:-1] = ~_blank(codes)
    edges = np.diff(inside)
    starts = np.flatnonzero(edges == 1)
    return starts, np.flatnonzero(edges == -1) - starts


def _word_of(positions: np.ndarray[Any, Any], starts: np.ndarray[Any, Any]) -> Any:
    """The numbers of the words that hold each position."""
    return np.searchsorted(starts, positions, side="right") - 1
