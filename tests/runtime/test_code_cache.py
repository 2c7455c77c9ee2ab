"""Machine code kept between runs: what is found again, what is refused, what may go wrong."""

from __future__ import annotations

import os
import random
import resource
import warnings

import pytest

from sharedoa.backends import column_kernels, move_code, scattered_kernels, slot_code
from sharedoa.backends.cpu import CpuBackend
from sharedoa.backends.own_kernels import OwnKernel, OwnKernels
from sharedoa.backends.permutation_kernel import PERMUTE
from sharedoa.runtime import code_cache, knobs
from sharedoa.runtime.code_cache import entry, own_code
from sharedoa.targets.host import HostTarget
from sharedoa.targets.nvptx import NvptxTarget
from sharedoa.targets.one_thread import OneThread

from ..interleaving import place, switching


class CountingCompiler:
    """Every compilation gives other bytes, so that a hit shows."""

    def __init__(self, name="counting", fingerprint="one", libraries=""):
        self.name, self.fingerprint, self.count = name, fingerprint, 0
        self._libraries = libraries

    def libraries(self, text):
        return self._libraries

    def compile(self, text):
        self.count += 1
        return {"opt.ll": f"; {text}", "o": os.urandom(100)}


@pytest.fixture
def folder(tmp_path):
    with knobs.scope(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


def compiled(compiler, text="text"):
    return code_cache.compiled(compiler, text, "label")


def test_the_same_text_is_compiled_once(folder):
    first, second = CountingCompiler(), CountingCompiler()
    made = compiled(first, "text é")
    assert compiled(second, "text é") == made
    assert made["opt.ll"] == "; text é" and isinstance(made["o"], bytes)
    assert (first.count, second.count) == (1, 0)


def test_kernels_of_backends_are_kept_too(folder, monkeypatch):
    texts, compile = [], HostTarget.compile

    def noting(target, text):
        texts.append(text)
        return compile(target, text)

    monkeypatch.setattr(HostTarget, "compile", noting)
    for _ in range(2):
        backend = CpuBackend()
        assert OwnKernels(backend).load(PERMUTE)
        backend.close()
    assert len(texts) == 1


def test_two_threads_need_the_same_own_kernel(folder):
    """The second one waits, as both are to share the slots of its launches."""
    backend = CpuBackend()
    kernels = OwnKernels(backend)
    again = lambda: kernels.load(PERMUTE)
    with switching(place(OwnKernels._made, "handle ="), again) as other:
        made = kernels.load(PERMUTE)
    assert other.has_waited and other.result is made is kernels.load(PERMUTE)
    backend.close()


def test_the_text_of_an_own_kernel_is_not_made_again(folder, monkeypatch):
    """But for another target, or by other sources, or where the code has gone."""
    texts, compilations = [], []
    write, compile = OwnKernel.ir_text, HostTarget.compile

    def writing(kernel, target):
        texts.append(kernel.symbol)
        return write(kernel, target)

    def compiling(target, text):
        compilations.append(text)
        return compile(target, text)

    class Other(HostTarget):
        pass

    def load(target=None):
        backend = CpuBackend()
        if target is not None:
            monkeypatch.setattr(CpuBackend, "target", target)
        assert OwnKernels(backend).load(PERMUTE)
        backend.close()
        return len(texts), len(compilations)

    monkeypatch.setattr(OwnKernel, "ir_text", writing)
    monkeypatch.setattr(HostTarget, "compile", compiling)
    assert load() == load() == (1, 1)
    monkeypatch.setattr(own_code, "version_with", lambda *others: "of other sources")
    assert load() == load() == (2, 1)
    code = max(folder.rglob("*.code"), key=lambda path: path.stat().st_size)
    code.unlink()
    assert load() == load() == (3, 2)
    assert load(Other()) == load(Other()) == (4, 2)


def own_kernels(target):
    """All, as backends with such a target make them."""
    each = move_code.objects_each(target.is_device)
    regions = slot_code.region_kernels(target.warp or OneThread())
    of_regions = (regions.settle, regions.total, regions.list)
    return [
        slot_code.COPY, slot_code.STORE, slot_code.CLEAR, *slot_code.HEADERS.values(),
        column_kernels.MOVE, column_kernels.NUMBER, scattered_kernels.ALLOCATE,
        scattered_kernels.FREE, scattered_kernels.GATHER, scattered_kernels.SCATTER, PERMUTE,
        *(kernel for kernels in of_regions for kernel in kernels.values()),
        *(move_code.copy_kernel(item, each, way) for item in (1, 4, 8) for way in (False, True)),
        *(move_code.pick_kernel(item) for item in (1, 4, 8)),
        *(move_code.forward_kernel(item, each) for item in (4, 8)),
        *(move_code.follow_kernel(item, a, each) for item in (4, 8) for a in (1, 4, 8)),
    ]  # fmt: skip


def test_the_text_of_an_own_kernel_follows_from_its_key(monkeypatch):
    """Else a cache would give one kernel the code of another."""
    texts: dict[bytes, str] = {}
    for is_device in (False, True):
        monkeypatch.setattr(HostTarget, "is_device", is_device)
        for target in (HostTarget(), NvptxTarget("sm_90")):
            for kernel in own_kernels(target):
                text = kernel.ir_text(target)
                assert texts.setdefault(own_code._key(target, kernel.symbol), text) == text


def mutated(generator, parts):
    """One random change of one part, or of where one part ends and the next begins."""
    parts, number = list(parts), generator.randrange(len(parts))
    part = parts[number]
    place = generator.randrange(len(part))
    match generator.randrange(5):
        case 0:
            parts[number] = part[:place] + chr(ord(part[place]) ^ 1) + part[place + 1 :]
        case 1:
            parts[number] = part[:place] + part[place + 1 :]
        case 2:
            parts[number] = part[:place] + generator.choice("\n x0") + part[place:]
        case 3:
            following = (number + 1) % len(parts)
            parts[number], parts[following] = part[:place], part[place:] + parts[following]
        case 4:
            parts = parts[::-1]
    return tuple(parts)


def test_two_hundred_random_mutations_of_a_key_miss_and_repeats_hit(folder):
    generator = random.Random(6)
    text = "define void @kernel(i64 %x) {\n  %y = add i64 %x, 1\n  ret void\n}\n"
    base = ("nvptx", "sm_90 llvm 22.1", "libdevice 0123", text)
    keys = {base}
    compiled(CountingCompiler(*base[:3]), base[3])
    while len(keys) < 201:
        *made_with, text = key = mutated(generator, base)
        if key not in keys:
            keys.add(key)
            compiler = CountingCompiler(*made_with)
            made = compiled(compiler, text)
            assert compiler.count == 1, f"{key} hits"
            assert compiled(compiler, text) == made
            assert compiler.count == 1
    assert len(list(folder.iterdir())) == 201


def test_where_a_part_ends_is_part_of_the_key(folder):
    first, second = CountingCompiler("a", "b\nc"), CountingCompiler("a\nb", "c")
    assert compiled(first) != compiled(second)
    assert second.count == 1


def test_another_version_of_ours_is_another_key(folder, monkeypatch):
    compiler = CountingCompiler()
    compiled(compiler)
    monkeypatch.setattr(code_cache, "_own_version", lambda: "another")
    compiled(compiler)
    assert compiler.count == 2


def truncated(generator, data):
    return data[: generator.randrange(len(data))]


def with_one_bit_flipped(generator, data):
    place = generator.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[place + 1 :]


def with_more_at_its_end(generator, data):
    return data + b"\0"


@pytest.mark.parametrize("damage", [truncated, with_one_bit_flipped, with_more_at_its_end])
def test_a_damaged_entry_is_made_again(folder, damage):
    generator, compiler = random.Random(7), CountingCompiler()
    made = compiled(compiler)
    (file,) = folder.iterdir()
    for count in range(2, 60):
        file.write_bytes(damage(generator, file.read_bytes()))
        again = compiled(compiler)
        assert compiler.count == count and again != made
        assert compiled(compiler) == again
        made = again


def test_another_format_is_made_again(folder):
    compiler = CountingCompiler()
    compiled(compiler)
    (file,) = folder.iterdir()
    for data in (b"", b"PK\3\4 a zip archive", entry.MAGIC, entry.MAGIC + bytes(200)):
        file.write_bytes(data)
        before = compiler.count
        compiled(compiler)
        assert compiler.count == before + 1


def test_keys_whose_digests_collide_do_not_share_code(folder, monkeypatch):
    first, second = CountingCompiler(), CountingCompiler()
    monkeypatch.setattr(code_cache, "digest_of", lambda key: "0" * 64)
    made = compiled(first, "a")
    assert compiled(second, "b")["opt.ll"] == "; b"
    assert compiled(second, "b")["opt.ll"] == "; b"
    assert second.count == 1
    # One name, one file: what was there before is made again.
    assert compiled(first, "a") != made
    assert len(list(folder.iterdir())) == 1


def test_off_keeps_nothing():
    compiler = CountingCompiler()
    with knobs.scope(cache_dir="off"):
        compiled(compiler)
        compiled(compiler)
    assert compiler.count == 2


def test_a_full_disk_costs_time_and_leaves_nothing(folder):
    compiler = CountingCompiler()
    compiled(compiler, "before")
    kept = list(folder.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The system itself refuses the write half-way through, as it does when a disk is full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        made = [compiled(compiler, "a text of its own" * 100) for _ in range(2)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert made[0] != made[1] and compiler.count == 3
    assert list(folder.iterdir()) == kept
    assert compiled(compiler, "before") and compiler.count == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_only_read_still_gives_code(folder):
    compiler = CountingCompiler()
    made = compiled(compiler, "a")
    folder.chmod(0o500)
    try:
        assert compiled(compiler, "a") == made
        compiled(compiler, "b")
        compiled(compiler, "b")
    finally:
        folder.chmod(0o700)
    assert compiler.count == 3
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    compiler = CountingCompiler()
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("long" * 100)):
        with knobs.scope(cache_dir=path):
            compiled(compiler)
    assert compiler.count == 3


def test_a_folder_that_others_may_write_to_is_not_used_and_that_is_said_once(folder):
    compiler = CountingCompiler()
    compiled(compiler)
    folder.chmod(0o777)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compiled(compiler)
        compiled(compiler)
    (warning,) = said
    assert "others may write to it (mode 777)" in str(warning.message)
    assert f"make {folder} yours alone" in str(warning.message)
    assert compiler.count == 3
    folder.chmod(0o700)
    compiled(compiler)
    assert compiler.count == 3


def test_a_fifo_in_place_of_an_entry_does_not_block(folder):
    compiler = CountingCompiler()
    compiled(compiler)
    (entry_file,) = folder.iterdir()
    entry_file.unlink()
    os.mkfifo(entry_file)
    compiled(compiler)
    compiled(compiler)
    assert compiler.count == 2 and entry_file.is_file()
