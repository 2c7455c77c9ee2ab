"""Operations that are run often as one function of Python, a line for each: the statement that says
the same as the operation, else its call. So a loop over operations, and calls of most of them, are
spared: a fifth to two fifths of the time of tests that run it most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import CodeType
from typing import Any

from .frames import Operation

_HEAD = 4
"""The line of the first operation."""


class Fused:
    """``run`` does what ``operations`` do, and then ``last``, from which on ``following`` is next,
    unless it says otherwise; it gives what that gives."""

    def __init__(self, operations: Sequence[Operation], last: Operation, following: int) -> None:
        self._count = len(operations)
        values: dict[int, Any] = {}
        names: dict[int, str] = {}

        def name(value: Any) -> str:
            values[id(value)] = value
            return names.setdefault(id(value), f"v{len(names)}")

        lines = [_statement(each, name) or f"{name(each)}(frame)" for each in operations]
        end = _statement(last, name) or f"return {name(last)}(frame)"
        parameters = ", ".join(names.values())
        make = _maker(
            parameters, "".join(f"  {line}\n" for line in (*lines, f"frame.at = {following}", end))
        )
        self.run: Operation = make(*values.values())
        self._code: CodeType = self.run.__code__  # type: ignore[attr-defined]

    def failing(self, error: BaseException) -> int:
        """Which of the operations, or the last one, an exception of ``run`` comes from."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self._code:
            trace = trace.tb_next
        assert trace is not None
        return min(trace.tb_lineno - _HEAD, self._count)


def _statement(operation: Operation, name: Any) -> str | None:
    told = getattr(operation, "statement", None)
    return None if told is None else told(name)


@cache
def _maker(parameters: str, lines: str) -> Any:
    found: dict[str, Any] = {}
    exec(
        f"def make({parameters}):\n def run(frame):\n  bits = frame.bits\n{lines} return run\n",
        found,
    )
    return found["make"]
