"""Settings: where a value comes from, what is valid, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sharedoa.errors import ConfigurationError
from sharedoa.runtime import knobs


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.variable, raising=False)
    monkeypatch.setattr(knobs, "_checked", False)
    token = knobs._in_scope.set({})
    yield
    knobs._in_scope.reset(token)


def test_defaults_of_the_design():
    values = {knob.variable: knob.value() for knob in knobs.ALL}
    assert values == {
        "SHAREDOA_MODE": "auto",
        "SHAREDOA_BACKEND": "auto",
        "SHAREDOA_LAYOUT": "auto",
        "SHAREDOA_REFERENCES": "auto",
        "SHAREDOA_INITIAL_REGION": 4096,
        "SHAREDOA_CAPACITY": None,
        "SHAREDOA_CACHE_DIR": None,
        "SHAREDOA_CACHE_SIZE": 1 << 30,
        "SHAREDOA_DEBUG": False,
        "SHAREDOA_FASTMATH": False,
        "SHAREDOA_ORDERED": True,
        "SHAREDOA_SPECIALISE": True,
        "SHAREDOA_BACKGROUND": True,
        "SHAREDOA_FUSE": "1",
        "SHAREDOA_LINES": False,
        "SHAREDOA_DUMP": None,
    }


def test_an_argument_wins_over_code_over_environment_over_default(monkeypatch):
    assert (knobs.mode.value(), knobs.mode.source) == ("auto", "default")
    monkeypatch.setenv("SHAREDOA_MODE", "coal")
    assert (knobs.mode.value(), knobs.mode.source) == ("coal", "environment")
    with knobs.scope(mode="tag+switch", debug=True):
        assert (knobs.mode.value(), knobs.mode.source) == ("tag+switch", "code")
        assert knobs.debug.value() is True
        assert knobs.mode.resolve("bits+vtable") == "bits+vtable"
        with knobs.scope(mode="cuda"):
            assert knobs.mode.value() == "cuda"
        assert knobs.mode.value() == "tag+switch"
    assert knobs.mode.value() == "coal"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4096", 4096),
        ("64K", 64 << 10),
        ("64KiB", 64 << 10),
        ("512 MiB", 512 << 20),
        ("512MB", 512 << 20),
        ("1.5GiB", 3 << 29),
        ("4G", 4 << 30),
        ("1T", 1 << 40),
        ("100B", 100),
    ],
)
def test_capacity_takes_units(monkeypatch, text, value):
    monkeypatch.setenv("SHAREDOA_CAPACITY", text)
    assert knobs.capacity.value() == value


@pytest.mark.parametrize(
    ("variable", "text", "valid"),
    [
        ("SHAREDOA_MODE", "cual", "coal"),
        ("SHAREDOA_BACKEND", "opencl", "python"),
        ("SHAREDOA_LAYOUT", "soa", "tile"),
        ("SHAREDOA_INITIAL_REGION", "0", "whole number"),
        ("SHAREDOA_INITIAL_REGION", "many", "whole number"),
        ("SHAREDOA_CAPACITY", "4 parsecs", "GiB"),
        ("SHAREDOA_CAPACITY", "0", "GiB"),
        ("SHAREDOA_CAPACITY", "", "GiB"),
        ("SHAREDOA_CACHE_DIR", "", "off"),
        ("SHAREDOA_CACHE_SIZE", "0", "MiB"),
        ("SHAREDOA_DEBUG", "yes", "0 or 1"),
        ("SHAREDOA_DUMP", "", "folder"),
        ("SHAREDOA_DUMP", "~nobody-has-this-name/x", "folder"),
    ],
)
def test_a_bad_value_is_refused_with_the_valid_ones(monkeypatch, variable, text, valid):
    monkeypatch.setenv(variable, text)
    knob = next(k for k in knobs.ALL if k.variable == variable)
    with pytest.raises(ConfigurationError, match=variable) as caught:
        knob.value()
    assert valid in caught.value.help
    monkeypatch.delenv(variable)
    assert knob.value() == knob.default


def test_a_misspelt_variable_is_refused(monkeypatch):
    monkeypatch.setenv("SHAREDOA_MODUS", "coal")
    with pytest.raises(ConfigurationError, match="SHAREDOA_MODUS") as caught:
        knobs.mode.value()
    assert "SHAREDOA_MODE" in caught.value.help
    monkeypatch.delenv("SHAREDOA_MODUS")
    assert knobs.mode.value() == "auto"


def test_unknown_names_and_values_in_code_are_refused():
    with pytest.raises(ConfigurationError, match="modus"), knobs.scope(modus="coal"):
        pass
    with pytest.raises(ConfigurationError, match="initial_region"), knobs.scope(initial_region=-1):
        pass
    with pytest.raises(ConfigurationError, match="capacity"):
        knobs.capacity.resolve(0.5)
    assert knobs.debug.resolve(False) is False
    assert knobs.dump.resolve(Path("x")) == Path("x")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 << 30), ("4Gi", 4 << 30), ("4gb", 4 << 30), ("4G", 4 << 30), ("1.5 KiB", 1536),
        ("512", 512), ("512B", 512), ("99999999999999999999", 99999999999999999999),
    ],
)  # fmt: skip
def test_bytes(text, size):
    assert knobs.capacity.resolve(text) == size


@pytest.mark.parametrize("text", ["4 parsecs", "4iB", "-4", "9" * 400, "4Q", "", "1e9"])
def test_no_bytes(text):
    with pytest.raises(ConfigurationError, match="is not valid"):
        knobs.capacity.resolve(text)


def test_values_as_they_are_written_elsewhere(monkeypatch):
    """Numbers as numbers, and names in any case."""
    assert knobs.references.resolve(32) == "32"
    assert knobs.layout.resolve("TILE") == "tile"
    assert [knobs.fastmath.resolve(value) for value in (0, 1, "0", "1", False, True)] == [
        False, True, False, True, False, True,
    ]  # fmt: skip
    monkeypatch.setenv("SHAREDOA_CACHE_DIR", "OFF")
    assert knobs.cache_dir.value() == "off"
    for knob, value in (
        (knobs.references, True),
        (knobs.layout, 3),
        (knobs.debug, 2),
        (knobs.debug, np.zeros(2)),
        (knobs.dump, b"x"),
        (knobs.dump, "a\0b"),
    ):
        with pytest.raises(ConfigurationError, match="is not valid"):
            knob.resolve(value)
