"""What is read of pages of profilers, which need a GPU; and the program that they look at."""

from __future__ import annotations

import csv
import io

import pytest

from bench import source_lines

METRICS = "Warp Stall Sampling (All Samples)", "Instructions Executed", "Divergent Branches"


def page(*rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """As Nsight Compute 2025.3 prints it."""
    text = io.StringIO()
    written = csv.writer(text, quoting=csv.QUOTE_ALL)
    written.writerow(["Function Name", "kernel_put_all"])
    written.writerows([columns, *rows])
    return f"==PROF== a word before\n{text.getvalue()}"


def test_lines_of_a_page() -> None:
    columns = ("Line No", "Source", "Address", "Source", *METRICS)
    body = source_lines.marked()["the body of Square"]
    text = "out[at + self.far] = self.side * self.side  # the body of Square"
    instruction = ("", "", "0x7f51b57a1190", "      LDG.E R8, desc[UR4][R6.64]", "6", "256", "0")
    line = (str(body), text, "-", "-", "12", "512", "0")
    call = (str(body + 6), "shapes[i].put(out, i)  # the call", "-", "-", "0", "1024", "0")
    found = page(line, instruction, call, instruction, columns=columns)
    assert source_lines.lines_of_page(found) == {body: 512, body + 6: 1024}
    other = page((str(body - 1), *line[1:]), columns=columns)
    with pytest.raises(AssertionError, match="no line of ours"):
        source_lines.lines_of_page(other)


def test_machine_code_of_a_page_has_no_addresses() -> None:
    first = ("0x7f51b57a0f00", "      LDC R1, c[0x0][0x28]", "6", "512", "0")
    second = ("0x7f51b57a0f10", "@P0   BRA 0x7f51b57a1af0", "6", "512", "0")
    found = page(first, second, columns=("Address", "Source", *METRICS))
    code = ["LDC R1, c[NUMBER][NUMBER]", "@P0   BRA NUMBER"]
    assert source_lines.code_of_page(found) == code


def test_the_program_and_its_machine_code() -> None:
    row = source_lines.assembled("cpu")
    assert row["same"] and row["bytes"] > 0
    out = source_lines.program(backend="cpu")
    assert out[0] == pytest.approx(4.0) and out[-1] == 9.0
