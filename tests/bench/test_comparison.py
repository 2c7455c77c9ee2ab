"""The comparison runs where little is installed, says what it left out, and checks every result."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict

import numpy as np
import pytest

import sharedoa as oa
from bench.comparison import __main__ as command_line
from bench.comparison import cases, inputs, program, run, scene, toolset, user_lines, worker
from bench.comparison.__main__ import main
from bench.comparison.cases import (
    CALL_EACH,
    FEW_OBJECTS,
    INTERLEAVED,
    LIFE,
    MICROBENCHMARK,
    OBJECT_GRAPH,
    POPULATION,
    RANDOM,
    RAYS,
    SORTED,
    TRAFFIC,
    WORKLOADS,
    Case,
)
from bench.comparison.charts import Bar, bars
from bench.comparison.records import RecordError, join, read
from bench.comparison.report import page
from bench.comparison.tables import tables
from bench.comparison.tools import cuda_cxx, numpy_tool, sharedoa_tool, traffic
from bench.harness import Result, write, write_record
from bench.peers import cuda_programs
from bench.reproduction import document as document_writer

TINY = (
    Case(FEW_OBJECTS, 128, 9, 3, RANDOM),
    Case(CALL_EACH, 128, 128, 1, INTERLEAVED),
    Case(CALL_EACH, 128, 128, 4, POPULATION),
    Case(CALL_EACH, 128, 128, 4, RANDOM),
    Case(OBJECT_GRAPH, 128, 128, 4, RANDOM),
    Case(LIFE, 144, 144, 2),
    Case(RAYS, 144, 9, 2),
)


def measured(found: program.Found) -> list[program.Measurement]:
    """All of ``found``, which was measured."""
    samples = [each for each in found if isinstance(each, program.Measurement)]
    assert samples
    return samples


def named(case: Case) -> str:
    return f"{case.workload} {case.types} {case.order}"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """One small run by the command line, and the output of the run."""
    out = tmp_path_factory.mktemp("record")
    given = ["--backend", "cpu", "--out", str(out), "--repeat", "2", "--label", "part"]
    tools = "copy,BRANCH,sharedoa,CUDA C++,Dr.Jit,NumPy"
    chosen = f"{MICROBENCHMARK},{OBJECT_GRAPH},{LIFE}"
    with pytest.MonkeyPatch.context() as patch:
        # As where it is not installed.
        patch.setenv("PEER_DRJIT_PYTHON", "no-such-python")
        main(["run", *given, "--tools", tools, "--workloads", chosen])
    (file,) = out.glob("*.json")
    return file


def test_one_command_leaves_a_record_and_a_page(record):
    found = json.loads(record.read_text())
    assert found["benchmark"] == "comparison-part" and found["failures"] == []
    rows = [row for row in found["rows"] if "samples" in row]
    assert {row["tool"] for row in rows} == {"copy", "BRANCH", "sharedoa", "NumPy"}
    for row in rows:
        assert min(row["samples"]) > 0
        assert row["lower_quartile"] <= row["median"] <= row["upper_quartile"]
    ours = [row for row in rows if row["tool"] == "sharedoa"]
    assert all(row["lines"] > 10 and row["host"] is None for row in ours)
    micro = {row["variant"] for row in ours if row["workload"] == MICROBENCHMARK}
    assert {"cuda, aos", "coal, tile", "auto, tile", "auto, aos"} <= micro and len(micro) > 20
    text = next(record.parent.glob("*.html")).read_text()
    assert text.count("<svg") == 4 and "http" not in text.replace("http://www.w3.org", "")


def test_what_is_missing_is_a_row_with_the_reason(record):
    rows = json.loads(record.read_text())["rows"]
    reasons = {row["tool"]: row["not_measured"] for row in rows if "samples" not in row}
    assert reasons["CUDA C++"] == "needs an NVIDIA GPU"
    assert "no-such-python cannot be run" in reasons["Dr.Jit"]


@pytest.mark.gpu
def test_every_tool_on_a_gpu_is_right_or_says_why_not(tmp_path):
    chosen = f"{CALL_EACH},{OBJECT_GRAPH},{RAYS},{TRAFFIC}"
    main(["run", "--backend", "cuda", "--out", str(tmp_path), "--workloads", chosen])
    (file,) = tmp_path.glob("*.json")
    found = json.loads(file.read_text())
    assert found["failures"] == []
    measured = {row["tool"] for row in found["rows"] if "samples" in row}
    assert {"sharedoa", "BRANCH", "NumPy"} <= measured
    assert all("samples" in row or row["not_measured"] for row in found["rows"])


def test_tables_go_into_a_document_and_replace_themselves(record, tmp_path, capsys):
    document = tmp_path / "comparison.md"
    document.write_text("# Title\n\nProse.\n\n## Not measured\n\nWhy.\n\nLast.\n")
    for _ in range(2):
        main(["tables", str(record), "--into", str(document)])
    text = document.read_text()
    assert text.startswith("# Title\n\nProse.\n\n## Not measured\n\nWhy.\n\nLast.\n\n| tool |")
    assert text.count("## Microbenchmark") == 1 and text.count("| copy | cpu |") == 1
    main(["tables", str(record)])
    assert "## Game of life, 2,304 cells" in capsys.readouterr().out


def test_report_of_a_record_again(record, tmp_path, capsys):
    main(["report", str(record), "--out", str(tmp_path)])
    (file,) = tmp_path.glob("*.html")
    assert file.read_text() == page(read(record))
    assert str(file) in capsys.readouterr().out


def test_records_of_parts_are_joined_by_tool(record, tmp_path):
    whole = read(record)
    parts = []
    for number, names in enumerate((("copy", "NumPy"), ("sharedoa",), ("NumPy",))):
        tools = {name: whole.head["settings"]["tools"][name] for name in names}
        head = {**whole.head, "settings": {**whole.head["settings"], "tools": tools}}
        head["failures"] = [f"{name}, some case: wrong" for name in names if name == "NumPy"]
        rows = [{**row, "lines": number} for row in whole.rows if row["tool"] in names]
        parts.append(tmp_path / f"{number}.json")
        write_record(head, rows, parts[-1])
    joined = join(parts)
    assert list(joined.head["settings"]["tools"]) == ["copy", "NumPy", "sharedoa"]
    assert {(row["tool"], row["lines"]) for row in joined.rows} == {
        ("copy", 0),
        ("sharedoa", 1),
        ("NumPy", 2),
    }
    assert joined.head["failures"] == ["NumPy, some case: wrong"]
    other = json.loads(parts[1].read_text())
    other["settings"]["full"] = True
    parts[1].write_text(json.dumps(other))
    with pytest.raises(RecordError, match=r"1\.json and .*0\.json are of different"):
        join(parts)


def test_files_that_are_no_records(tmp_path):
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path / "none.json")
    other = write(Result("population", "cpu", {}, [{"samples": [1.0]}]), tmp_path)
    with pytest.raises(RecordError, match="record of population"):
        read(other)
    with pytest.raises(SystemExit, match="no record"):
        (tmp_path / "text").write_text("text")
        main(["tables", str(tmp_path / "text")])


def test_records_with_another_head_or_rows(record, tmp_path):
    whole = json.loads(record.read_text())
    file = tmp_path / "record.json"
    settings = {name: value for name, value in whole["settings"].items() if name != "tools"}
    for change, missing in (
        ({"benchmark": 7}, "benchmark"),
        ({"machine": {"backend": "cpu"}}, "device"),
        ({"settings": settings}, "tools"),
        ({"failures": None}, "failures"),
        ({"rows": [{"samples": [1.0]}]}, "row 0 has no tool"),
    ):
        file.write_text(json.dumps({**whole, **change}))
        with pytest.raises(RecordError, match=missing):
            read(file)


def test_a_document_that_cannot_be_written_stays(record, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=r"--into: .*No such file"):
        main(["tables", str(record), "--into", str(tmp_path / "absent.md")])
    document = tmp_path / "comparison.md"
    document.write_text("# Title\n")
    # What no file can hold, as on a full disk.
    monkeypatch.setattr(document_writer, "with_tables", lambda text, made: "\ud800")
    with pytest.raises(SystemExit, match="--into"):
        main(["tables", str(record), "--into", str(document)])
    assert document.read_text() == "# Title\n"
    assert list(tmp_path.iterdir()) == [document]


@pytest.mark.parametrize(
    "arguments", [["--repeat", "0"], ["--label", "a/b"], ["--label", "two words"]]
)
def test_values_that_mean_nothing_are_refused(arguments):
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])
    assert ended.value.code == 2


def test_a_folder_that_cannot_be_written_to_is_told_first(record, tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "compare", lambda *given: pytest.fail("it ran"))
    file = tmp_path / "file"
    file.touch()
    for arguments in (["run"], ["report", str(record)]):
        with pytest.raises(SystemExit, match="no folder that can be written to"):
            main([*arguments, "--out", str(file)])


def test_unknown_names_are_refused(capsys):
    for option, known in (("--tools", "Dr.Jit"), ("--workloads", LIFE)):
        with pytest.raises(SystemExit):
            main(["run", option, "nonsense"])
        message = capsys.readouterr().err
        assert "unknown nonsense" in message and known in message


# ------------------------------------------------------------------------- results


@pytest.mark.parametrize("case", TINY, ids=named)
@pytest.mark.parametrize("mode, layout", [("auto", "tile"), ("coal", "aos")])
def test_ours_agrees_with_numpy(case, mode, layout):
    with oa.Heap(mode=mode, layout=layout, backend="cpu") as heap:
        own = sharedoa_tool._PROGRAMS[case.workload].prepare(case, heap)
        for _ in range(3):
            own.advance()
        own.verify()


@pytest.mark.parametrize("case", TINY, ids=named)
def test_numpy_agrees_with_the_closed_form(case):
    (found,) = measured(numpy_tool.measure(case, "cpu", 2))
    assert len(found.samples) == 2 and found.lines > 0


@pytest.mark.parametrize(
    "case",
    [
        # All are built in the same way, by a C++ compiler, which takes a second each.
        pytest.param(
            case,
            marks=[pytest.mark.slow] * (case.workload not in (FEW_OBJECTS, LIFE)),
            id=named(case),
        )
        for case in TINY
    ],
)
@pytest.mark.parametrize("variant", cuda_programs.VARIANTS)
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_cuda_programs_agree_with_numpy_as_plain_cxx(case, variant):
    own = cuda_programs.program(case)
    executable, _ = cuda_cxx.build(own.text, cuda_cxx.HOST)
    found = cuda_cxx.run(executable, own, variant, 2)
    assert found["steps"] == 5 and len(found["samples"]) == len(found["host"]) == 2
    assert user_lines.count_cxx(user_lines.marked(own.text, variant)) > 10


def test_cxx_that_does_not_compile_says_why():
    with pytest.raises(cuda_cxx.BuildError, match=r"failed: [^$]*nonsense"):
        cuda_cxx.build("nonsense", ("g++", "-x", "c++"))


@pytest.mark.parametrize("case", TINY, ids=named)
def test_drjit_agrees_with_numpy(case):
    pytest.importorskip("drjit")
    from bench.comparison.tools import drjit_tool

    if drjit_tool.missing("cpu"):
        pytest.skip(drjit_tool.missing("cpu"))
    for found in measured(drjit_tool.measure(case, "cpu", 2)):
        assert len(found.samples) == 2


@pytest.mark.parametrize("case", TINY, ids=named)
def test_numba_agrees_with_numpy(case):
    pytest.importorskip("numba")
    from bench.comparison.tools import numba_tool

    (found,) = measured(numba_tool.measure(case, "cpu", 2))
    assert len(found.samples) == 2


def test_wrong_results_are_failures(monkeypatch):
    class Faulty:
        @staticmethod
        def prepare(case):
            return program.Program(
                lambda: None,
                lambda: np.zeros(2, np.float32),
                lambda found, _: inputs.require_equal(found, np.ones(2, np.float32)),
                "a = 1\n",
            )

    monkeypatch.setitem(numpy_tool._PROGRAMS, LIFE, Faulty)
    request = {"tool": "NumPy", "backend": "cpu", "repeat": 2, "cases": [asdict(TINY[5])]}
    _, row = worker.rows(request)
    assert "2 of 2 elements are wrong" in row["failure"] and "samples" not in row
    selection = run.Selection([toolset.BY_NAME["NumPy"]], [TINY[5]], "cpu", 2, False)
    monkeypatch.setattr(run, "_run", lambda *_: ({}, [row]))
    (failure,) = run.compare(selection, lambda _: None).failures
    assert failure.startswith("NumPy, game of life, 144 cells: 2 of 2")


def test_errors_of_a_tool_do_not_end_the_others(monkeypatch):
    class Broken:
        @staticmethod
        def prepare(case):
            raise RuntimeError("no such feature")

    monkeypatch.setitem(numpy_tool._PROGRAMS, LIFE, Broken)
    request = {
        "tool": "NumPy",
        "backend": "cpu",
        "repeat": 2,
        "cases": [asdict(TINY[5]), asdict(TINY[0])],
    }
    _, broken, whole = worker.rows(request)
    assert broken["not_measured"] == "RuntimeError: no such feature"
    assert len(whole["samples"]) == 2


def test_a_process_that_dies_leaves_its_rows(monkeypatch, tmp_path):
    fake = tmp_path / "python"
    row = json.dumps({**asdict(TINY[0]), "variant": "", "not_measured": "because"})
    fake.write_text(
        "#!/bin/sh\n"
        """file=$(sed 's/.*"rows": "\\([^"]*\\)".*/\\1/')\n"""
        f"""printf '%s\\n' '{{"versions": {{}}}}' '{row}' > "$file"\n"""
        "echo 'out of luck' >&2\nexit 3\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PEER_DRJIT_PYTHON", str(fake))
    selection = run.Selection([toolset.BY_NAME["Dr.Jit"]], TINY[:2], "cpu", 2, False)
    result = run.compare(selection, lambda _: None)
    reasons = [each["not_measured"] for each in result.rows]
    assert reasons == ["because", "its process ended with status 3: out of luck"]


def test_traffic_is_sampled_by_parts_of_the_whole_run():
    done = []
    first, samples = traffic.sampled(
        Case(TRAFFIC, 20, 20, 10, steps=11), 3, lambda: done.append(1), lambda: None
    )
    assert len(done) == 11 and len(samples) == 3 and first > 0
    wrong = dict.fromkeys(("active", "created", "removed", "velocity_sum"), 0)
    with pytest.raises(inputs.WrongResult, match="'active': 234"):
        traffic.check(Case(TRAFFIC, 20, 20, 10, steps=200), wrong)


def test_pictures_are_compared_by_share():
    case = TINY[-1]
    picture = scene.picture(case)
    scene.require_picture(picture, case)
    assert len(np.unique(picture)) > 30
    with pytest.raises(inputs.WrongResult, match="of the pixels"):
        scene.require_picture(picture[::-1].copy(), case)


@pytest.mark.parametrize("full", [False, True])
def test_every_workload_has_cases_that_tools_can_divide(full):
    found = list(cases.cases(full))
    assert {case.workload for case in found} == set(WORKLOADS)
    assert len(set(found)) == len({(case.workload, case.label) for case in found}) == len(found)
    for case in found:
        if case.workload in (LIFE, RAYS):
            assert inputs.side(case) ** 2 == case.calls
        if case.workload in (CALL_EACH, MICROBENCHMARK, OBJECT_GRAPH):
            assert case.objects % case.types == 0 and case.calls == case.objects


def test_orders_are_those_of_calls():
    given = inputs.objects(12, 3, INTERLEAVED)
    assert given.tags.tolist() == [0, 1, 2] * 4
    assert inputs.objects(12, 3, SORTED).tags.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    shuffled = inputs.objects(12, 3, RANDOM).slots
    assert sorted(shuffled.tolist()) == list(range(12)) != shuffled.tolist()


# ------------------------------------------------------------------------- lines


def test_lines_of_python():
    text = '''
import math

class A:
    """About A.

    More."""

    # A comment.
    x: int  # another

    def f(self):
        """Only this."""
        return call(
            1,

            2,
        )
    TEXT = """two
    lines"""
'''
    # class, x, def, four of the call, two of the text: the blank line inside a call is none.
    assert user_lines.count_python(text) == 9


def test_lines_of_cxx():
    text = '#include "a.h"\n// one\nint a; // two\n/* three\n four */\n\nint b;\n'
    assert user_lines.count_cxx(text) == 2


def test_marked_parts():
    parts = ("a", "# [user code]", "b", "# [end of user code]", "c")
    more = ("# [user code: x, y]", "d", "# [end of user code]", "")
    text = "\n".join(parts + more)
    assert user_lines.marked(text, "x") == user_lines.marked(text, "y") == "b\nd\n"
    assert user_lines.marked(text, "z") == "b\n"
    with pytest.raises(ValueError, match="no line is marked"):
        user_lines.marked("a\n")


# ------------------------------------------------------------------------- page


def test_bars_are_sorted_and_logarithmic_where_times_differ():
    given = [Bar("slow <tool>", "a", 500.0, 400.0, 600.0), Bar("fast", "b", 1.0, 0.9, 1.1)]
    text = bars("calls", "us", given)
    assert "slow &lt;tool&gt;" in text and text.index("fast") < text.index("slow")
    assert "calls, us, logarithmic" in text
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', text)]
    assert 0 < widths[0] < widths[1]
    assert "logarithmic" not in bars("calls", "us", [Bar("one", "a", 2.0, 2.0, 2.0)])


def test_tables_name_the_share_of_the_copy(record):
    (table,) = [table for table in tables(read(record)) if "Microbenchmark" in table.title]
    share = table.headings.index("share of the copy's rate, at best")
    (copy,) = [row for row in table.rows if row[0] == "copy"]
    assert copy[share] == "100%"
    assert all((row[share] or "").endswith("%") for row in table.rows)
