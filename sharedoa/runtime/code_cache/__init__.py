"""Machine code kept between runs, keyed by everything that it was made from.

An entry is a file named by a digest of its key, in one folder. The key holds the whole text that
was compiled, so that what a class, a method or a setting changes in the code changes the key; and
it is compared in full when the entry is read, so that neither a collision nor a damaged file is
ever taken for the code asked for. Nothing in it is an address: code goes to any later process.

``entry.py`` is what a file holds, ``folder.py`` how processes share the folder and what it may
grow to. Above this layer ``descriptions.py`` and ``own_code.py`` find code without its text.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Protocol

import llvmlite

from ... import targets
from ...targets.base import Stages
from .. import knobs
from . import entry
from .folder import CodeFolder

_PACKAGE = "sharedoa"
#: Folders that are known to be open to others: one warning each is enough.
_warned: set[Path] = set()


class Compiler(Protocol):
    """What makes code of text: a target, or the compiler of another language.

    ``fingerprint`` and ``libraries`` are everything besides the text and our own version that the
    code depends on: that of all texts, and that of a text which takes parts of libraries.
    """

    name: str

    @property
    def fingerprint(self) -> str: ...

    def libraries(self, text: str, /) -> str: ...

    def compile(self, text: str, /) -> Stages: ...


def compiled(compiler: Compiler, text: str, label: str) -> Stages:
    """``compiler.compile(text)``, or what an earlier run made of the same text; ``label`` is what
    listings call it."""
    folder = open_folder()
    if folder is None:
        return compiler.compile(text)
    key = key_of(compiler, text)
    name = digest_of(key)
    found = _stages(folder.read(name, knobs.cache_size.value()), key)
    if found is None:
        found = compiler.compile(text)
        # A cache that cannot be written costs time, never the launch.
        with contextlib.suppress(OSError):
            data = entry.pack(label, compiler.name, key, found)
            folder.write(name, data, knobs.cache_size.value())
    return found


def open_folder() -> CodeFolder | None:
    """The folder that the settings choose; None if there is none, or, with a warning, if others may
    write to it: what lies there would be executed."""
    folder = chosen_folder()
    reason = None if folder is None else folder.distrust()
    if folder is None or reason is None:
        return folder
    if folder.path not in _warned:
        _warned.add(folder.path)
        warnings.warn(
            f"compiled code is not kept: {folder.path} is not used, as {reason}\n"
            f"help: {distrust_help(folder)}",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def distrust_help(folder: CodeFolder) -> str:
    """How to make a folder one that can be trusted."""
    return (
        f"make {folder.path} yours alone (chown, chmod go-w), or set {knobs.cache_dir.variable} to "
        "a folder of your own, or to off"
    )


def chosen_folder() -> CodeFolder | None:
    """The folder that the settings choose; None if they say ``off``, or nothing where the user has
    no home folder."""
    knobs.cache_size.value()  # a bad one is refused now, not when something is stored
    chosen = knobs.cache_dir.value()
    if chosen == "off":
        return None
    path = _default_path() if chosen is None else chosen
    return None if path is None else _folder(path)


def key_of(compiler: Compiler, text: str) -> bytes:
    """Of code that is made of ``text``, which is the last part."""
    made_with = compiler.name, compiler.fingerprint, compiler.libraries(text)
    return entry.join(part.encode() for part in (_own_version(), *made_with, text))


def digest_of(key: bytes) -> str:
    """What an entry's file is called."""
    return hashlib.sha256(key).hexdigest()


def stored(data: bytes | None) -> entry.Entry | None:
    """The entry of a file, if there is one and it is whole."""
    if data is None:
        return None
    try:
        return entry.unpack(data)
    except entry.DamagedEntry:
        return None


def _stages(data: bytes | None, key: bytes) -> Stages | None:
    found = stored(data)
    return found.stages if found is not None and found.key == key else None


@cache
def _default_path() -> Path | None:
    import platformdirs  # here: only those who name no folder pay for it

    try:
        return Path(platformdirs.user_cache_dir(_PACKAGE))
    except RuntimeError:  # no home folder, as in some services and containers
        return None


@cache
def _folder(path: Path) -> CodeFolder:
    return CodeFolder(path)


@cache
def _own_version() -> str:
    """Of what turns text into code here: the sources themselves, which change without a version
    where the package is installed for editing, and llvmlite, whose LLVM may carry patches."""
    digest = hashlib.sha256()
    (folder,) = targets.__path__
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            digest.update(Path(folder, name).read_bytes())
    return f"targets {digest.hexdigest()} llvmlite {llvmlite.__version__}"
