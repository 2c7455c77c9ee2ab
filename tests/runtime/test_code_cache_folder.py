"""The cache's folder: its limit, what goes first, and many processes at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from sharedoa.runtime.code_cache import entry
from sharedoa.runtime.code_cache.folder import CodeFolder

ROOT = Path(__file__).parents[2]
HOUR = 3600 * 10**9


def name_of(number):
    return f"{number:064x}"


def size_of(folder):
    return sum(file.stat().st_size for file in folder.path.iterdir())


def age(folder, ages):
    """Let files have been used so many hours ago."""
    now = time.time_ns()
    for name, hours in ages.items():
        used = now - hours * HOUR
        os.utime(folder.path / f"{name}.code", ns=(used, used))


@pytest.fixture
def folder(tmp_path):
    return CodeFolder(tmp_path / "cache")


def test_a_thousand_entries_stay_within_the_limit_and_the_last_ones_remain(folder):
    generator, limit = random.Random(8), 1 << 20
    for number in range(1000):
        folder.write(name_of(number), generator.randbytes(generator.randrange(40_000)), limit)
        if number % 10 == 0:
            assert size_of(folder) <= limit
    assert limit // 2 < size_of(folder) <= limit
    assert folder.read(name_of(999)) is not None and folder.read(name_of(0)) is None


def test_what_was_used_longest_ago_goes_first(folder):
    names = [name_of(number) for number in range(8)]
    for name in names:
        folder.write(name, bytes(1000), 1 << 20)
    age(folder, {name: 10 - number for number, name in enumerate(names)})
    assert folder.read(names[0]) == bytes(1000)
    # 8 entries of 1000 bytes, 7/8 of 6000 may stay with the new one: 4 of the old.
    CodeFolder(folder.path).write(name_of(8), bytes(1000), 6000)
    left = {number for number in range(9) if folder.read(name_of(number)) is not None}
    assert left == {0, 5, 6, 7, 8}


def test_an_entry_larger_than_the_limit_drives_nothing_out(folder):
    folder.write(name_of(1), b"small", 1000)
    folder.write(name_of(2), bytes(2000), 1000)
    assert [file.name for file in folder.files()] == [name_of(1)]


def test_what_is_not_ours_is_neither_counted_nor_removed(folder):
    folder.write(name_of(1), bytes(100), 1 << 20)
    others = [folder.path / name for name in ("notes.txt", "0.code", f"{name_of(1)}.zip")]
    for other in others:
        other.write_bytes(bytes(5000))
    CodeFolder(folder.path).write(name_of(2), bytes(100), 1000)
    assert folder.clear() == 2
    assert sorted(folder.path.iterdir()) == sorted(others)


def test_parts_of_processes_that_died_are_swept_once_they_are_old(folder):
    folder.write(name_of(1), b"whole", 1000)
    parts = [folder.path / f"{name_of(2)}.{number:016x}.part" for number in range(2)]
    for part in parts:
        part.write_bytes(b"half")
    os.utime(parts[0], ns=(time.time_ns() - 2 * HOUR,) * 2)
    CodeFolder(folder.path).write(name_of(3), b"whole", 1000)
    assert not parts[0].exists() and parts[1].exists()
    assert folder.read(name_of(1)) == folder.read(name_of(3)) == b"whole"


#: Children of one process compile, recall and evict at the same time; two of them die in a write.
_HAMMER = """
import os, random, sys
from pathlib import Path
from sharedoa.runtime import code_cache, knobs
from sharedoa.runtime.code_cache import folder

class Compiler:
    name, fingerprint = "hammer", ""

    def libraries(self, text):
        return ""

    def compile(self, text):
        generator = random.Random(text)
        return {"o": generator.randbytes(generator.randrange(4000)), "s": text * 10}

def die_before_renaming(*files):
    os.kill(os.getpid(), 9)

def hammer(number):
    generator = random.Random(number)
    compiler, hits = Compiler(), 0
    for turn in range(300):
        if turn == 200 and number < 2:
            folder.os.replace = die_before_renaming
        text = f"text {generator.randrange(400)}"
        assert code_cache.compiled(compiler, text, "") == compiler.compile(text)
        if turn % 100 == 50 and number == 7:
            code_cache.open_folder().clear()

with knobs.scope(cache_dir=Path(sys.argv[1]), cache_size=512 << 10):
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                hammer(number)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    print(*(os.waitpid(child, 0)[1] for child in children))
"""


def test_eight_processes_at_once_leave_only_whole_files(folder):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_HAMMER), str(folder.path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == ""
    assert [int(status) for status in done.stdout.split()] == [signal.SIGKILL] * 2 + [0] * 6
    files = list(folder.files())
    assert sum(file.size for file in files) <= 512 << 10
    whole = [file for file in files if file.is_whole]
    assert len(whole) > 10
    for file in whole:
        found = entry.unpack(Path(file.path).read_bytes())
        text = found.key[found.key.rindex(b"text ") :].decode()
        assert found.stages["s"] == text * 10
    # What the two that were killed had not finished, unless another process cleared it away.
    assert len(files) - len(whole) <= 2
