"""Files that programs read: graphs, networks, scenes, boards, damaged and crafted."""

from __future__ import annotations

import os
from pathlib import Path

from .catalogue import CPU, add, case
from .programs import repository_file, sharedoa
from .texts import Entry, entries
from .verdicts import check

SMALL = ("--steps", "1")

#: Program and file name, with words of the complaint, and what is in the file.
_REFUSED = r"""
matrix_market_cut_in_a_number bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 2
    1 2
    2
matrix_market_cut_in_the_header bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3
matrix_market_no_header bfs a.mtx: a.mtx
    1 2 3
matrix_market_out_of_range bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 2
    1 2
    9 9
matrix_market_zero bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 1
    0 1
matrix_market_negative bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 -1
matrix_market_huge bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    4000000000000 4000000000000 1
    1 2
matrix_market_huge_count bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 90000000000000
    1 2
matrix_market_long_number bfs a.mtx: a.mtx
    %%MatrixMarket matrix coordinate pattern general
    3 3 1
    1 99999999999999999999999999999999
matrix_market_dense bfs a.mtx: a.mtx
    %%MatrixMarket matrix array real general
    2 2
    1.0
    2.0
    3.0
    4.0
metis_cut bfs a.graph: a.graph
    3 2
    2
metis_no_numbers bfs a.graph: a.graph
    hello world
metis_out_of_range bfs a.graph: a.graph
    2 1
    9
    1
metis_long_number bfs a.graph: a.graph
    2 1
    99999999999999999999999999999999999999
    1
metis_huge bfs a.graph: a.graph
    9000000000000 1
    2
metis_negative bfs a.graph: a.graph
    -2 -1
edge_list_words bfs a.txt: a.txt
    one two
    three four
edge_list_one_column bfs a.txt: a.txt
    1
    2
edge_list_long_number bfs a.txt: a.txt
    1 99999999999999999999999999999
edge_list_negative bfs a.txt: a.txt
    -1 2
unknown_suffix bfs a.docx: a.docx
    1 2
tntp_cut traffic a_net.tntp: a_net.tntp
    <NUMBER OF NODES> 4
    <NUMBER OF LINKS> 2
    <END OF METADATA>
    ~ init term capacity length
    1 2 100
tntp_words traffic a_net.tntp: a_net.tntp
    <NUMBER OF NODES> four
    <END OF METADATA>
tntp_huge traffic a_net.tntp: a_net.tntp
    <NUMBER OF NODES> 99999999999999
    <NUMBER OF LINKS> 1
    <END OF METADATA>
    ~
    1 2 100 1 1 0 4 50 0 1 ;
tntp_nan traffic a_net.tntp: tntp
    <NUMBER OF NODES> 2
    <NUMBER OF LINKS> 2
    <END OF METADATA>
    ~
    1 2 nan nan nan 0 4 nan 0 1 ;
    2 1 nan nan nan 0 4 nan 0 1 ;
scene_no_toml raytracer a.toml: a.toml
    [[[
scene_unknown_key raytracer a.toml: a.toml
    colour_of_everything = 5
scene_long_key raytracer a.toml: a.toml
    a = 1
scene_wrong_kind raytracer a.toml: a.toml
    spheres = "many"
board_no_picture game_of_life a.pgm: a.pgm
    hello
board_cut game_of_life a.pgm: a.pgm
    P2
    4 4
    255
    0 0 0
board_huge game_of_life a.pgm: a.pgm
    P2
    2000000000 2000000000
    255
    0
board_negative game_of_life a.pgm: a.pgm
    P2
    -4 4
    255
    0
board_long_number game_of_life a.pgm: a.pgm
    P2
    2 2
    255
    0 0 99999999999999999999999999999999999999 0
board_words game_of_life a.pgm: a.pgm
    P2
    two two
    255
    0
structure_text structure a.txt: a.txt|structure
    hello
generation_text generation a.pgm: a.pgm
    hello
"""


def _add(entry: Entry) -> None:
    def run() -> None:
        program, name = entry.head.split()
        # The last line ends in the middle.
        Path(name).write_text(entry.body)
        sharedoa("run", program, "--input", name, *SMALL).refused(*entry.words)

    run.__doc__ = f"A file for {entry.head}: {entry.name.replace('_', ' ')}"
    add(f"inputs.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


@case(debug=False, backends=CPU)
def dotted_key_of_a_scene() -> None:
    """A key of a hundred thousand dots in a scene: refused, in little memory."""
    import resource

    Path("a.toml").write_text("a" + ".a" * 50_000 + " = 1\n")
    sharedoa("run", "raytracer", "--input", "a.toml", *SMALL).refused("a.toml")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(peak < 1 << 20, f"{peak >> 10} MiB of memory")


@case(debug=False, backends=CPU, limit=120)
def bombs() -> None:
    """Files of random bytes, of zeros, of one long line, for every program."""
    files = {
        "random": os.urandom(5000),
        "zeros": bytes(5000),
        "long": b"1 " * 50_000,
    }
    kinds = {
        "bfs": ("mtx", "graph", "txt"),
        "traffic": ("tntp",),
        "raytracer": ("toml",),
        "game_of_life": ("pgm",),
    }
    for program, suffixes in kinds.items():
        for suffix in suffixes:
            for name, data in files.items():
                if (name, suffix) == ("long", "txt"):
                    continue  # an edge, with columns behind it
                path = Path(f"{name}.{suffix}")
                path.write_bytes(data)
                sharedoa("run", program, "--input", path, *SMALL).refused(path.name)


@case(debug=False, backends=CPU)
def special_files() -> None:
    """Devices and pipes as input."""
    for program in ("bfs", "traffic", "game_of_life"):
        sharedoa("run", program, "--input", "/dev/null", *SMALL).refused("/dev/null|null")


@case(debug=False, backends=CPU)
def a_file_of_another_program() -> None:
    """A source file as input of every program."""
    readme = repository_file("README.md")
    for program in ("bfs", "traffic", "raytracer", "game_of_life", "routes"):
        sharedoa("run", program, "--input", readme, *SMALL).refused("README.md")
