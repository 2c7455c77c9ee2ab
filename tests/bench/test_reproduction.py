"""The paper's evaluation: what is measured, how records are put together, and what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.harness import Options, summary
from bench.reproduction import __main__ as command_line
from bench.reproduction import measure as measuring
from bench.reproduction import plots
from bench.reproduction.document import with_tables
from bench.reproduction.measure import Selection, measure
from bench.reproduction.records import Record, RecordError, merge, read
from bench.reproduction.tables import tables
from bench.reproduction.workloads import NAMES, parse_workloads

RESULTS = Path(__file__).parents[2] / "bench" / "results"
HEAD = {
    "benchmark": "reproduction",
    "date": "2026-01-01T00:00:00+00:00",
    "machine": {"backend": "cuda", "device": "a GPU"},
    "versions": {"sharedoa": "1"},
    "settings": {"full": True, "inputs": [], "repeat": 2},
    "failures": [],
}


def row(workload, mode, *milliseconds, figure="6", **more):
    return {
        "figure": figure, "workload": workload, "mode": mode, "objects": 100, "regions": 2,
        "bytes_an_object": 24.0, "counts": {"hits": 7}, **more,
        **summary([each / 1000 for each in milliseconds]),
    }  # fmt: skip


def saved(folder, name, rows, **head):
    file = folder / name
    file.write_text(json.dumps({**HEAD, **head, "rows": rows}))
    return file


def table(rows, title):
    (found,) = [each for each in tables(Record(HEAD, rows)) if each.title.startswith(title)]
    return {line[0]: dict(zip(found.headings[1:], line[1:], strict=True)) for line in found.rows}


# ------------------------------------------------------------------------- measuring


def test_names_of_workloads():
    assert parse_workloads("traf, BFS (vE),bfs-ven,TRAF") == ("TRAF", "BFS (vE)", "BFS (vEN)")
    assert parse_workloads(",".join(NAMES)) == NAMES
    with pytest.raises(ValueError, match=r"BFS: the workloads are TRAF, .*BFS \(vE\)"):
        parse_workloads("TRAF,BFS")
    with pytest.raises(ValueError, match="no name"):
        parse_workloads(",")


def test_only_the_selected_part_is_measured(tmp_path):
    options = Options(backend="cpu", out=tmp_path, repeat=2, modes=("cuda", "coal", "sharedoa"))
    result = measure(options, Selection(("STUT", "RAY"), ("figure6", "natural")))
    found = {(r["figure"], r["workload"], r["mode"]) for r in result.rows}
    assert found == {
        ("6", "STUT", "cuda"), ("6", "STUT", "coal"), ("6", "STUT", "sharedoa"),
        ("6", "RAY", "cuda"), ("6", "RAY", "coal"), ("6", "RAY", "sharedoa"),
        # Objects placed one by one are no part of the comparison of natural ports.
        ("natural", "STUT", "coal"), ("natural", "STUT", "sharedoa"),
        ("natural", "RAY", "coal"), ("natural", "RAY", "sharedoa"),
    }  # fmt: skip
    assert result.failures == []
    assert all(len(r["samples"]) == 2 for r in result.rows)
    assert {r["timer"] for r in result.rows} == {result.settings["timer"]} == {"events"}
    for each in result.rows:
        assert set(each["launches"]) == set(each["kernels"]) == set(each["call_sites"])
    by_key = {(r["figure"], r["workload"], r["mode"]): r for r in result.rows}
    # The paper's table 2: 40 call sites in the structure, two kinds of objects under two bases.
    structure = by_key["6", "STUT", "sharedoa"]
    assert structure["types"] == {"abstract": 2, "concrete": 2}
    assert sum(sum(d.values()) for d in structure["call_sites"].values()) == 40
    assert structure["launches"]["kernel_Node_move"] == 2 * 40
    # The ray tracer's loops call one object for a whole warp, its shading does not.
    (sites,) = by_key["6", "RAY", "coal"]["call_sites"].values()
    assert sorted(sites.values()) == [1, 2]
    assert "types" not in by_key["6", "RAY", "cuda"]


def test_every_workload_is_recorded_at_once(monkeypatch, tmp_path):
    def ended():
        raise KeyboardInterrupt

    options = Options(backend="cpu", out=tmp_path, repeat=1, modes=("sharedoa",))
    rows = [("first", lambda: row("TRAF", "sharedoa", 1.0)), ("second", ended)]
    monkeypatch.setattr(measuring, "_rows", lambda *arguments: iter(rows))
    with pytest.raises(KeyboardInterrupt):
        measure(options, Selection())
    (file,) = tmp_path.iterdir()
    assert [r["workload"] for r in read(file).rows] == ["TRAF"]


def test_different_counts_are_failures(monkeypatch, tmp_path):
    given = [
        ("first", lambda: row("TRAF", "sharedoa", 1.0)),
        ("natural", lambda: row("TRAF", "sharedoa", 1.0, figure="natural", counts={"hits": 8})),
        ("second", lambda: row("TRAF", "coal", 1.0, counts={"hits": 6})),
    ]
    monkeypatch.setattr(measuring, "_rows", lambda *arguments: iter(given))
    result = measure(Options(backend="cpu", out=tmp_path), Selection())
    (failure,) = result.failures
    assert failure.startswith("second: the counts are {'hits': 6}, in mode sharedoa {'hits': 7}")


def test_the_first_region_can_be_chosen(tmp_path):
    options = Options(backend="cpu", out=tmp_path, repeat=1, modes=("coal",))
    result = measure(options, Selection(("STUT",), ("figure10",)))
    small, large = result.rows
    assert small["initial_region"] < large["initial_region"]
    assert small["external_fragmentation"] < large["external_fragmentation"]


# ------------------------------------------------------------------------- records


def test_samples_of_several_calls_are_joined(tmp_path):
    first = saved(tmp_path, "b.json", [row("TRAF", "cuda", 5.0), row("TRAF", "sharedoa", 2.0, 4.0)])
    later = {"date": "2026-01-02T00:00:00+00:00", "failures": ["one"]}
    second = saved(
        tmp_path, "a.json", [row("TRAF", "sharedoa", 1.0), row("TRAF", "coal", 3.0)], **later
    )
    found = merge([second, first])
    assert [(r["mode"], r["samples"]) for r in found.rows] == [
        ("cuda", [0.005]), ("sharedoa", [0.002, 0.004, 0.001]), ("coal", [0.003]),
    ]  # fmt: skip
    assert found.rows[1]["median"] == 0.002
    assert (found.rows[1]["min"], found.rows[1]["max"]) == (0.001, 0.004)
    assert found.head["failures"] == ["one"]
    assert found.head["dates"] == [HEAD["date"], later["date"]]


@pytest.mark.parametrize(
    "other",
    [
        {"machine": {"backend": "cuda", "device": "another GPU"}},
        {"versions": {"sharedoa": "2"}},
        {"settings": {"full": False, "inputs": [], "repeat": 2}},
        {"environment": {"SHAREDOA_REFERENCES": "32"}},
    ],
)
def test_records_that_do_not_belong_together(other, tmp_path):
    rows = [row("TRAF", "sharedoa", 1.0)]
    files = [saved(tmp_path, "a.json", rows), saved(tmp_path, "b.json", rows, **other)]
    with pytest.raises(RecordError, match=r"differ in (device|versions|settings|environment)"):
        merge(files)


def test_times_of_different_timers_are_not_put_together(tmp_path):
    by_cupti = saved(tmp_path, "a.json", [row("TRAF", "sharedoa", 1.0, timer="cupti")])
    for name, rows in (
        ("same", [row("TRAF", "sharedoa", 1.0)]),
        # Beside each other in a table they would be compared.
        ("another", [row("TRAF", "coal", 1.0, timer="events")]),
    ):
        with pytest.raises(RecordError, match=r"a\.json by cupti, .*\.json by events"):
            merge([by_cupti, saved(tmp_path, f"{name}.json", rows)])
    # Records before there were two ways are by events; counters have no times.
    old = saved(tmp_path, "old.json", [row("TRAF", "sharedoa", 1.0)])
    new = saved(tmp_path, "new.json", [row("TRAF", "sharedoa", 2.0, timer="events")])
    assert merge([old, new]).rows[0]["samples"] == [0.001, 0.002]
    counted = {"figure": "counters", "workload": "TRAF", "mode": "sharedoa", "counters": {}}
    assert len(merge([by_cupti, saved(tmp_path, "counted.json", [counted])]).rows) == 2


@pytest.mark.parametrize("other", [{"counts": {"hits": 8}}, {"bytes_an_object": 16.0}])
def test_results_of_different_programs_are_not_joined(other, tmp_path):
    files = [
        saved(tmp_path, "a.json", [row("TRAF", "sharedoa", 1.0)]),
        saved(tmp_path, "b.json", [row("TRAF", "sharedoa", 1.0, **other)]),
    ]
    with pytest.raises(RecordError, match=r"figure 6 TRAF sharedoa: .* different programs"):
        merge(files)


@pytest.mark.parametrize("text", ["", "[]", '{"rows": []}', '{"benchmark": "x", "rows": []}'])
def test_files_that_are_no_records(text, tmp_path):
    file = tmp_path / "record.json"
    file.write_text(text)
    with pytest.raises(RecordError, match=r"record\.json is"):
        read(file)
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path / "none.json")


# ------------------------------------------------------------------------- tables


def test_speeds_and_means():
    rows = [
        row("TRAF", "sharedoa", 10.0), row("TRAF", "coal", 5.0), row("TRAF", "cuda", 40.0),
        row("GOL", "sharedoa", 10.0), row("GOL", "coal", 20.0, 80.0, 10.0),
    ]  # fmt: skip
    speeds = table(rows, "Figure 6: speed")
    assert speeds["GOL"] == {"`cuda`": None, "`sharedoa`": "1.00", "`coal`": "0.50"}
    assert speeds["geometric mean"]["`coal`"] == "1.000"
    assert speeds["geometric mean"]["`cuda`"] == "0.250 of 1"
    assert table(rows, "Figure 6: shortest")["GOL"]["`coal`"] == "10.0 to 80.0 (3)"
    # Beside them what the artifact took on the same card.
    assert table(rows, "Figure 6: kernels")["TRAF"]["`coal`"] == "5.00 (1588)"


def test_ratios_of_the_paper():
    rows = [
        row("TRAF", "sharedoa", 10.0), row("TRAF", "cuda", 20.0),
        row("RAY", "sharedoa", 10.0), row("RAY", "cuda", 45.0), row("RAY", "concord", 9.0),
    ]  # fmt: skip
    ratios = table(rows, "Ratios")
    assert ratios["`sharedoa` over `cuda`"] == {
        "ours": "3.000", "least to most": "2.00 to 4.50", "workloads": "2",
        "artifact, H200": "1.344", "paper, V100": "1.70",
    }  # fmt: skip
    assert ratios["`concord` over `cuda`"]["ours"] == "5.000"
    # The artifact's own means on that card, as they were published with the times.
    artifact = {name: cells["artifact, H200"] for name, cells in ratios.items()}
    assert artifact["`coal` over `sharedoa`"] == "0.859"
    assert artifact["`typepointer` over `sharedoa`"] == "1.025"


def test_orders_of_natural_and_faithful_ports():
    natural = [
        row("TRAF", mode, milliseconds, figure="natural")
        for mode, milliseconds in (("sharedoa", 3.0), ("coal", 2.0), ("typepointer", 1.0))
    ]
    faithful = [
        row("TRAF", mode, milliseconds)
        for mode, milliseconds in (("sharedoa", 1.0), ("coal", 2.0), ("typepointer", 3.0))
    ]
    cells = table(natural + faithful, "Order")["TRAF"]
    assert cells["natural, fastest first"] == "`typepointer`, `coal`, `sharedoa`"
    assert cells["faithful, fastest first"] == "`sharedoa`, `coal`, `typepointer`"
    assert cells["Spearman's rho"] == "-1.00"
    assert table(natural, "Order")["TRAF"]["Spearman's rho"] is None


def test_markdown():
    (found, *_) = tables(Record(HEAD, [row("RAY", "sharedoa", 1.0)]))
    assert found.markdown() == [
        "| workload | objects | types | call sites | `sharedoa` |",
        "| --- | --- | --- | --- | --- |",
        "| RAY | 100 (1,000) |  |  | 24.0 |",
    ]


def test_tables_of_a_document_are_replaced():
    record = Record(HEAD, [row("RAY", "sharedoa", 1.0)])
    (made,) = [each for each in tables(record) if each.title.startswith("Ratios")]
    text = f"""# Title

