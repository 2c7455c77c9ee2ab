"""Philox4x32-10 in plain Python, for oracles: it shares nothing with that of sharedoa."""

from __future__ import annotations

_MASK = (1 << 32) - 1


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Four words of Salmon et al.'s generator, from four words of counter and two of key."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            b >> 32 ^ counter[1] ^ key[0],
            b & _MASK,
            a >> 32 ^ counter[3] ^ key[1],
            a & _MASK,
        ]
        key = [(key[0] + 0x9E3779B9) & _MASK, (key[1] + 0xBB67AE85) & _MASK]
    return counter
