"""Code of the backends' own kernels, whose text need not be made for a hit.

The text of such a kernel follows from its symbol, the target and the sources of this package. As
with ``descriptions``, an entry says which entry has the code; that is kept by its text, as always.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ... import backends, heap
from ...targets.base import Stages, Target
from .. import knobs
from . import compiled, digest_of, entry, key_of, open_folder, stored
from .descriptions import version_with

_STAGE = "code"
_NAME = "own kernel"
"""The compiler that listings name."""


def own_code(target: Target, symbol: str, write: Callable[[], str]) -> Stages:
    """Code of the kernel whose text ``write`` makes."""
    folder = open_folder()
    if folder is None:
        return target.compile(write())
    limit, key = knobs.cache_size.value(), _key(target, symbol)
    known = stored(folder.read(digest_of(key), limit))
    if known is not None and known.key == key:
        code = stored(folder.read(str(known.stages.get(_STAGE)), limit))
        if code is not None and code.key == key_of(target, entry.parts_of(code.key)[-1].decode()):
            return code.stages
    text = write()
    found = compiled(target, text, symbol)
    with contextlib.suppress(OSError):
        data = entry.pack(symbol, _NAME, key, {_STAGE: digest_of(key_of(target, text))})
        folder.write(digest_of(key), data, limit)
    return found


def _key(target: Target, symbol: str) -> bytes:
    kind = type(target)
    width = 1 if target.warp is None else target.warp.width
    made_for = kind.__module__, kind.__qualname__, target.name, target.fingerprint
    threads = f"device {target.is_device} warp {width}"
    version = version_with(*backends.__path__, *heap.__path__)
    return entry.join(part.encode() for part in (_NAME, version, *made_for, threads, symbol))
