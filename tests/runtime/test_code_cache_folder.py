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
    assert (
        folder.read(name_of(999), 1 << 20) is not None and folder.read(name_of(0), 1 << 20) is None
    )


def test_what_was_used_longest_ago_goes_first(folder):
    names = [name_of(number) for number in range(8)]
    for name in names:
        folder.write(name, bytes(1000), 1 << 20)
    age(folder, {name: 10 - number for number, name in enumerate(names)})
    assert folder.read(names[0], 1 << 20) == bytes(1000)
    # 8 entries of 1000 bytes, 7/8 of 6000 may stay with the new one: 4 of the old.
    CodeFolder(folder.path).write(name_of(8), bytes(1000), 6000)
    left = {number for number in range(9) if folder.read(name_of(number), 1 << 20) is not None}
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
    assert folder.read(name_of(1), 1 << 20) == folder.read(name_of(3), 1 << 20) == b"whole"


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


class TestTrust:
    """What is read is executed: nothing counts that others may have written."""

    def test_what_is_no_regular_file_is_not_opened(self, folder, tmp_path):
        folder.write(name_of(1), b"code", 1 << 20)
        os.mkfifo(folder.path / f"{name_of(2)}.code")
        (folder.path / f"{name_of(3)}.code").symlink_to(folder.path / f"{name_of(1)}.code")
        (folder.path / f"{name_of(4)}.code").mkdir()
        assert [folder.read(name_of(number), 1 << 20) for number in (2, 3, 4)] == [None] * 3
        assert [file.name for file in folder.files()] == [name_of(1)]
        for number in (2, 3):
            folder.write(name_of(number), b"new", 1 << 20)
            assert folder.read(name_of(number), 1 << 20) == b"new"

    def test_what_others_may_write_to_is_not_read(self, folder):
        for number, mode in enumerate((0o666, 0o660, 0o622)):
            folder.write(name_of(number), b"code", 1 << 20)
            (folder.path / f"{name_of(number)}.code").chmod(mode)
            assert folder.read(name_of(number), 1 << 20) is None
            folder.write(name_of(number), b"new", 1 << 20)
            assert folder.read(name_of(number), 1 << 20) == b"new"

    def test_what_others_own_is_not_read(self, folder, monkeypatch):
        folder.write(name_of(1), b"code", 1 << 20)
        assert folder.distrust() is None
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        if os.getuid() != 0:  # root's files are trusted
            assert folder.read(name_of(1), 1 << 20) is None
            assert "belongs to user" in folder.distrust()
        else:
            os.chown(folder.path / f"{name_of(1)}.code", 1, 1)
            assert folder.read(name_of(1), 1 << 20) is None
            os.chown(folder.path, 1, 1)
            assert "belongs to user 1" in folder.distrust()

    def test_a_file_beyond_the_limit_is_not_read(self, folder):
        folder.write(name_of(1), b"code", 1 << 20)
        with (folder.path / f"{name_of(1)}.code").open("ab") as file:
            file.truncate(40 << 30)
        assert folder.read(name_of(1), 1 << 20) is None

    def test_files_are_made_for_their_owner_to_write(self, folder):
        umask = os.umask(0)
        try:
            folder.write(name_of(1), b"code", 1 << 20)
        finally:
            os.umask(umask)
        (file,) = folder.path.iterdir()
        assert file.stat().st_mode & 0o777 == 0o644
        assert folder.path.stat().st_mode & 0o777 == 0o700
