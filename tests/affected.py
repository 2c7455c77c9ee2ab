"""Which tests what changed since a commit may touch: ``make affected SINCE=main``.

Every test does in the end whatever the compiler does, so the nearest ones are chosen: of a Python
file those that are at most ``FAR`` imports away, and those that must see faults in it
(``mutations``). Where these are too many, or there is no telling, the whole folder of tests with
the file's name and what ``make quick`` runs stand for the others; where nothing is known, all.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from .import_graph import ROOT, files_of_ours, users
from .mutations.catalogue import MUTATIONS

FAR = 3
MOST = 120
"""Files of tests that one file is worth."""

DOCUMENTS = {"tests/docs", "tests/checkers", "tests/test_papers.py", "tests/test_example.py"}


def changed_since(commit: str) -> list[str]:
    """Paths of files that are not as they were where the branch left ``commit``, or not yet in the
    repository."""
    changed = ["git", "diff", "--name-only", "--no-renames", "--merge-base", commit]
    new = ["git", "ls-files", "--others", "--exclude-standard"]
    texts = [subprocess.check_output(each, cwd=ROOT, text=True) for each in (changed, new)]
    return "".join(texts).splitlines()


def affected(changed: Iterable[str]) -> list[str]:
    """Files and folders of tests, and single ones, as arguments of pytest."""
    graph = users(files_of_ours())
    found = {test for path in changed for test in _affected_by(path, graph)}
    return sorted(test for test in found if found.isdisjoint(around(test)))


def around(test: str) -> list[str]:
    """The folders and the file that a test is in, and what it is a case of."""
    file, colons, _ = test.partition("::")
    function, bracket, _ = test.partition("[")
    folders = [each.as_posix() for each in PurePosixPath(file).parents]
    return [*folders, *([file] * bool(colons)), *([function] * bool(bracket))]


def _affected_by(path: str, graph: Mapping[str, set[str]]) -> set[str]:
    if path.endswith(".md"):
        return DOCUMENTS
    if path not in graph or path.endswith("conftest.py"):
        return _beside(path) or {"tests"}
    found = {each for each in [path] if _is_test(each)}
    level, seen = {path}, {path}
    for _ in range(FAR):
        level = {user for each in level for user in graph[each]} - seen
        seen |= level
        more = {each for each in level if _is_test(each)}
        if path.startswith("tests/"):
            fixtures = {each for each in level if each.endswith("conftest.py")}
            more |= {PurePosixPath(each).parent.as_posix() for each in fixtures}
        if len(found | more) > MOST:
            found |= _beside(path) | _quick()
            break
        found |= more
    found |= {test for each in MUTATIONS if each.file == path for test in each.tests}
    return found or _beside(path) | _quick()


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")


def _beside(path: str) -> set[str]:
    """The folder of tests that a file is in, or that has the name of one it is in."""
    first, *inside = PurePosixPath(path).parent.parts or ("",)
    inside = inside if first in ("tests", "sharedoa") else [first, *inside]
    for folder in PurePosixPath("tests", *inside).joinpath("_").parents[:-2]:
        if any((ROOT / folder).glob("**/test_*.py")):
            return {folder.as_posix()}
    return {"tests"} if first == "tests" else set()


def _quick() -> set[str]:
    lines = (ROOT / "tests" / "quick.txt").read_text().splitlines()
    return {line for line in lines if not line.startswith("--")}


if __name__ == "__main__":
    print(*affected(changed_since(sys.argv[1])), sep="\n")
