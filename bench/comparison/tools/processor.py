"""Tools on the processor whose steps return when they are done: timed by the host's clock."""

from __future__ import annotations

from types import ModuleType

from ..cases import Case
from ..program import Found, Measurement, NotMeasured, clock_samples, seconds_of
from ..user_lines import count_python


def measure(programs: dict[str, ModuleType], case: Case, repeat: int) -> Found:
    """The program of the case's workload, or the reason why there is none."""
    if case.workload not in programs:
        yield NotMeasured("", "not ported")
        return
    program = programs[case.workload].prepare(case)
    first = seconds_of(program.advance)
    samples = clock_samples(program.advance, repeat)
    program.verify()
    yield Measurement("", samples, [], first, count_python(program.source))
