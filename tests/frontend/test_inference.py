"""How often a body is translated until the types of its variables are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sharedoa as oa
from sharedoa import f32, i32
from sharedoa.frontend.context import Context

from .translated import complaints, kernel_from, text_of

_PARAMETERS = "a: oa.Array[f32], b: oa.Array[oa.i16], n: i32, x: f32"
#: Bodies of which something comes out otherwise once all types are known.
_AGAIN = {
    "a wider type after a use": "s = 0\nfor k in range(n):\n    a[k] = s\n    s = s + x",
    "a counter that may be negative after all": (
        "k = 3\nwhile k < n:\n    a[k] = x\n    k = k - n"
    ),
    "dead code that reads what has a type later": (
        "for k in range(n):\n    continue\n    a[k] = late\nlate = x\na[0] = late"
    ),
    "another type once others are known": (
        "s, m = 0, 0\nfor k in range(n):\n"
        "    m = s + b[k]\n    z = [s, m]\n    s = n\n    a[k] = z[0]"
    ),
    "a parameter is always as declared": "n = n - 1\na[n] = x\nn = n * 2\na[n] = x",
}
_ONCE = {
    "no variables": "a[0] = x",
    "variables, each with one type": (
        "i = oa.grid(1)\ny = x * 2\nif i < n:\n    y = y + x\na[i] = y"
    ),
    "a loop": "s = x\nfor k in range(n):\n    s = s * x\n    a[k] = s",
}


def _kernel(folder: Path, body: str) -> Callable[..., Any]:
    return kernel_from(folder, _PARAMETERS, body, oa=oa, f32=f32, i32=i32)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[Context]:
    """The context of each round that is begun."""
    begun: list[Context] = []
    begin = Context.begin_round

    def note(context: Context) -> None:
        begun.append(context)
        begin(context)

    monkeypatch.setattr(Context, "begin_round", note)
    return begun


@pytest.mark.parametrize("body", _ONCE.values(), ids=_ONCE)
def test_first_types_alone_ask_for_no_other_round(
    tmp_path: Path, rounds: list[Context], body: str
) -> None:
    text_of(_kernel(tmp_path, body))
    assert len(rounds) == 2  # the one that a context begins with, and this one


@pytest.mark.parametrize("body", [*_AGAIN.values(), *_ONCE.values()], ids=[*_AGAIN, *_ONCE])
def test_one_round_more_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    kernel = _kernel(tmp_path, body)
    found = text_of(kernel)
    monkeypatch.setattr(
        Context, "is_settled", property(lambda c: not c.changed and not c.found_types)
    )
    assert text_of(kernel) == found


def test_a_complaint_does_not_hide_those_about_variables_that_get_types_later(
    tmp_path: Path,
) -> None:
    body = "for k in range(n):\n    y = {1: 1}\n    a[k] = y.field\n    y = x"
    messages = [complaint.message for complaint in complaints(_kernel(tmp_path, body))]
    assert messages == [
        "a dict is outside the subset that kernels can use",
        "f32 has no attribute field",
    ]
