"""CUPTI: how its records lie and are read, how they are collected, what it refuses.

CUPTI itself needs a GPU: a library that gives back records of a file stands in for it here.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from bench.cupti import library as cupti
from bench.cupti.buffers import Buffers
from bench.cupti.kernel_records import KernelHead, KernelRun
from bench.cupti.library import Cupti, CuptiError
from bench.page_migrations.collection import Collection
from bench.page_migrations.records import CounterHead, Migration

from . import packed_records as packed
from .packed_records import ASKED, BASE, BESIDE, FAULT, PAGE, RUN, read

# ---------------------------------------------------------------------------- records


def include_folders():
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", sys.prefix]
    site = Path(np.__file__).parents[1] / "nvidia"
    folders = [Path(home, "include") for home in homes if home]
    return [*folders, *site.glob("*/include")]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_structs_lie_as_in_nvidias_header(tmp_path):
    folders = include_folders()
    header = next(
        (f / "cupti_activity.h" for f in folders if (f / "cupti_activity.h").is_file()), None
    )
    if header is None:
        pytest.skip("no cupti_activity.h")
    text = header.read_text()
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <stdint.h>"]
    lines += ["#include <cupti.h>", "int main(void) {"]
    for head, name in (
        (CounterHead, "CUpti_ActivityUnifiedMemoryCounter"),
        (KernelHead, "CUpti_ActivityKernel"),
    ):
        newest = max(n for n in range(2, 30) if f"}} {name}{n};" in text)
        lines += [
            f'printf("%zu\\n", offsetof({name}{newest}, {member[0]}));' for member in head._fields_
        ]
    source, program = tmp_path / "offsets.c", tmp_path / "offsets"
    source.write_text("\n".join([*lines, "return 0; }"]))
    places = [f"-I{folder}" for folder in folders if folder.is_dir()]
    done = subprocess.run(["cc", *places, str(source), "-o", str(program)], capture_output=True)
    if done.returncode:
        pytest.skip("NVIDIA's headers do not compile here")
    offsets = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    ours = [
        getattr(head, member[0]).offset
        for head in (CounterHead, KernelHead)
        for member in head._fields_
        if member[0] != "cacheConfig"
    ]
    theirs = [int(line) for line in offsets.split()]
    place = len(CounterHead._fields_) + 1
    assert theirs[:place] + theirs[place + 1 :] == ours
    assert theirs[place] == KernelHead.cacheConfig.offset


def test_every_kind_of_record_is_read():
    name = ctypes.create_string_buffer(b"kernel_a")
    found = read(
        packed.to_device(2 << 20, ASKED, 100, 200),
        packed.to_host(PAGE, FAULT, 300, 400, BASE + PAGE),
        packed.to_host(60 << 10, BESIDE, 500, 600),
        packed.gpu_fault(3, 700, 800, BASE, access=2),
        packed.cpu_fault(900, BASE + 8),
        packed.counter(5, 1 << 16, 1000),
        packed.counter(7, 1 << 16, 1100),
        packed.kernel(ctypes.addressof(name), 1200, 1700),
        packed.kernel(ctypes.addressof(name), 0, 0),
        b"\1" + bytes(127),  # a copy, which nobody asked for
    )
    assert found.migrations == [
        Migration("to device", "asked for", BASE, 2 << 20, 100, 200),
        Migration("to host", "fault", BASE + PAGE, PAGE, 300, 400),
        Migration("to host", "beside a fault", BASE, 60 << 10, 500, 600),
    ]
    (fault,) = found.gpu_faults
    assert (fault.groups, fault.access, fault.address, fault.end) == (3, "write", BASE, 800)
    assert [(f.address, f.start) for f in found.cpu_faults] == [(BASE + 8, 900)]
    assert [o.what for o in found.others] == ["thrashing", "remote map"]
    assert found.kernels == [KernelRun("kernel_a", 1200, 1700)]
    assert found.kernels[0].seconds == pytest.approx(500e-9)
    assert (found.untimed, found.unified_memory) == (1, 7)


@pytest.mark.parametrize(
    "record",
    [
        packed.counter(9, 1, 100),
        packed.counter(0, 1, 100),
        packed.to_device(0, ASKED, 100, 200),
        packed.to_device(PAGE, 1700, 100, 200),
        packed.to_device(PAGE, ASKED, 200, 100),
        packed.to_host(PAGE, ASKED, 100, 100 + 7200 * 10**9),
        packed.gpu_fault(1, 100, 200, access=90),
        packed.kernel(0, 100, 200),
        packed.kernel(0, 100, 200, block=(2048, 1, 1)),
    ],
)
def test_records_that_cannot_be_are_refused(record):
    with pytest.raises(CuptiError, match="not laid out as expected"):
        read(record)


def test_a_kernel_that_cannot_be_is_refused():
    name = ctypes.create_string_buffer(b"kernel_a")
    for wrong in (
        packed.kernel(ctypes.addressof(name), 100, 200, block=(64, 64, 1)),
        packed.kernel(ctypes.addressof(name), 100, 200, grid=(0, 1, 1)),
        packed.kernel(ctypes.addressof(name), 200, 100),
    ):
        with pytest.raises(CuptiError, match="kernel"):
            read(wrong)


# ---------------------------------------------------------------------------------- buffers

REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


def test_buffers_are_handed_out_and_taken_back():
    buffers = Buffers(3, 4096)
    request, complete = REQUESTED(buffers.requested), COMPLETED(buffers.completed)

    def ask():
        place, size, most = ctypes.c_void_p(), ctypes.c_size_t(7), ctypes.c_size_t(7)
        request(ctypes.byref(place), ctypes.byref(size), ctypes.byref(most))
        assert most.value == 0
        return place.value, size.value

    given = [ask() for _ in range(3)]
    assert all(size == 4096 and place % 8 == 0 for place, size in given)
    assert [b - a for (a, _), (b, _) in itertools.pairwise(given)] == [4096] * 2
    assert buffers.filled() == [] and not buffers.ran_out
    assert ask() == (None, 0) and buffers.ran_out
    for number, valid in ((2, 100), (0, 4096), (1, 0)):
        complete(None, 0, given[number][0], 4096, valid)
    assert buffers.filled() == [(given[0][0], 4096), (given[2][0], 100)]
    # Again and again, but for those that are still CUPTI's own.
    buffers.reuse()
    assert buffers.filled() == [] and not buffers.ran_out
    again = [ask() for _ in range(3)]
    assert again == given
    complete(None, 0, given[1][0], 4096, 8)
    buffers.reuse()
    assert [ask(), ask()] == [given[1], (None, 0)] and buffers.ran_out
    # What was refused may come back as nothing.
    complete(None, 0, None, 0, 0)
    assert buffers.filled() == []


def test_buffers_are_handed_out_once_to_many_threads():
    buffers = Buffers(64, 4096)
    request = REQUESTED(buffers.requested)
    given = []

    def ask():
        place, size, most = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        for _ in range(16):
            request(ctypes.byref(place), ctypes.byref(size), ctypes.byref(most))
            given.append(place.value)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(given)) == 64 and None not in given and not buffers.ran_out


# ------------------------------------------------------------------------------- collection


def collect(library, buffers=None):
    collection = Collection(Cupti.load(library), buffers or Buffers(8, 4096))
    collection.start()
    return collection, collection.finish()


def test_a_collection_has_all_records(pretended_cupti, monkeypatch, tmp_path):
    many = [packed.kernel(1, 100 * n, 100 * n + 50) for n in range(1, 101)]
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write([*many, *RUN], tmp_path / "r")))
    collection, found = collect(pretended_cupti)
    assert (collection.refused, collection.gaps) == ("", [])
    assert [run.start for run in found.kernels] == [*range(100, 10_100, 100), 5100, 6100]
    assert {run.name for run in found.kernels} == {"kernel_a", "kernel_b"}
    assert (len(found.migrations), len(found.cpu_faults), len(found.gpu_faults)) == (2, 1, 1)


def test_records_that_do_not_fit_are_told(pretended_cupti, monkeypatch, tmp_path):
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write(RUN * 10, tmp_path / "r")))
    collection, found = collect(pretended_cupti, Buffers(1, 1024))
    assert found.kernels and len(found.kernels) < 20
    (gap,) = collection.gaps
    assert "dropped" in gap and "1,024" in gap


def test_dropped_and_incomplete_records_are_told(pretended_cupti, monkeypatch, tmp_path):
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write(RUN, tmp_path / "r")))
    monkeypatch.setenv("PRETEND_CUPTI_DROPPED", "1234")
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityGetNextRecord=21+4")
    collection, found = collect(pretended_cupti)
    assert found.unified_memory + len(found.kernels) == 3
    assert any("1,234" in gap for gap in collection.gaps)
    assert any("incomplete" in gap for gap in collection.gaps)


@pytest.mark.parametrize(
    ("result", "cure"), [(28, "/dev/nvidia-uvm-tools"), (35, "NVreg_RestrictProfiling")]
)
def test_kernels_are_timed_alone(pretended_cupti, monkeypatch, tmp_path, result, cure):
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write(RUN, tmp_path / "r")))
    monkeypatch.setenv(
        "PRETEND_CUPTI_REFUSES", f"cuptiActivityConfigureUnifiedMemoryCounter={result}"
    )
    collection, found = collect(pretended_cupti)
    assert f"({result})" in collection.refused and cure in collection.refused
    assert (len(found.kernels), found.unified_memory) == (2, 0)


def test_fewer_counters_where_not_all_are_known(pretended_cupti, monkeypatch):
    # The first call with all of them is refused, the second one with fewer is not.
    calls = []
    library = Cupti.load(pretended_cupti)
    ask = library.result

    def result(name, *arguments):
        if name == "cuptiActivityConfigureUnifiedMemoryCounter":
            calls.append(arguments[1])
            return 1 if len(calls) == 1 else ask(name, *arguments)
        return ask(name, *arguments)

    monkeypatch.setattr(library, "result", result)
    collection = Collection(library, Buffers(1, 1024))
    collection.start()
    assert calls == [6, 4] and collection.refused == ""


def test_a_refusal_of_everything_is_an_error(pretended_cupti, monkeypatch):
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityEnable=35")
    with pytest.raises(CuptiError, match=r"INSUFFICIENT_PRIVILEGES \(35\)[^$]*run as root"):
        collect(pretended_cupti)


def test_a_record_that_cannot_be_is_told_and_left_out(pretended_cupti, monkeypatch, tmp_path):
    records = [packed.to_device(0, ASKED, 100, 200), *RUN, packed.counter(30, 1, 100)]
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write(records, tmp_path / "r")))
    collection, found = collect(pretended_cupti)
    assert (len(found.kernels), found.unified_memory) == (2, 4)
    (gap,) = collection.gaps
    assert gap.startswith("2 records were left out") and "a migration of no bytes" in gap


@pytest.mark.parametrize("version", [12, 17, 140000])
def test_unknown_versions_are_refused(pretended_cupti, monkeypatch, version):
    monkeypatch.setenv("PRETEND_CUPTI_VERSION", str(version))
    with pytest.raises(CuptiError, match=f"version {version} of CUPTI is not known"):
        Cupti.load(pretended_cupti)


def test_what_is_no_cupti_is_refused(tmp_path):
    (tmp_path / "libcupti.so").write_text("no library")
    with pytest.raises(CuptiError, match="cannot be used as CUPTI"):
        Cupti.load(str(tmp_path / "libcupti.so"))
    with pytest.raises(CuptiError, match="cannot be used as CUPTI"):
        Cupti.load("libc.so.6")


def test_the_library_is_found_in_a_toolkit(monkeypatch, tmp_path):
    folder = tmp_path / "extras" / "CUPTI" / "lib64"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.13").touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert cupti.find() == str(folder / "libcupti.so.13")


def test_a_missing_library_is_said(monkeypatch):
    monkeypatch.setattr(cupti, "_candidates", lambda: iter(()))
    monkeypatch.setattr(cupti, "_NAMES", ("libcupti-that-is-nowhere.so",))
    with pytest.raises(CuptiError, match="pip install nvidia-cuda-cupti"):
        cupti.find()
