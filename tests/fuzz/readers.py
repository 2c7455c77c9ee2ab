"""Everything of this package that reads a file from anybody, with small good files of each kind."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.common.graph_files import read_graph
from apps.common.pgm import read_pgm
from apps.common.tntp import read_tntp
from apps.raytracer.natural.scene_file import DEFAULT_SCENE, read_scene
from apps.routes.network import build
from apps.traffic.tntp import read_road_graph
from dispatch.mode import parse_mode
from ptxpass.text.rewriter import rewrite
from ptxpass.text.syntax import PtxError
from sharedoa.errors import SharedOAError
from sharedoa.runtime.code_cache import entry

_PTX = Path(__file__).parents[1] / "ptxpass" / "programs"
_NET = (
    b"<NUMBER OF ZONES> 1\n<NUMBER OF NODES> 4\n<FIRST THRU NODE> 2\n<NUMBER OF LINKS> 5\n"
    b"<END OF METADATA>\n~ init term capacity length time b power speed toll type ;\n"
    b"1 2 9 1.5 2 0.15 4 50 0 1 ;\n2 3 9 2 2 0.15 4 60 0 1 ;\n3 4 9 1 1 0.15 4 0 0 1 ;\n"
    b"4 2 9 0 0 0 4 0 0 1 ;\n3 1 9 1 1 0.15 4 30 0 1 ;\n"
)
_NODES = b"node X Y ;\n1 0 0 ;\n2 1.5 0 ;\n3 1.5 2e1 ;\n4 -3 1 ;\n"


@dataclass(frozen=True)
class Reader:
    """``files``: good contents, each a dictionary from names to bytes; the first file is the one
    that is given to ``read``. ``refusals`` are what may be raised, and nothing else."""

    files: tuple[dict[str, bytes], ...]
    read: Callable[[Path], Any]
    refusals: tuple[type[Exception], ...] = (SharedOAError,)


def _one(name: str, *contents: bytes) -> tuple[dict[str, bytes], ...]:
    return tuple({name: content} for content in contents)


def _rewrite(file: Path) -> None:
    text = file.read_bytes().decode("utf-8", "replace")
    for mode in ("coal", "typepointer", "tag+switch"):
        rewrite(text, parse_mode(mode), file.name)


def _unpack(file: Path) -> None:
    data = file.read_bytes()
    entry.unpack(data)


def _summary(file: Path) -> None:
    with file.open("rb") as opened:
        entry.read_summary(opened)


def _networks(file: Path) -> None:
    build(read_tntp(file), seed=1)


_METIS = b"% a comment\n5 4\n2 3\n1 3\n1 2 4\n% in between\n3\n\n"
_WEIGHTED = b"3 2 111 2\n7 1 1 2 5\n7 1 1 1 5 3 9\n7 1 1 2 9\n"
_EDGES = b"# Undirected graph: triangle\n0 1\n0\t2\n1 2 0.5\n\n2 3\n"
_MATRIX = b"%%MatrixMarket matrix coordinate real symmetric\n% c\n4 4 3\n2 1 1.5\n4 1 2\n3 3 1\n"
_P2 = b"P2\n# c\n3 2\n255\n0 1 2\n3 4 255\n"
_P5 = b"P5\n3 2\n255\n" + bytes(range(6))
_ENTRY = entry.pack("label", "cpu", b"key" * 9, {"ll": "text", "o": b"\x7fELF" + bytes(40)})

READERS: dict[str, Reader] = {
    "metis": Reader(_one("a.graph", _METIS, _WEIGHTED), read_graph),
    "edges": Reader(_one("a.txt", _EDGES, b"5 4\n1 2\n1 3\n2 3\n3 5\n"), read_graph),
    "matrix": Reader(_one("a.mtx", _MATRIX, _MATRIX.replace(b"real", b"integer")), read_graph),
    "packed": Reader(_one("a.txt.gz", gzip.compress(_EDGES, mtime=0)), read_graph),
    "tntp links": Reader(_one("a_net.tntp", _NET), read_graph),
    "routes": Reader(({"a_net.tntp": _NET, "a_node.tntp": _NODES},), _networks),
    "roads": Reader(({"a_net.tntp": _NET, "a_node.tntp": _NODES},), read_road_graph),
    "pgm": Reader(_one("a.pgm", _P2, _P5, gzip.compress(_P5, mtime=0)), read_pgm),
    "scene": Reader(_one("a.toml", DEFAULT_SCENE.read_bytes()), read_scene),
    "ptx": Reader(
        _one(
            "a.ptx",
            *(
                (_PTX / f"{name}.ptx").read_bytes()
                for name in ("chain", "chosen.clang", "covariant")
            ),
        ),
        _rewrite,
        (PtxError,),
    ),
    "cache entry": Reader(_one("a.code", _ENTRY), _unpack, (entry.DamagedEntry,)),
    "cache summary": Reader(_one("a.code", _ENTRY), _summary, (entry.DamagedEntry,)),
}
