"""Programs in the documents run as printed, and paths that they name exist."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from statistics import geometric_mean

import pytest

from bench.reproduction.document import with_tables
from bench.reproduction.records import CUPTI, merge, timer_of
from bench.reproduction.tables import tables
from dispatch.mode import MODES
from sharedoa.ir.pipeline import PIPELINE
from sharedoa.runtime import knobs

from .. import forked

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/coming-from.md",
    "docs/comparison.md",
    "docs/configuration.md",
    "docs/dispatch.md",
    "docs/gallery.md",
    "docs/gradients.md",
    "docs/index.md",
    "docs/lab-notes.md",
    "docs/performance.md",
    "docs/ptxpass.md",
    "docs/reproduction.md",
    "docs/start.md",
    "docs/tutorial.md",
    "docs/types.md",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/*/*.md"))),
)
DESCRIBED = sorted(path.parent.name for path in ROOT.glob("apps/*/README.md"))


def programs(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)


@pytest.fixture(autouse=True)
def what_programs_compiled(kept_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serves them in later sessions, as it does users."""
    monkeypatch.setenv("SHAREDOA_CACHE_DIR", str(kept_folder / "programs"))


def run(program: str, folder: Path, **variables: str) -> str:
    file = folder / "program.py"
    file.write_text(program)
    settings = {"SHAREDOA_BACKEND": "cpu", **variables}
    done = forked.run([file], {**os.environ, "PYTHONPATH": str(ROOT), **settings}, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(programs("README.md"))))
def test_readme(number, tmp_path):
    assert run(programs("README.md")[number], tmp_path)


def test_first_program_is_short_and_prints_what_stands_below_it(tmp_path):
    first = programs("README.md")[0]
    assert len([line for line in first.splitlines() if line]) <= 20
    printed = run(first, tmp_path)
    assert f"```\n{printed}```" in (ROOT / "README.md").read_text()
    total, areas = printed.replace(",", "").splitlines()
    # The mean of pi r^2 for r uniform in [0, 1] is pi / 3.
    assert float(total) == pytest.approx(500_000 * (3.1415927 / 3 + 4), rel=1e-5)
    alone, with_others = map(float, areas.split())
    assert alone == with_others == pytest.approx(314.15927)


def test_types(tmp_path):
    (program,) = programs("docs/types.md")
    assert run(program, tmp_path).split() == ["100", "51.5", "103.0"]


def test_gradients(tmp_path):
    text = "".join(programs("docs/gradients.md"))
    if importlib.util.find_spec("torch"):
        (with_torch,) = re.findall(
            r"^```py\n(.*?)^```", (ROOT / "docs/gradients.md").read_text(), re.M | re.S
        )
        text += with_torch
    assert "no gradient: max of floats" in run(text, tmp_path)


def test_what_others_use_is_here(tmp_path):
    """The last column of the table, all of which is in one program."""
    page = ROOT / "docs/coming-from.md"
    (program,) = programs("docs/coming-from.md")
    rows = re.findall(r"^\|.*\| (.*?) \|$", page.read_text(), re.M)[2:]
    used = [re.findall(r"\boa\.\w+|\.\w+\(|@oa\.\w+", row) for row in rows]
    assert len(rows) > 25 and sum(map(bool, used)) > 20
    assert not {each for names in used for each in names if each not in program}
    run(program, tmp_path)


def test_every_mode_is_described():
    text = (ROOT / "docs/dispatch.md").read_text()
    assert not [mode for mode in MODES if f"`{mode}`" not in text]


def test_every_pass_has_its_section_in_the_order_in_which_they_run():
    text = (ROOT / "docs/passes.md").read_text()
    assert re.findall(r"^## (.*)", text, re.M) == [each.name for each in PIPELINE]


def test_every_setting_is_described():
    text = (ROOT / "docs/configuration.md").read_text()
    assert not [knob.variable for knob in knobs.ALL if f"| `{knob.variable}` |" not in text]


@pytest.mark.parametrize(
    "mode",
    ["", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("sharedoa", "typepointer"))],
)
def test_tutorial(mode, tmp_path):
    text = "".join(programs("docs/tutorial.md"))
    variables = {"SHAREDOA_MODE": mode} if mode else {}
    assert "equal in all modes" in run(text, tmp_path, **variables)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_exist(document):
    folders = "apps|bench|dispatch|docs|ptxpass|sharedoa|tests"
    text = (ROOT / document).read_text()
    named = set(re.findall(rf"`((?:{folders})/[\w./-]*)`", text))
    linked = re.findall(r"\]\(([\w./-]+\.md)[)#]", text)
    here = (ROOT / document).parent
    missing = [name for name in named if not (ROOT / name).exists()]
    missing += [name for name in linked if not (here / name).exists()]
    assert not missing


@pytest.mark.parametrize(
    "document", [*DOCUMENTS, "CONTRIBUTING.md", *(f"apps/{name}/README.md" for name in DESCRIBED)]
)
def test_prose_is_at_most_120_wide(document):
    lines = (ROOT / document).read_text().splitlines()
    assert not [line for line in lines if len(line) > 120 and not line.startswith("|")]


def test_architecture_names_every_folder():
    text = (ROOT / "docs/architecture.md").read_text()
    folders = {
        f"{path.relative_to(ROOT).as_posix()}/"
        for package in ("dispatch", "ptxpass", "sharedoa")
        for path in [ROOT / package, *(ROOT / package).iterdir()]
        if path.is_dir() and path.name != "__pycache__"
    }
    assert not [folder for folder in sorted(folders) if f"`{folder}`" not in text]


