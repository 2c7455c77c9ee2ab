"""What a case is, and where cases are found.

    @case(debug=False)
    def an_element_past_the_end() -> None:
        '''What is done, in a sentence.'''
        with refuses(oa.ArgumentError, "outside", "4"):
            ...
        check(array[0] == 1, "the first element changed")

A case is a function without parameters. It ends when everything was as it must be; ``verdicts`` has
what it asks with. It has a process, a folder and a heap of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SUBJECTS = (
    "nulls",
    "deleted",
    "aliases",
    "recursion",
    "forks",
    "interruptions",
    "globals",
    "ends",
    "printing",
    "files",
    "language",
    "definitions",
    "host_api",
    "launches",
    "configuration",
    "arithmetic",
    "views",
    "captures",
    "redefinition",
    "values",
    "threads",
    "dumps",
    "caches",
    "resources",
    "command_line",
    "inputs",
    "ptxpass",
    "cxx",
    "python_backend",
    "together",
    "changing",
    "places",
)

BACKENDS = ("cpu", "cuda")
CPU = ("cpu",)
#: Seconds after which a case hangs. Generous: the machine may do other things, too.
LIMIT = 40.0


@dataclass(frozen=True)
class Case:
    """One fault. ``normal`` and ``debug``: whether it is run without and with SHAREDOA_DEBUG=1;
    ``in_sample``: whether ``make test`` runs it, too."""

    name: str
    doc: str
    normal: bool
    debug: bool
    backends: tuple[str, ...]
    limit: float
    in_sample: bool


@dataclass(frozen=True)
class Job:
    """A case in one mode."""

    case: Case
    debug: bool

    @property
    def name(self) -> str:
        return self.case.name + (" (debug)" if self.debug else "")


_functions: dict[str, Callable[[], None]] = {}
_cases: dict[str, Case] = {}


def case(
    *,
    normal: bool = True,
    debug: bool = True,
    backends: tuple[str, ...] = BACKENDS,
    limit: float = LIMIT,
    sample: bool = False,
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Put a function into the catalogue (``Case``)."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        add(
            f"{function.__module__.rpartition('.')[2]}.{function.__name__}",
            function,
            normal=normal,
            debug=debug,
            backends=backends,
            limit=limit,
            sample=sample,
        )
        return function

    return register


def add(
    name: str,
    function: Callable[[], None],
    *,
    normal: bool = True,
    debug: bool = True,
    backends: tuple[str, ...] = BACKENDS,
    limit: float = LIMIT,
    sample: bool = False,
) -> None:
    """Put a function into the catalogue under a name of its own, SUBJECT.WORDS."""
    if name in _functions:
        raise ValueError(f"two cases are called {name}")
    if not (function.__doc__ and (normal or debug)):
        raise ValueError(f"{name} has no docstring, or is never run")
    _functions[name] = function
    first_line = function.__doc__.strip().splitlines()[0]
    _cases[name] = Case(name, first_line, normal, debug, backends, limit, sample)


def function_of(name: str, module: str) -> Callable[[], None]:
    """The function of a case, whose module is imported if it has not been."""
    importlib.import_module(module)
    return _functions[name]


def module_of(subject: str) -> str:
    """A subject is a module of this folder, or a module by its whole name."""
    return subject if "." in subject else f"{__package__}.{subject}"


def all_cases(subjects: Iterable[str]) -> list[Case]:
    """Every case of these subjects. Imports them, and sharedoa with them."""
    for subject in subjects:
        importlib.import_module(module_of(subject))
    return list(_cases.values())


def jobs(
    cases: Iterable[Case],
    backend: str,
    only: Sequence[str],
    modes: Sequence[bool],
    sample: bool,
) -> list[Job]:
    """What is to run: the cases for a backend whose name contains or matches one of ``only``;
    those of the sample in one mode each, by turns."""
    found = [
        [Job(each, debug) for debug in modes if (each.debug if debug else each.normal)]
        for each in cases
        if backend in each.backends and (each.in_sample or not sample) and _is_meant(each, only)
    ]
    if sample:
        found = [each[turn % len(each) :][:1] for turn, each in enumerate(found) if each]
    return [job for each in found for job in each]


def _is_meant(case: Case, only: Sequence[str]) -> bool:
    return not only or any(part in case.name or fnmatchcase(case.name, part) for part in only)


def as_words(value: Any) -> str:
    """A value in a few words, for names and complaints."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
