"""Events of unified memory: parts of a run, sweeps, faults by kernel, and the whole on a CPU with a
library that stands in for CUPTI."""

from __future__ import annotations

import ctypes
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.common.phases import watched
from apps.interface import RunOptions
from apps.registry import APPS
from bench import page_migrations
from bench.cupti.kernel_records import KernelRun
from bench.harness import Options, Result, write
from bench.page_migrations import control
from bench.page_migrations.analysis import (
    FEW_PAGES,
    Attribution,
    longest_sweep,
    rows_of_kernels,
    rows_of_parts,
)
from bench.page_migrations.cases import CONTROL, IN_BOTH_FLAVOURS, Case, cases
from bench.page_migrations.phases import PARTS, Boundaries, PhaseClock
from bench.page_migrations.records import Migration, Records
from bench.page_migrations.report import page_by_page, report
from sharedoa.errors import ArgumentError

from . import packed_records as packed
from .packed_records import ASKED, BASE, FAULT, PAGE, RUN, read

BOUNDARIES = Boundaries(steps_begin=5000, first_ends=6000, steps_end=9000)

# ------------------------------------------------------------------------- parts of a run


def test_parts_of_a_run():
    times = iter(range(1000, 20_000, 1000))
    waited = []
    clock = PhaseClock(lambda: next(times), lambda: waited.append(1))
    for phase in ("objects", None, "first step", None, "run", None, "run", None):
        clock(phase)
    assert len(waited) == 8
    found = clock.boundaries()
    assert found == Boundaries(3000, 4000, 8000)
    moments = (0, 2999, 3000, 3999, 4000, 7999, 8000, 10**9)
    assert [found.part(moment) for moment in moments] == [p for p in PARTS for _ in range(2)]


def test_a_run_without_a_step_is_refused():
    clock = PhaseClock(lambda: 1, lambda: None)
    clock("objects")
    with pytest.raises(AssertionError, match="no step"):
        clock.boundaries()


