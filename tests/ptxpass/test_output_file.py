"""Files that appear whole or not at all, whatever is at their place before."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ptxpass.output_file import try_to_write, write_whole


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path):
    file = tmp_path / "file"
    write_whole(file, "first")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask
    file.chmod(0o640)
    write_whole(file, "second: ü")
    assert file.read_text(encoding="utf-8") == "second: ü"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_leaves_everything_as_it_was(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("first")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "a lone surrogate cannot be written: \ud800")
    assert file.read_text() == "first"
    assert list(tmp_path.iterdir()) == [file]


def test_the_folder_that_is_not_there_is_named(tmp_path: Path):
    for attempt in (try_to_write, lambda file: write_whole(file, "text")):
        with pytest.raises(FileNotFoundError) as caught:
            attempt(tmp_path / "none" / "file")
        assert caught.value.filename == str(tmp_path / "none")


def test_files_of_others_beside_it_stay(tmp_path: Path):
    other = tmp_path / "file.unfinished"
    other.write_text("mine")
    write_whole(tmp_path / "file.json", "text")
    assert other.read_text() == "mine"


@pytest.mark.parametrize("before", ["first", None])
def test_a_symlink_stays_and_leads_to_the_text(tmp_path: Path, before: str | None):
    target, link = tmp_path / "target", tmp_path / "link"
    if before is not None:
        target.write_text(before)
    link.symlink_to("target")
    try_to_write(link)
    assert link.is_symlink() and target.exists() == (before is not None)
    write_whole(link, "second")
    assert link.is_symlink() and not target.is_symlink()
    assert target.read_text() == "second"
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_a_fifo_is_written_to(tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    write_whole(fifo, "text")
    reader.join(10)
    assert read == ["text"]
    assert fifo.is_fifo() and list(tmp_path.iterdir()) == [fifo]


def test_trying_to_write_a_fifo_does_not_wait_for_its_reader(tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = (
        "import sys, pathlib, ptxpass.output_file as o; o.try_to_write(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(fifo)], check=True, timeout=60)


@pytest.mark.parametrize("write", [try_to_write, lambda file: write_whole(file, "text")])
def test_what_cannot_be_a_file_is_refused(tmp_path: Path, write):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    before = sorted(tmp_path.iterdir())
    for name, message in (
        ("folder", "Is a directory"),
        ("link", "Is a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("absent/file", "No such file"),
        ("file/file", "Not a directory"),
    ):
        with pytest.raises(OSError, match=message):
            write(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_file_that_its_owner_protected_is_kept(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("first")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        write_whole(file, "second")
    assert file.read_text() == "first"
