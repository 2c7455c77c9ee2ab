"""The commands, given what they cannot take."""

from __future__ import annotations

import os
from pathlib import Path

from .catalogue import CPU, add, case
from .programs import command, sharedoa
from .texts import Entry, entries
from .verdicts import check

#: Arguments of ``sharedoa``, with words of the complaint.
_REFUSED = """
unknown_command: fly
    fly
unknown_option: --fast|option
    config --fast
no_program: argument|APP
    run
unknown_program: tetris, traffic
    run tetris
near_program: traffic
    run trafic
two_programs: argument|routes
    run traffic routes
unknown_mode: cual, coal
    run traffic --mode cual
unknown_backend: opencl, cpu
    run traffic --backend opencl
absent_backend: hip
    run traffic --backend hip
unknown_layout: soa, tile
    run traffic --layout soa
size_zero: size
    run traffic --size 0
size_negative: size
    run traffic --size -5
size_text: size
    run traffic --size many
size_float: size
    run traffic --size 2.5
size_beyond_64_bits: size
    run traffic --size 99999999999999999999999
size_too_large: size|memory|large|most
    run game_of_life --size 2000000000
size_of_structure: size|memory|large|most|room
    run structure --size 1000000000000
steps_zero: steps
    run traffic --steps 0
steps_text: steps
    run traffic --steps abc
seed_negative: seed
    run traffic --seed -1
seed_beyond_64_bits: seed
    run wator --size 4 --steps 1 --seed 18446744073709551616
set_fraction: whole
    run wator --set width=2.5
set_unknown: objects, nothing
    run traffic --set objects=3
set_text: objects
    run raytracer --set objects=three
set_without_value: objects
    run raytracer --set objects
set_zero: objects
    run raytracer --set objects=0 --size 8 --steps 1
set_negative: num_classes
    run scalability --set num_classes=-1 --size 64 --steps 1
set_huge: num_classes
    run scalability --set num_classes=1000000 --size 64 --steps 1
input_missing: missing.tntp
    run traffic --input missing.tntp
input_folder: .
    run traffic --input .
input_empty: empty
    run traffic --input empty
input_binary: binary
    run traffic --input binary
out_no_folder: no/such
    run traffic --size 8 --steps 1 --out no/such/picture.png
out_unknown_format: .xyz|png
    run traffic --size 8 --steps 1 --out picture.xyz
json_folder: --json|folder|file
    run traffic --size 8 --steps 1 --json .
json_below_a_file: empty
    run traffic --size 8 --steps 1 --json empty/run.json
natural_without: natural
    run scalability --natural
compare_nothing: argument|APP
    compare
compare_unknown: tetris
    compare traffic tetris
compare_modes: cual
    compare traffic --modes coal,cual
compare_no_modes: mode
    compare traffic --modes ,
compare_repeat: repeat
    compare traffic --repeat 0
compare_plot_format: xyz|png
    compare traffic --size 8 --steps 1 --plot picture.xyz
cache_unknown: burn
    cache burn
"""


def _add(entry: Entry) -> None:
    def run() -> None:
        Path("empty").write_bytes(b"")
        Path("binary").write_bytes(os.urandom(2000))
        before = sorted(os.listdir("."))
        sharedoa(*entry.body.split()).refused(*entry.words)
        check(sorted(os.listdir(".")) == before, f"files are left: {os.listdir('.')}")

    run.__doc__ = f"sharedoa {entry.body}"
    add(f"command_line.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


@case(debug=False, backends=CPU)
def good_commands() -> None:
    """What every command prints, in a process with no terminal."""
    sharedoa("--version").well("sharedoa")
    sharedoa("config").well("SHAREDOA_MODE")
    sharedoa("apps").well("traffic")
    sharedoa("--help").well("Commands")


@case(debug=False, backends=CPU)
def narrow_terminal() -> None:
    """A terminal of one column, and of no size that makes sense."""
    for columns in ("1", "0", "-5", "abc", "100000"):
        sharedoa("apps", COLUMNS=columns).well()


@case(debug=False, backends=CPU)
def ascii_terminal() -> None:
    """A terminal that cannot show other letters."""
    ended = sharedoa("apps", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    ended.well("traffic")
    ended = sharedoa("config", PYTHONIOENCODING="latin-1", LC_ALL="C", PYTHONUTF8="0")
    ended.well("SHAREDOA_MODE")


@case(debug=False, backends=CPU)
def full_disk() -> None:
    """What is printed goes to a full disk."""
    with open("/dev/full", "w") as full:
        for arguments in (
            ("config",),
            ("apps",),
            ("run", "traffic", "--size", "8", "--steps", "1"),
        ):
            command("-m", "sharedoa", *arguments, stdout=full.fileno()).refused("space|output")


@case(debug=False, backends=CPU)
def output_closed() -> None:
    """Standard output and standard error are closed."""
    for number in (1, 2):
        ended = command("-m", "sharedoa", "config", prepare=lambda number=number: os.close(number))
        check("Traceback" not in ended.err, "a traceback")
        check(ended.status >= 0, f"status {ended.status}")


@case(debug=False, backends=CPU)
def arguments_that_are_no_text() -> None:
    """Arguments of bytes that are no UTF-8."""
    name = b"\xff\xfe".decode(errors="surrogateescape")
    sharedoa("run", name).refused("program")
    sharedoa("run", "traffic", "--input", name).refused("name|file")
    sharedoa("run", "traffic", "--mode", name).refused("mode")