@pytest.mark.parametrize(("program", "size"), [("traffic", 4), ("bfs", 40), ("scalability", 64)])
def test_programs_tell_of_their_phases(program, size):
    heard: list[str | None] = []
    options = RunOptions(size=size, steps=2, backend="python")
    with watched(heard.append):
        APPS[program].run(options)
    first = heard.index("first step")
    assert "objects" in heard[:first] and "run" in heard[first:]
    assert heard[1::2] == [None] * (len(heard) // 2)
    APPS[program].run(options)
    assert heard.count("first step") == 1, "only in the block"


def test_which_programs_have_two_flavours():
    small = {"routes": 40, "scalability": 64}
    for name, app in APPS.items():
        if name in IN_BOTH_FLAVOURS:
            continue
        options = RunOptions(size=small.get(name, 40), steps=1, backend="python")
        try:
            natural = app.run(RunOptions(**{**vars(options), "natural": True})).counts
        except ArgumentError:
            continue
        assert natural == app.run(options).counts, f"{name} has two flavours"


def test_all_programs_are_run_in_their_flavours():
    found = cases(full=False)
    assert found[0] == Case(CONTROL)
    assert {case.program for case in found[1:]} == set(APPS)
    assert {c.program for c in found if c.natural} == set(IN_BOTH_FLAVOURS)
    traffic = APPS["traffic"]
    full = cases(full=True, programs=("traffic",))
    assert [str(case) for case in full] == ["control", "traffic faithful", "traffic natural"]
    assert full[1].size == traffic.paper_size and full[1].steps == traffic.paper_steps


# -------------------------------------------------------------------------------- analysis


def migrations(*places, direction="to host", cause="fault"):
    return [Migration(direction, cause, BASE + PAGE * p, PAGE, 100, 200) for p in places]


def test_sweeps():
    assert longest_sweep([]) == 0
    assert longest_sweep(migrations(5)) == 1
    assert longest_sweep(migrations(3, 1, 2)) == 3
    # The same page again and again is no walk through memory.
    assert longest_sweep(migrations(*[7] * 100)) == 1
    assert longest_sweep(migrations(1, 2, 4, 5, 6)) == 3
    assert longest_sweep(migrations(1, 2) + migrations(3, 4, direction="to device")) == 2
    assert longest_sweep(migrations(*range(50), cause="asked for")) == 0
    whole = Migration("to host", "beside a fault", BASE, 4 * PAGE, 100, 200)
    assert longest_sweep([whole, *migrations(4)]) == 2


@given(st.sets(st.integers(0, 60)))
def test_a_sweep_is_the_longest_row_of_neighbours(pages):
    rows, length = [0], 0
    for page in range(61):
        length = length + 1 if page in pages else 0
        rows.append(length)
    assert longest_sweep(migrations(*pages)) == max(rows)


spans = st.tuples(st.integers(0, 60), st.integers(0, 15)).map(lambda s: (s[0], s[0] + s[1]))


@given(st.lists(spans, max_size=12), spans)
def test_the_kernel_that_ran_for_most_of_the_time(runs, event):
    attribution = Attribution(KernelRun("k", start, end) for start, end in runs)

    def shared(run):
        return min(event[1], run.end) - max(event[0], run.start)

    found = attribution.index(*event)
    possible = [shared(run) for run in attribution.runs if shared(run) >= 0]
    if found is None:
        assert not possible
    else:
        assert shared(attribution.runs[found]) == max(possible)


moments = st.integers(1, 12_000)
moved = st.builds(
    lambda direction, cause, page, pages, start: Migration(
        direction, cause, BASE + page * PAGE, pages * PAGE, start, start + 50
    ),
    st.sampled_from(["to host", "to device"]),
    st.sampled_from(["asked for", "fault", "beside a fault", "eviction"]),
    st.integers(0, 100),
    st.integers(1, 512),
    moments,
)


@given(st.lists(moved, max_size=30))
def test_every_byte_is_in_one_part(found):
    parts = rows_of_parts(Records(migrations=found), BOUNDARIES)
    assert [row["part"] for row in parts] == list(PARTS)
    rows = [m for part in parts for m in part["migrations"]]
    assert sum(m["count"] for m in rows) == len(found)
    assert sum(m["bytes"] for m in rows) == sum(m.bytes for m in found)
    for m in rows:
        assert sum(size * count for size, count in m["sizes"].items()) == m["bytes"]


def test_page_by_page_is_more_than_one_small_access():
    few, more = migrations(*range(FEW_PAGES)), migrations(*range(FEW_PAGES + 1))
    assert not rows_of_parts(Records(migrations=few), BOUNDARIES)[0]["page_by_page"]
    (before, *others) = rows_of_parts(Records(migrations=more), BOUNDARIES)
    assert before["page_by_page"] and before["longest_sweep"] == FEW_PAGES + 1
    assert not any(part["page_by_page"] for part in others)


def test_faults_are_told_by_kernel():
    a, b = ctypes.create_string_buffer(b"kernel_a"), ctypes.create_string_buffer(b"kernel_b")
    records = read(
        *(
            packed.kernel(ctypes.addressof(name), start, end)
            for name, start, end in [
                (a, 5100, 5500), (b, 5500, 5600), (a, 6100, 6110), (a, 6200, 6230), (b, 9100, 9200),
            ]
        ),
        packed.gpu_fault(2, 5150, 5200),
        packed.gpu_fault(5, 5490, 5520, BASE + PAGE),
        packed.to_device(PAGE, FAULT, 5210, 5220),
        packed.to_device(2 << 20, ASKED, 6205, 6215),
        packed.gpu_fault(1, 8000, 8010),
    )  # fmt: skip
    first, second, outside = rows_of_kernels(records, BOUNDARIES)
    assert first["kernel"] == "kernel_a"
    assert first["launches"] == {"first step": 1, "later steps": 2}
    assert (first["gpu_fault_groups"], first["launches_with_faults"]) == (2, 1)
    assert (first["unasked_migrations"], first["unasked_bytes"]) == (1, PAGE)
    assert first["first"] == first["max"] == first["median_with_faults"] == pytest.approx(400e-9)
    assert first["later_median"] == first["median_without_faults"] == pytest.approx(20e-9)
    assert second["kernel"] == "kernel_b" and second["gpu_fault_groups"] == 5
    assert second["launches"] == {"first step": 1, "after": 1}
    assert outside == {
        "kernel": None, "gpu_fault_groups": 1, "unasked_migrations": 0, "unasked_bytes": 0,
    }  # fmt: skip


# -------------------------------------------------------------------------------- control


def test_the_control_walks_with_and_without_asking():
    pretend = pytest.importorskip("tests.backends.pretend_driver")
    from sharedoa.backends.cuda_device import CudaDevice

    driver, phases = pretend.PretendDriver(), []
    context = CudaDevice(driver=driver)
    del driver.calls[:]
    control.walk(context, lambda phase: phases.append((phase, len(driver.calls))))
    assert [phase for phase, _ in phases] == ["first step", None, "run", None]
    first, asked = (
        [name for name, _ in driver.calls[phases[i][1] : phases[i + 1][1]] if "cuMem" in name]
        for i in (0, 2)
    )
    assert first == ["cuMemsetD8Async"]
    assert len(asked) == 3 and asked[2] == "cuMemsetD8Async"
    assert all(name.startswith("cuMemPrefetchAsync") for name in asked[:2])
    assert driver.calls[-1][0] == "cuMemFree"
    assert (driver.memory[0][::PAGE] == 2).all()


def control_rows(swept, asked):
    """Rows of walks: what moved in the first step, and in the later ones."""
    faults = [*swept, *([packed.cpu_fault(5100), packed.gpu_fault(1, 5200, 5300)] if swept else [])]
    return rows_of_parts(read(*faults, *asked), BOUNDARIES)


def test_what_the_control_should_show():
    sweep = [packed.to_host(PAGE, FAULT, 5050, 5060, BASE + PAGE * page) for page in range(40)]
    again = [packed.to_host(PAGE, FAULT, 7050, 7060, BASE + PAGE * page) for page in range(40)]
    asked = [packed.to_device(2 << 20, ASKED, 7000, 7100)]
    assert control.complaints(control_rows(sweep, asked)) == []
    assert len(control.complaints(control_rows([], asked))) == 3
    assert len(control.complaints(control_rows(sweep, []))) == 1
    assert len(control.complaints(control_rows(sweep, again + asked))) == 1


# -------------------------------------------------------------------------------- the whole

SMALL = Case("scalability", False, 256, 3)


def test_a_run_is_recorded_and_shown(pretended_cupti, monkeypatch, tmp_path, capsys):
    # The clock of the library shows 5000 when the first step begins, 6000 when it has ended.
    sweep = [packed.to_host(PAGE, FAULT, 6500, 6600, BASE + PAGE * page) for page in range(30)]
    records = packed.write([*RUN, *sweep], tmp_path / "r")
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(records))
    result = Result("page-migrations", "cpu", {})
    page_migrations.measure(result, pretended_cupti, [SMALL], full=False)
    assert result.failures == []
    (row,) = json.loads(write(result, tmp_path).read_text())["rows"]
    assert (row["program"], row["flavour"], row["steps"]) == ("scalability", "faithful", 3)
    assert row["counts"]["elements"] == 256 and row["cupti"] == 130001
    before, first, later, after = row["parts"]
    assert before["migrations"] == [
        {"direction": "to device", "cause": "asked for", "count": 1, "bytes": 2 << 20,
         "sizes": {str(2 << 20): 1}},
    ]  # fmt: skip
    assert (first["cpu_faults"], first["gpu_fault_groups"], first["migrations"]) == (1, 2, [])
    assert later["longest_sweep"] == 30 and later["page_by_page"]
    assert after["migrations"][0]["bytes"] == PAGE and not after["page_by_page"]
    assert [kernel["kernel"] for kernel in row["kernels"]] == ["kernel_a", "kernel_b", None]
    assert row["kernels"][0]["gpu_fault_groups"] == 2
    assert page_by_page([row]) == ["scalability faithful, later steps"]
    report([row], all_kernels=False)
    shown = capsys.readouterr().out
    assert "page by page: scalability faithful, later steps" in shown
    assert "kernel_a" in shown and "kernel_b" not in shown
    # 31 pages moved by themselves, 2 MiB because they were asked for.
    (asked,) = (line for line in shown.splitlines() if " asked for  " in line)
    (faulted,) = (line for line in shown.splitlines() if " fault  " in line)
    assert asked.split()[-6:] == ["0", "0", "0", "1", "0", "2"]
    assert faulted.split()[-6:-1] == ["31", "0", "0", "0", "0"]
    report([row], all_kernels=True)
    assert "kernel_b" in capsys.readouterr().out


