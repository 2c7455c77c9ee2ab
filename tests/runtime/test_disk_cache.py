"""Machine code kept between runs."""

from __future__ import annotations

import pytest

from sharedoa.runtime import disk_cache, knobs


class CountingTarget:
    """Stands for a target; every compilation gives other bytes, so that a hit shows."""

    name = "counting"
    fingerprint = "one"

    def __init__(self):
        self.count = 0

    def compile(self, ir_text):
        self.count += 1
        return {"opt.ll": f"; {ir_text}", "o": bytes([self.count])}


@pytest.fixture
def folder(tmp_path):
    with knobs.scope(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


def test_the_same_text_is_compiled_once(folder):
    first, second = CountingTarget(), CountingTarget()
    made = disk_cache.compiled(first, "text é")
    assert disk_cache.compiled(second, "text é") == made == {"opt.ll": "; text é", "o": b"\1"}
    assert (first.count, second.count) == (1, 0)


def test_another_text_or_machine_is_another_entry(folder):
    target, other = CountingTarget(), CountingTarget()
    other.fingerprint = "two"
    disk_cache.compiled(target, "a")
    disk_cache.compiled(target, "b")
    disk_cache.compiled(other, "a")
    assert (target.count, other.count) == (2, 1)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"no archive"]
)
def test_a_damaged_entry_is_made_again(folder, damage):
    target = CountingTarget()
    disk_cache.compiled(target, "a")
    (entry,) = folder.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert disk_cache.compiled(target, "a")["o"] == b"\2"
    assert disk_cache.compiled(target, "a")["o"] == b"\2"


def test_an_entry_of_another_key_is_not_taken(folder):
    target = CountingTarget()
    disk_cache.compiled(target, "a")
    (entry,) = folder.iterdir()
    stolen = entry.read_bytes()
    entry.unlink()
    disk_cache.compiled(target, "b")
    (other,) = folder.iterdir()
    other.write_bytes(stolen)
    assert disk_cache.compiled(target, "b")["o"] == b"\3"


def test_off_keeps_nothing_and_a_folder_that_cannot_be_is_no_error(tmp_path):
    target = CountingTarget()
    with knobs.scope(cache_dir="off"):
        disk_cache.compiled(target, "a")
        disk_cache.compiled(target, "a")
    (tmp_path / "file").write_text("")
    with knobs.scope(cache_dir=tmp_path / "file"):
        disk_cache.compiled(target, "a")
    assert target.count == 3
