"""``ptxpass FILE --mode MODE -o OUT``: files, messages, exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch.mode import parse_mode
from ptxpass.text import rewrite

from .. import forked
from .golden import FOLDER

ROOT = Path(__file__).parents[2]
SINGLE = FOLDER / "single.ptx"


def ptxpass(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return forked.run(["-m", "ptxpass", *arguments], {**os.environ, "COLUMNS": "200"}, folder)


def test_a_file(tmp_path: Path):
    out = tmp_path / "out.ptx"
    done = ptxpass(SINGLE, "--mode", "coal", "-o", out, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.read_text() == rewrite(SINGLE.read_text(), parse_mode("coal")).text
    assert list(tmp_path.iterdir()) == [out]


def test_over_itself(tmp_path: Path):
    """As in a build that keeps its files: the input is replaced."""
    file = tmp_path / "x.ptx"
    file.write_text(SINGLE.read_text())
    assert ptxpass(file, "--mode", "bits+switch", "-o", file, folder=tmp_path).returncode == 0
    assert "sharedoa_vtables" in file.read_text()


def test_the_report(tmp_path: Path):
    done = ptxpass(SINGLE, "--mode", "RANGE + SWITCH", "-o", "out.ptx", "--report", folder=tmp_path)
    assert done.returncode == 0
    assert "2 indirect calls" in done.stdout
    assert "range + switch" in done.stdout
    for name in ("Base", "Derived"):
        assert f"{name}  (_ZTV" in done.stdout or "makes objects itself" in done.stdout


def test_several_files_agree_on_numbers(tmp_path: Path):
    names = ["separate_classes.ptx", "separate_kernels.ptx"]
    files = [FOLDER / name for name in names]
    out = tmp_path / "out"
    out.mkdir()
    done = ptxpass(*files, "--mode", "range+switch", "-o", out, "--report", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    texts = [(out / name).read_text() for name in names]
    # One of them owns the state block.
    assert ".visible .const .align 8 .b64 sharedoa_state[16] = " in texts[0]
    assert ".extern .const .align 8 .b64 sharedoa_state[16];" in texts[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["single.ptx", "--mode", "coald"], "unknown mode 'coald'; valid modes are cuda"),
        (["absent.ptx", "--mode", "coal"], "absent.ptx: No such file"),
        (["binary.ptx", "--mode", "coal"], "pass PTX, not a binary"),
        (["broken.ptx", "--mode", "coal"], "broken.ptx:6: "),
        (["old.ptx", "--mode", "coal"], "old.ptx:1: PTX version 4.1 is not known"),
        (["single.ptx", "single.ptx", "--mode", "coal"], "no folder"),
        (["rewritten.ptx", "--mode", "coal"], "has been rewritten already"),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, arguments: list[str], message: str):
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    (tmp_path / "single.ptx").write_text(SINGLE.read_text())
    (tmp_path / "binary.ptx").write_bytes(b"\x7fELF\xff\xfe")
    (tmp_path / "broken.ptx").write_text(head + ".func f()\n{\n mov.u32 %r1, %r2")
    (tmp_path / "old.ptx").write_text(head.replace("8.0", "4.1"))
    (tmp_path / "rewritten.ptx").write_text(rewrite(SINGLE.read_text(), parse_mode("coal")).text)
    before = sorted(tmp_path.iterdir())
    done = ptxpass(*arguments, "-o", "out.ptx", folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_symlink_as_output_stays(tmp_path: Path):
    link = tmp_path / "link.ptx"
    link.symlink_to("out.ptx")
    assert ptxpass(SINGLE, "--mode", "coal", "-o", link, folder=tmp_path).returncode == 0
    assert link.is_symlink()
    assert "sharedoa_vtables" in (tmp_path / "out.ptx").read_text()


def test_a_folder_that_cannot_be_written(tmp_path: Path):
    done = ptxpass(SINGLE, "--mode", "coal", "-o", "absent/out.ptx", folder=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "No such file" in done.stderr


def test_notes(tmp_path: Path):
    none = ptxpass(FOLDER / "no_virtual.ptx", "--mode", "coal", "-o", "a.ptx", folder=tmp_path)
    assert none.returncode == 0
    assert "note: no virtual calls" in none.stderr
    left = ptxpass(
        FOLDER / "function_pointers.ptx", "--mode", "coal", "-o", "b.ptx", folder=tmp_path
    )
    assert left.returncode == 0
    assert left.stderr.count("is left alone: not loaded from a vtable") == 5


def test_a_folder_of_ours_name_shadows_nothing(tmp_path: Path):
    (tmp_path / "dispatch").mkdir()
    (tmp_path / "dispatch" / "__init__.py").write_text("raise ImportError('the wrong folder')\n")
    done = subprocess.run(
        [sys.executable, "-m", "ptxpass", SINGLE, "--mode", "coal", "-o", "out.ptx"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