def test_the_program_of_ptxpass(tmp_path):
    pytest.importorskip("cuda.bindings.nvrtc")
    (program,) = programs("docs/ptxpass.md")
    assert "measure ('_ZTV6Circle', '_ZTV6Square') range + switch" in run(program, tmp_path)


def test_tables_of_the_reproduction_are_those_of_the_record():
    text = (ROOT / "docs/reproduction.md").read_text()
    (name,) = set(re.findall(r"`(bench/results/reproduction[\w.-]+)`", text))
    made = tables(merge([ROOT / name]))
    assert len(made) >= 6
    assert not [each.title for each in made if "\n".join(each.markdown()) not in text]
    # As `python -m bench.reproduction tables RECORD --into docs/reproduction.md` leaves it.
    assert with_tables(text, made) == text


def _of_auto(*records):
    """What kernels took by CUPTI, in ms, by workload."""
    rows = [
        row
        for name in records
        for row in json.loads(
            (
                ROOT / f"bench/results/reproduction-{name.replace(' ', '-nvidia-h200-')}.json"
            ).read_text()
        )["rows"]
        if row["figure"] == "6" and row["mode"] == "auto"
    ]
    assert {timer_of(row) for row in rows} == {CUPTI}
    return {row["workload"]: 1e3 * row["median"] for row in rows}


def _by_hand():
    """The same of hand-written programs, one thread a vertex or pixel, by workload."""
    found: dict[str, float] = {}
    for name in "evening-nvidia-h200-2026-11-27", "night-nvidia-h200-2026-11-28":
        record = json.loads((ROOT / f"bench/results/stepwise-{name}.json").read_text())
        least: dict[str, float] = {}
        for row in record["rows"]:
            if not re.search("lanes|stepwise1w|tpp(?!1_)", row["variant"]):
                time = 1e3 * row["kernels"]
                least[row["workload"]] = min(time, least.get(row["workload"], time))
        found |= least  # those of the later record, where it has them
    return found


def test_where_auto_stands_is_what_was_recorded():
    text = (ROOT / "docs/performance.md").read_text()
    section = text.partition("## Where it stands")[2]
    number = r" ([\d.]+) \|"
    stands = re.findall(rf"^\| ([A-Z][\w ()]+) \|{number * 5}$", section, re.M)
    evening = "evening_four 2026-11-27", "evening_seven 2026-11-27"
    ours, by_hand = _of_auto(*evening, "night 2026-11-28"), _by_hand()
    assert {workload for workload, *_ in stands} == {*ours}
    faster, slower = [], []
    for workload, *numbers in stands:
        artifact, auto, times_as_fast, stepwise, times_as_slow = map(float, numbers)
        assert auto == pytest.approx(ours[workload], rel=0.01)
        assert stepwise == pytest.approx(by_hand[workload.split()[0]], rel=0.01)
        faster.append(artifact / auto)
        slower.append(auto / stepwise)
        assert times_as_fast == pytest.approx(faster[-1], rel=0.03)
        assert times_as_slow == pytest.approx(slower[-1], rel=0.03)
    means = re.findall(r"([\d.]+) times as (?:long|fast)", text.partition("## ")[0])
    expected = [geometric_mean(slower), geometric_mean(faster)]
    assert [*map(float, means)] == pytest.approx(expected, rel=0.01)


def test_pictures_exist():
    for document in DOCUMENTS:
        folder = (ROOT / document).parent
        named = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / document).read_text())
        assert not [name for name in named if not (folder / name).is_file()]


def test_cpp_figures_are_those_of_the_record():
    text = (ROOT / "docs/ptxpass.md").read_text()
    (name,) = set(re.findall(r"`(bench/results/virtual-call-cxx[\w.-]+)`", text))
    medians = {
        (row["language"], row["mode"], row["types"], row["order"]): row["median"]
        for row in json.loads((ROOT / name).read_text())["rows"]
        if row.get("objects") == 16 << 20 and row["kernel"] == "virtual call"
    }
    table = re.findall(r"^\| `([\w+]+)` \|((?: \d+ \(\d+\) \|){4})$", text, re.M)
    assert len(table) == 6
    for mode, cells in table:
        keys = [(types, order) for types in (4, 32) for order in ("mixed", "sorted")]
        figures = re.findall(r"(\d+) \((\d+)\)", cells)
        for (types, order), (cpp, python) in zip(keys, figures, strict=True):
            for language, figure in (("C++", cpp), ("Python", python)):
                measured = 1e6 * medians[language, mode, types, order]
                assert float(figure) == pytest.approx(measured, rel=0.02)


def test_measured_figures_are_those_of_the_record():
    text = (ROOT / "docs/dispatch.md").read_text()
    (name,) = set(re.findall(r"`(bench/results/virtual-call[\w.-]+)`", text))
    rows = json.loads((ROOT / name).read_text())["rows"]
    medians = {
        (row["mode"], row["types"], row["order"], row["kernel"]): row["median"]
        for row in rows
        if "median" in row and row["objects"] == 16 << 20 and row["fields"] == 4
    }
    table = re.findall(r"^\| `([\w+]+)` \| \d+ \|((?: [\d.]+ \([\d.]+\) \|){4})$", text, re.M)
    assert len(table) == 11
    for mode, cells in table:
        figures = re.findall(r"([\d.]+) \(([\d.]+)\)", cells)
        keys = [(types, order) for types in (4, 32) for order in ("mixed", "sorted")]
        for (types, order), (microseconds, ratio) in zip(keys, figures, strict=True):
            call = medians[mode, types, order, "virtual call"]
            branch = medians[mode, types, order, "branch"]
            assert float(microseconds) == pytest.approx(1e6 * call, rel=0.02)
            assert float(ratio) == pytest.approx(call / branch, abs=0.02)
