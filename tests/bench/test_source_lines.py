"""What is read of pages of profilers, which need a GPU; and the program that they look at."""

from __future__ import annotations

import csv
import io

import pytest

from bench import source_lines


def page(*rows: tuple[int, str, int], heading: str = "# Instructions Executed") -> str:
    text = io.StringIO()
    written = csv.writer(text, quoting=csv.QUOTE_ALL)
    written.writerow(["#", "Source", heading, "# Thread Instructions Executed"])
    written.writerows([*row, 7] for row in rows)
    return f"==PROF== a word before\n{text.getvalue()}"


def test_lines_of_a_page() -> None:
    body = source_lines.marked()["the body of Square"]
    text = "out[at + self.far] = self.side * self.side  # the body of Square"
    found = page((1, '"""Which', 0), (body, f"        {text}", 512), (body, text, 2))
    assert source_lines.lines_of_page(found) == {body: 514}
    with pytest.raises(AssertionError, match="no line of ours"):
        source_lines.lines_of_page(page((body - 1, text, 512)))
    assert source_lines.lines_of_page(page((body, text, 512), heading="Samples")) == {}


def test_machine_code_of_a_page_has_no_addresses() -> None:
    text = page((1, "  MOV R1, c[0x0][0x28] ", 4), (2, "BRA 0x7f54e8ffa900", 4))
    assert source_lines.code_of_page(text) == ["MOV R1, c[NUMBER][NUMBER]", "BRA NUMBER"]


def test_the_program_and_its_machine_code() -> None:
    row = source_lines.assembled("cpu")
    assert row["same"] and row["bytes"] > 0
    out = source_lines.program(backend="cpu")
    assert out[0] == pytest.approx(4.0) and out[-1] == 9.0
