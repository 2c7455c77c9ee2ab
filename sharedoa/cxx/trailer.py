"""The lines of C++ that make a program tell how its classes are laid out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import ptxpass

from .specification import ClassSpecification

HEADER = "sharedoa_class.h"
#: Files that ``#line`` names in the trailer, so that a compiler's complaint tells what it is about.
_CLASS, _FIELD = "sharedoa:class:{}", "sharedoa:field:{}:{}"
PLACE = re.compile(r"sharedoa:(?:class:(?P<cls>\d+)|field:(?P<owner>\d+):(?P<field>\d+))")


def include_folder() -> Path:
    """Where ``sharedoa_class.h`` is, for a compiler's ``-I``."""
    return Path(ptxpass.__file__).parent / "include"


def header_text() -> str:
    return (include_folder() / HEADER).read_text()


def trailer(classes: Sequence[ClassSpecification]) -> str:
    """What ``compile`` appends to a source."""

    def place(file: str) -> str:
        return f'#line 1 "{file}"\n'

    lines = ["\n\n", place("sharedoa"), f"#include <{HEADER}>\n"]
    lines += _declarations(classes, str, place)
    return "".join(lines)


def declarations(classes: Sequence[ClassSpecification]) -> str:
    """The same for people, with names instead of numbers."""
    identifiers = [re.sub(r"\W+", "_", cls.name).strip("_") for cls in classes]
    lines = [f'#include "{HEADER}"\n']
    lines += _declarations(classes, identifiers.__getitem__, lambda file: "")
    return "".join(lines)


def _declarations(
    classes: Sequence[ClassSpecification],
    identifier: Callable[[int], str],
    place: Callable[[str], str],
) -> Iterator[str]:
    for number, cls in enumerate(classes):
        mine = identifier(number)
        yield place(_CLASS.format(number))
        yield f"SHAREDOA_CLASS({mine}, {cls.name})\n"
        for index, field in enumerate(cls.fields):
            if field.offset is None:
                yield place(_FIELD.format(number, index))
                for label, expression in field.members():
                    yield f"SHAREDOA_MEMBER({mine}, {label}, {expression})\n"
    yield place("sharedoa")
    for number in range(len(classes)):
        for other in range(len(classes)):
            if other != number:
                yield f"SHAREDOA_BASE({identifier(number)}, {identifier(other)})\n"
