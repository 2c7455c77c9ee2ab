"""Lines of user code: those that are neither blank nor only a comment, nor an import.

What somebody has to write for the workload is counted: classes, methods, kernels, and functions
that make objects out of arrays. In a file it lies between lines that say ``[user code]`` and ``[end
of user code]``, with names after a colon where a file has several programs. Sending arrays to the
device, choosing numbers of threads, timing and checks lie outside. Docstrings count as comments.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

_BEGIN = re.compile(r"\[user code(?:: (?P<names>[^\]]+))?\]")
_END = "[end of user code]"


def marked(text: str, name: str = "") -> str:
    """The parts of ``text`` that are user code of the program with that name, or of all; a part may
    name several with commas. Raises ValueError if there is none."""
    parts: list[str] = []
    inside = wanted = False
    for line in text.splitlines():
        begin = _BEGIN.search(line)
        if begin:
            names = begin["names"]
            inside, wanted = True, not names or name in [each.strip() for each in names.split(",")]
        elif _END in line:
            inside = False
        elif inside and wanted:
            parts.append(line)
    if not parts:
        raise ValueError(f"no line is marked as user code of {name or 'the program'}")
    return "\n".join(parts) + "\n"


def marked_in(file: str | Path, name: str = "") -> str:
    """The same of a file."""
    return marked(Path(file).read_text(), name)


def count_python(text: str) -> int:
    """Lines of Python with something else than comments, imports and strings that stand alone."""
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if not _is_import(statement) and any(e.type != tokenize.STRING for e in statement):
                for each in statement:
                    lines.update(range(each.start[0], each.end[0] + 1))
            statement = []
        elif token.type not in _NO_CODE:
            statement.append(token)
    return len(lines)


def _is_import(statement: list[tokenize.TokenInfo]) -> bool:
    return bool(statement) and statement[0].string in ("import", "from")


_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


def count_cxx(text: str) -> int:
    """Lines of C++ with something else than comments and inclusions."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return sum(1 for line in bare.splitlines() if line.strip() and not line.startswith("#include"))