{made.heading}

Before.

| old | table |
| --- | --- |

After.

## Another

| other | table |
"""
    found = with_tables(text, [made])
    assert found == text.replace("| old | table |\n| --- | --- |", "\n".join(made.markdown()))
    assert with_tables(found, [made]) == found
    # A section without one gets it below its prose, a document without a section gets one.
    empty = f"{made.heading}\n\nBefore.\n\n## Another\n"
    filled = with_tables(empty, [made])
    table = "\n".join(made.markdown())
    assert filled == f"{made.heading}\n\nBefore.\n\n{table}\n\n## Another\n"
    assert with_tables("# Title\n", [made]) == f"# Title\n\n{made.heading}\n\n{table}\n"


# ------------------------------------------------------------------------- the command line


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["reproduction", *map(str, arguments)])
    command_line.main()


def test_records_with_another_head_or_rows(tmp_path):
    for change, missing in (
        ({"benchmark": ["reproduction"]}, "benchmark"),
        ({"date": None}, "date"),
        ({"versions": []}, "versions"),
        ({"machine": "a GPU"}, "machine"),
        ({"machine": {"device": "a GPU"}}, "backend"),
        ({"settings": {"full": True}}, "inputs"),
        ({"failures": "none"}, "failures"),
    ):
        with pytest.raises(RecordError, match=missing):
            read(saved(tmp_path, "record.json", [], **change))
    for text, missing in (
        ("null", "rows"),
        ("{}", "rows"),
        ("[7]", "row 0 has no figure"),
        ('[{"workload": "RAY"}]', "row 0 has no figure"),
    ):
        with pytest.raises(RecordError, match=missing):
            read(saved(tmp_path, "record.json", json.loads(text)))
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(RecordError, match="no benchmark"):
        read(tmp_path / "list.json")


@pytest.mark.parametrize("command", ["measure", "counters"])
def test_labels_and_folders_are_checked_before_anything_runs(
    monkeypatch, tmp_path, capsys, command
):
    monkeypatch.setattr(command_line, "measure", lambda *given: pytest.fail("it ran"))
    monkeypatch.setattr(command_line, "find", lambda: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as ended:
        call(monkeypatch, command, "--label", "../elsewhere")
    assert (
        ended.value.code == 2 and "'../elsewhere' has other characters" in capsys.readouterr().err
    )
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SystemExit, match="no folder that can be written to"):
        call(monkeypatch, command, "--out", file)


def test_parts_merged_shown_and_drawn(monkeypatch, tmp_path, capsys):
    shared = ("--backend", "cpu", "--repeat", 2, "--modes", "sharedoa,coal", "--out", tmp_path)
    for workload in ("ray", "stut"):
        call(
            monkeypatch, "measure", *shared, "--parts", "figure6,figure10",
            "--workloads", workload, "--label", workload,
        )  # fmt: skip
    parts = sorted(tmp_path.glob("reproduction-*.json"))
    assert len(parts) == 2
    merged = tmp_path / "all.json"
    call(monkeypatch, "merge", merged, *parts)
    assert {r["workload"] for r in read(merged).rows} == {"RAY", "STUT"}
    capsys.readouterr()
    call(monkeypatch, "tables", merged)
    printed = capsys.readouterr().out
    assert "## Figure 6: kernels, ms" in printed and "\n| STUT | " in printed
    # No artifact ran on this machine.
    assert "24.8" not in printed
    call(monkeypatch, "plots", tmp_path / "plots", merged)
    assert {f.name for f in (tmp_path / "plots").iterdir()} == {"figure-6.png", "figure-10.png"}


def test_a_part_does_not_replace_another(monkeypatch, tmp_path):
    options = ("--backend", "cpu", "--repeat", 1, "--modes", "sharedoa", "--parts", "figure6")
    part = ("measure", *options, "--workloads", "RAY", "--out", tmp_path)
    call(monkeypatch, *part)
    with pytest.raises(SystemExit, match="exists: give another --label"):
        call(monkeypatch, *part)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("measure", "--workloads", "FOO"), "FOO: the workloads are TRAF"),
        (("counters", "--steps", "0"), "0 is no number from 1 on"),
        (("measure", "--parts", "figure7"), "no part figure7: figure6, figure10, natural"),
    ],
)
def test_wrong_names(arguments, said, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, *arguments)
    assert said in capsys.readouterr().err


def test_nothing_selected(monkeypatch, tmp_path):
    part = ("measure", "--backend", "cpu", "--modes", "header+vtable", "--out", tmp_path)
    with pytest.raises(SystemExit, match="nothing was selected"):
        call(monkeypatch, *part)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------- plots


@pytest.mark.slow
def test_plots_of_the_committed_records(tmp_path):
    record = merge([max(RESULTS.glob("reproduction-nvidia-h200-*.json"))])
    calls = max(RESULTS.glob("virtual-call-nvidia-h200-*.json"))
    files = plots.draw(record, calls, tmp_path)
    names = {file.stem for file in files}
    assert {"figure-6", "figure-10", "figure-12a", "figure-12b"} <= names
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size < 150_000
    (again,) = plots.draw(Record(record.head, record.of("10")), None, tmp_path / "again")
    assert again.read_bytes() == (tmp_path / "figure-10.png").read_bytes()


def test_figure_12_needs_a_record_of_calls(tmp_path):
    record = Record(HEAD, [row("RAY", "sharedoa", 1.0)])
    with pytest.raises(RecordError, match="no record of virtual_call"):
        plots.draw(record, saved(tmp_path, "a.json", []), tmp_path)
