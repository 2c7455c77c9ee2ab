"""Methods that test something and call others have very many ways through them: what is known of
tests that threads have passed stays small, and so does the time that it takes to find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sharedoa.ir import tested_fields
from sharedoa.ir.core import Operation, Program
from sharedoa.ir.thread_accesses import thread_accesses
from tests.source_files import load_module

from .programs import program_of


def _program(folder: Path, classes: str, begin: str) -> Program:
    kernel = (
        "@oa.kernel\ndef begin(these: oa.Array[First]) -> None:\n    first = these[oa.grid(1)]\n"
    )
    module = load_module(folder, f"{classes}\n\n{kernel}    {begin}\n")
    return program_of(module.begin)


def test_methods_that_test_and_call_the_next_one(tmp_path: Path) -> None:
    count = 9
    text = "class First(oa.Object):\n    sum: i32\n"
    text += "".join(f"    f{n}: i32\n" for n in range(count))
    for n in range(count):
        go_on = f"self.step{n + 1}()"
        text += f"    def step{n}(self) -> None:\n        if self.f{n} == 1:\n"
        text += f"            {go_on}\n        else:\n            {go_on}\n"
    text += f"    def step{count}(self) -> None:\n        self.sum = 2\n"
    program = _program(tmp_path, text, "first.step0()")
    assert len(thread_accesses(program, False).accesses) <= 10 * (count + 1)


def test_methods_that_call_themselves_for_an_answer(tmp_path: Path) -> None:
    text = "class First(oa.Object):\n    left: First\n    right: First\n    sum: i32\n"
    text += "    def holds(self) -> bool:\n        return self.sum == 1\n"
    for name, both in (("All", "and"), ("Any", "or")):
        text += f"\nclass {name}(First):\n    def holds(self) -> bool:\n"
        text += f"        return self.left.holds() {both} self.right.holds()\n"
    program = _program(tmp_path, text, "if first.holds():\n        first.sum = 2")
    looked_up: list[Operation] = []

    def candidates(call: Operation) -> Iterator[str]:
        looked_up.append(call)
        yield from (each.symbol for each in call["candidates"])

    tests = tested_fields.Tests(program.functions, candidates)
    assert [*tests.operations(program.kernel, {})]
    assert 1 < len(looked_up) < 20
