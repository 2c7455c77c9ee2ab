"""What keeps finished runs: files, what a kill leaves of them, and files of something else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas
import pytest

import sharedoa as oa
from sharedoa.sweeps.journal import Journal
from sharedoa.sweeps.table import Row

SUFFIXES = ("parquet", "csv")
CALLS: list[tuple[Any, ...]] = []
FAILS: set[int] = set()


def kinds(a: int, name: str, seed: int) -> dict[str, Any]:
    """Results of every kind, not all of them each time."""
    CALLS.append((a, name, seed))
    if a in FAILS:
        raise ValueError(f'"{a}",\nand a line')
    found = {"whole": 2**53 + a, "part": a / 7, "text": f"00{a}", "odd": a % 2 == 1, "mixed": a}
    extreme = {0: math.nan, 1: math.inf, 2: -0.0, 3: 1e-300}
    return {**found, "extreme": extreme[a], **({"mixed": "x"} if a else {}), "name ": name or "-"}


def swept(to: Path, a: Iterable[int] = range(4), **options: Any) -> pandas.DataFrame:
    CALLS.clear()
    with ThreadPoolExecutor(2) as executor:
        names = ["", "7", 'a "b", c\n']
        given = {"a": a, "name": names}
        return oa.sweep(kinds, given, seed=4, executor=executor, to=to, **options)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_call_does_only_what_is_missing(suffix: str, tmp_path: Path) -> None:
    to = tmp_path / f"runs.{suffix}"
    FAILS.add(3)
    table = swept(to, repeats=2)
    assert len(CALLS) == 24 and table["error"].notna().sum() == 6
    FAILS.clear()
    table = swept(to, repeats=2)
    assert sorted({call[0] for call in CALLS}) == [3] and len(CALLS) == 6
    assert table["error"].isna().all()
    again = swept(to, repeats=2)
    assert not CALLS
    pandas.testing.assert_frame_equal(again, table)
    assert list(table["whole"]) == [2**53 + a for a in range(4) for _ in range(6)]
    assert list(table["text"])[::6] == ["000", "001", "002", "003"]
    assert [repr(each) for each in table["extreme"]][::6] == ["nan", "inf", "-0.0", "1e-300"]
    swept(to, repeats=3)
    assert len(CALLS) == 12
    fewer = swept(to, a=[2, 1])
    assert not CALLS and list(fewer["a"]) == [2, 2, 2, 1, 1, 1] and len(set(fewer["seed"])) == 6
    read = pandas.read_parquet(to) if suffix == "parquet" else pandas.read_csv(to)
    assert len(read) == 36 and sorted(read["seed"]) == sorted(swept(to, repeats=3)["seed"])
    assert list(read["run"]) == list(range(36))
    beside = {"runs.parquet"} if suffix == "parquet" else {"runs.csv", "runs.csv.journal"}
    assert {each.name for each in tmp_path.iterdir()} == beside


def other(a: int, name: str, seed: int) -> int:
    return a


def fewer(a: int, seed: int) -> int:
    return a


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_of_something_else_are_not_mixed(suffix: str, tmp_path: Path) -> None:
    to = tmp_path / f"runs.{suffix}"
    swept(to, a=[1])
    content = to.read_bytes()
    given = {"a": [1], "name": [""]}
    text = {"def kinds(a: int, name: str, seed: int) -> int:": "    return a + 1"}
    file = tmp_path / "changed.py"
    file.write_text("\n".join((*text, *text.values())))
    changed: dict[str, Any] = {"__name__": "changed"}
    exec(compile(file.read_text(), str(file), "exec"), changed)
    for model, parameters, told in (
        (other, given, "of the model kinds"),
        (changed["kinds"], given, "of another text of the model"),
    ):
        with pytest.raises(oa.ArgumentError, match=told):
            oa.sweep(model, parameters, executor=ThreadPoolExecutor(1), to=to)
    with pytest.raises(oa.ArgumentError, match="of the parameters a, name"):
        Journal(to, kinds, ["a"])
    assert to.read_bytes() == content
    if suffix == "csv":
        (tmp_path / "runs.csv.journal").unlink()
        with pytest.raises(oa.ArgumentError, match=r"runs\.csv\.journal is not beside it"):
            swept(to, a=[1])
    to.write_bytes(b"1,2\n3,4\n")
    with pytest.raises(oa.ArgumentError, match="is no file of a sweep"):
        swept(to, a=[1])
    pandas.DataFrame({"a": [1]}).to_parquet(tmp_path / "else.parquet")
    with pytest.raises(oa.ArgumentError, match="does not say so itself"):
        swept(tmp_path / "else.parquet")


def test_two_sweeps_do_not_write_one_file(tmp_path: Path) -> None:
    held = Journal(tmp_path / "runs.csv", kinds, ["a", "name"])
    with pytest.raises(oa.ArgumentError, match="another sweep is writing"):
        swept(tmp_path / "runs.csv")
    held.close()
    swept(tmp_path / "runs.csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_kill_at_any_byte_of_the_journal_costs_no_other_run(suffix: str, tmp_path: Path) -> None:
    to = tmp_path / f"runs.{suffix}"
    rows = [Row(seed, {"a": seed}, {"x": f"é{seed}"}, 0.1, None) for seed in range(1, 6)]
    first = Journal(to, kinds, ["a"])
    for row in rows[:2]:
        first.add(row)
    first.finish([1, 2])
    second = Journal(to, kinds, ["a"])
    for row in rows[2:]:
        second.add(row)
    second.close()
    path = tmp_path / f"{to.name}.journal"
    content = path.read_bytes()
    ends = [at for at, byte in enumerate(content) if byte == ord("\n")]
    assert len(ends) == 4
    for cut in range(ends[0] + 1, len(content) + 1, 3):
        path.write_bytes(content[:cut])
        journal = Journal(to, kinds, ["a"])
        whole = 2 + sum(cut >= end for end in ends[1:])
        assert sorted(journal.rows) == list(range(1, whole + 1))
        assert all(journal.rows[row.seed].results == row.results for row in rows[:whole])
        journal.add(rows[4])
        journal.close()
        journal = Journal(to, kinds, ["a"])
        assert sorted(journal.rows) == sorted({*range(1, whole + 1), 5})
        journal.close()
    # Between the new file and the end of the journal; and what a disk has made of a line.
    path.write_bytes(content)
    journal = Journal(to, kinds, ["a"])
    journal.finish(range(1, 6))
    path.write_bytes(content.replace(b"0.1", b"0.2"))
    if suffix == "csv":
        path.write_bytes(content[: ends[0] + 1] + content.replace(b"0.1", b"0.2"))
    journal = Journal(to, kinds, ["a"])
    assert len(journal.rows) == 5 and {row.seconds for row in journal.rows.values()} == {0.1}
    journal.finish([])
    assert len(pandas.read_parquet(to) if suffix == "parquet" else pandas.read_csv(to)) == 5