def test_refused_counts_leave_the_times_of_kernels(pretended_cupti, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PRETEND_CUPTI_RECORDS", str(packed.write(RUN, tmp_path / "r")))
    monkeypatch.setenv("PRETEND_CUPTI_REFUSES", "cuptiActivityConfigureUnifiedMemoryCounter=28")
    result = Result("page-migrations", "cpu", {})
    page_migrations.measure(result, pretended_cupti, [SMALL, SMALL], full=False)
    (failure,) = result.failures
    assert "nvidia-uvm-tools" in failure
    assert len(result.rows) == 2
    assert [kernel["kernel"] for kernel in result.rows[0]["kernels"]] == ["kernel_a", "kernel_b"]
    report(result.rows, all_kernels=False)
    shown = capsys.readouterr().out
    assert "kernel_b" in shown
    assert "page by page: not counted: scalability faithful" in shown


def test_failures_are_told(pretended_cupti, monkeypatch, tmp_path):
    result = Result("page-migrations", "cpu", {})
    page_migrations.measure(result, pretended_cupti, [SMALL], full=False)
    assert result.failures == ["scalability faithful: there is no record of unified memory at all"]
    monkeypatch.setenv("PRETEND_CUPTI_VERSION", "99999")
    page_migrations.measure(result, pretended_cupti, [SMALL], full=False)
    assert "version 99999 of CUPTI is not known" in result.failures[1]
    monkeypatch.setattr(page_migrations, "_LIMIT", 0.05)
    page_migrations.measure(result, pretended_cupti, [SMALL], full=False)
    assert "did not end within 0.05 s" in result.failures[2]
    assert len(result.rows) == 1


def test_without_a_gpu_it_says_so_and_records_nothing(capsys):
    result = page_migrations.run(Options(backend="cpu"))
    assert not result.rows and not result.failures
    assert "counts what happens on an NVIDIA GPU" in capsys.readouterr().out


@pytest.mark.gpu
def test_on_a_gpu_the_control_shows_what_was_done(tmp_path):
    result = page_migrations.run(Options(backend="cuda", out=tmp_path), ("scalability",))
    if any("unified memory is not counted" in failure for failure in result.failures):
        pytest.skip("the driver does not tell of unified memory")
    assert result.failures == []
    assert [row["program"] for row in result.rows] == [CONTROL, "scalability"]
    assert any(kernel["kernel"] for kernel in result.rows[1]["kernels"])
