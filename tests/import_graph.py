"""Which of our files use which others, read from their text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
PACKAGES = ("dispatch", "ptxpass", "sharedoa", "apps", "bench", "tests")
#: Files that only pass names on: who uses a name of theirs uses the file where it is made.
FACADES = ("sharedoa/__init__.py", "sharedoa/everyday.py")
_FROM = re.compile(r"^ *from (\.*)([\w.]*) import (\([^)]*\)|[^\n]*)", re.M)
#: Also in programs that tests start, and names of modules that are imported later.
_DOTTED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+")

#: Programs are found by their names (``apps.registry``).
_QUOTED = re.compile(r'"(\w+)"')


def files_of_ours() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def users(files: Iterable[Path]) -> dict[str, set[str]]:
    """By path: the files that import it or something of it, or name something that is made there
    and that ``sharedoa`` passes on."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    given: dict[str, str] = {}
    for facade in FACADES:
        for name in _imported(facade, texts[facade]):
            given.setdefault(PurePosixPath(name).name, name)
    found: dict[str, set[str]] = {path: set() for path in texts}
    for path, text in texts.items():
        used = {name.replace(".", "/") for name in _DOTTED.findall(text)}
        used |= {f"sharedoa/{name}" for name in re.findall(r"\boa\.(\w+)", text)}
        programs = {f"apps/{name}/program" for name in _QUOTED.findall(text)}
        used |= {each for each in programs if f"{each}.py" in texts}
        for name in () if path in FACADES else used | _imported(path, text):
            first, _, rest = name.partition("/")
            module = PurePosixPath(given.get(rest, name) if first == "sharedoa" else name)
            for each in (module, *module.parents):  # what is in a module has its name in front
                made_in = {f"{each}.py", f"{each}/__init__.py"} & texts.keys()
                if made_in:
                    found[made_in.pop()].add(path)
                    break
    return found


def _imported(path: str, text: str) -> set[str]:
    """Names that a file imports from somewhere, as paths."""
    package, found = PurePosixPath(path).parent.parts, set()
    for dots, module, names in _FROM.findall(text):
        above = package[: len(package) - len(dots) + 1] if dots else ()
        base = "/".join([*above, *filter(None, module.split("."))])
        found |= {f"{base}/{name}" for name in re.findall(r"\w+", re.sub("#.*", "", names))}
    return found
