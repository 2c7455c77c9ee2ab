"""The folder of compiled code: damaged, shared, planted, full."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from .catalogue import CPU, case
from .programs import Ended, finish, program, sharedoa, start, written
from .verdicts import Silent, check, check_equal

FOLDER = Path("cache")

_PROGRAM = """
import sharedoa as oa
from sharedoa import i32
@oa.kernel
def k(out: oa.Array[i32]):
    i = oa.grid(1)
    out[i] = i * 7 + 1
out = oa.zeros(50, i32)
k[50](out)
assert out.numpy().tolist() == [i * 7 + 1 for i in range(50)]
print("good")
"""


def run(seconds: float = 20.0, **variables: str) -> Ended:
    return program(
        _PROGRAM, seconds=seconds, SHAREDOA_CACHE_DIR=str(FOLDER.absolute()), **variables
    )


def entries() -> list[Path]:
    found = sorted(FOLDER.glob("*.code"))
    check(found, "nothing was kept")
    return found


def works_after(change: Callable[[Path], None]) -> None:
    """A program runs as if nothing had happened to its entries."""
    run().well("good")
    for entry in entries():
        change(entry)
    run().well("good")


@case(debug=False, backends=CPU)
def used_again() -> None:
    """The second run reads what the first has kept."""
    works_after(lambda entry: None)


@case(debug=False, backends=CPU, limit=120)
def damaged() -> None:
    """Entries are cut off, emptied, filled with zeros, flipped."""

    def flip(entry: Path, place: int) -> None:
        data = bytearray(entry.read_bytes())
        data[place % len(data)] ^= 0x10
        entry.write_bytes(data)

    works_after(lambda entry: entry.write_bytes(entry.read_bytes()[:-100]))
    works_after(lambda entry: entry.write_bytes(bytes(1000)))
    for place in (3, 40, -10):
        works_after(lambda entry, place=place: flip(entry, place))


@case(debug=False, backends=CPU)
def entries_exchanged() -> None:
    """The entry of one kernel lies under the name of another."""
    run().well("good")
    first = {entry.name for entry in entries()}
    text = _PROGRAM.replace("* 7", "* 9")
    program(text, SHAREDOA_CACHE_DIR=str(FOLDER.absolute())).well("good")
    second = next(entry for entry in entries() if entry.name not in first)
    for name in first:
        (FOLDER / name).write_bytes(second.read_bytes())
    run().well("good")


@case(debug=False, backends=CPU, limit=60)
def pipe_in_the_folder() -> None:
    """A FIFO lies where an entry should be."""

    def change(entry: Path) -> None:
        entry.unlink()
        os.mkfifo(entry)

    works_after(change)


@case(debug=False, backends=CPU)
def folder_in_the_folder() -> None:
    """A folder lies where an entry should be."""

    def change(entry: Path) -> None:
        entry.unlink()
        entry.mkdir()

    works_after(change)


@case(debug=False, backends=CPU)
def link_in_the_folder() -> None:
    """A link to nothing, to itself, to another file lies where an entry should be."""
    precious = Path("precious")
    precious.write_text("precious")

    def change(entry: Path, target: str) -> None:
        entry.unlink()
        entry.symlink_to(target)

    for target in ("nothing", str(precious.absolute())):
        works_after(lambda entry, target=target: change(entry, target))
        for entry in FOLDER.glob("*"):
            entry.unlink()
    check_equal(precious.read_text(), "precious")


@case(debug=False, backends=CPU)
def sparse_entry() -> None:
    """An entry of 40 GiB, most of it holes, is not read into memory."""
    import resource

    def change(entry: Path) -> None:
        os.truncate(entry, 40 << 30)

    works_after(change)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(peak < 2 << 20, f"{peak >> 10} MiB of memory")


@case(debug=False, backends=CPU)
def folder_that_all_can_write() -> None:
    """A folder that everybody can write to is not trusted, and the user is told."""
    run().well("good")
    os.chmod(FOLDER, 0o777)
    ended = run().well("good")
    check("write" in ended.err or "trust" in ended.err, "nobody was told")


@case(debug=False, backends=CPU)
def folder_that_cannot_be_written() -> None:
    """A folder that cannot be written, or is a file, costs time and nothing else."""
    FOLDER.mkdir()
    os.chmod(FOLDER, stat.S_IRUSR | stat.S_IXUSR)
    run().well("good")
    os.chmod(FOLDER, 0o700)
    shutil.rmtree(FOLDER)
    FOLDER.write_text("a file")
    run().well("good")
    program(_PROGRAM, SHAREDOA_CACHE_DIR="/proc/nowhere").well("good")
    program(_PROGRAM, SHAREDOA_CACHE_DIR="/dev/null/x").well("good")


@case(debug=False, backends=CPU)
def many_processes() -> None:
    """Six processes fill one folder at once."""
    file = written(_PROGRAM)
    variables = {"SHAREDOA_CACHE_DIR": str(FOLDER.absolute())}
    started = [start(file, **variables) for _ in range(6)]
    for each in started:
        finish(each).well("good")
    check(not list(FOLDER.glob("*.part")), "parts are left")


@case(debug=False, backends=CPU, limit=120)
def killed_while_writing() -> None:
    """Processes are killed at random moments; what they leave disturbs nobody."""
    import random
    import signal
    import time

    file = written(_PROGRAM.replace("* 7", "* 7 + len(out) * 0"))
    for number in range(12):
        started = start(file, SHAREDOA_CACHE_DIR=str(FOLDER.absolute()))
        time.sleep(random.Random(number).uniform(0.3, 0.9))
        started.send_signal(signal.SIGKILL)
        started.communicate()
    run().well("good")
    works_after(lambda entry: None)


@case(debug=False, backends=CPU)
def size_that_holds_nothing() -> None:
    """A limit of one byte, and of a terabyte."""
    run(SHAREDOA_CACHE_SIZE="1").well("good")
    check(not list(FOLDER.glob("*.code")), "more was kept than is allowed")
    run(SHAREDOA_CACHE_SIZE="1024GiB").well("good")


@case(debug=False, backends=CPU)
def commands_on_a_bad_folder() -> None:
    """``sharedoa cache`` on folders that are missing, files, damaged."""
    variables = {"SHAREDOA_CACHE_DIR": str(FOLDER.absolute())}
    sharedoa("cache", **variables).well("0")
    sharedoa("cache", "clear", **variables).well("0 entries")
    run().well("good")
    damaged = entries()
    for entry in damaged:
        entry.write_bytes(b"damaged")
    sharedoa("cache", "list", **variables).well("unreadable")
    sharedoa("cache", "clear", **variables).well(f"{len(damaged)} entr")
    sharedoa("cache", "burn", **variables).refused("burn")


@case(debug=False, backends=CPU)
def foreign_files() -> None:
    """``sharedoa cache clear`` removes nothing that is not its own."""
    FOLDER.mkdir()
    (FOLDER / "letter.txt").write_text("dear")
    (FOLDER / ("a" * 64 + ".txt")).write_text("dear")
    (FOLDER / ("b" * 64)).mkdir()
    sharedoa("cache", "clear", SHAREDOA_CACHE_DIR=str(FOLDER.absolute())).well("0 entries")
    if len(list(FOLDER.iterdir())) != 3:
        raise Silent("a file of the user was removed")


@case(debug=False, backends=CPU)
def full_disk() -> None:
    """The disk is full: code is compiled, and not kept."""
    program(
        """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))  # less than any entry
"""
        + _PROGRAM,
        SHAREDOA_CACHE_DIR=str(FOLDER.absolute()),
    ).well("good")
    check(not list(FOLDER.glob("*")), "something is left")
