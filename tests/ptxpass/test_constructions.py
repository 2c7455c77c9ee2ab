"""Which functions make objects, by their mangled names and by what they store."""

from __future__ import annotations

import pytest

from dispatch.mode import parse_mode
from ptxpass.text import read_module, rewrite
from ptxpass.text.constructions import constructions, is_ours
from ptxpass.text.names import is_destructor
from ptxpass.text.table_stores import TableUses

from .golden import FOLDER
from .text_reading import for_heap

DESTRUCTORS = (
    "_ZN6KeeperD1Ev", "_ZN5ShapeIfED2Ev", "_ZN3geo4BodyIN2ns1BILi3EEEED0Ev", "_ZN1AIJifP1BEED1Ev",
    "_ZNSt6vectorIiSaIiEED2Ev", "_ZN1AILb1ELin3EED2Ev", "_ZN1BIPFivEED0Ev", "_ZN2D12D1D1Ev",
    "_ZN41_GLOBAL__N__2a6aec31_12_anonymous_cu_make6HiddenD1Ev",
)  # fmt: skip
OTHERS = (
    "_ZN7Factory6makeD1Ev", "_ZN2D12D1Ev", "_ZN3geo4BodyIN2ns1BILi3EEEE6makeD0Ev",
    "_ZN4BodyIfE2D2Ev", "_Z6makeD1Ev", "makeD1Ev", "_ZN7FactoryC1Ev", "_ZN1AD1Ei", "_ZN9BrokenD1Ev",
)  # fmt: skip


@pytest.mark.parametrize("name", DESTRUCTORS)
def test_destructors(name: str) -> None:
    assert is_destructor(name)


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_a_destructor(name: str) -> None:
    assert not is_destructor(name)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("_ZN8sharedoa6detail9constructI6CircleJfEEEvPKPT_mDpT0_", True),
        ("sharedoa_keep_Circle", True),
        ("_Z13sharedoa_makePP5Shapei", True),
        # A kernel of the user's that is given references, or is a template over them.
        ("_Z4makeN8sharedoa10referencesI5ShapeEE", False),
        ("_Z4makeIN8sharedoa3refI5ShapeEEEvT_", False),
        ("_ZN4game4makeEPN8sharedoa3refI5ShapeEE", False),
        ("__nv_static_40__1_a_cu__Z4makeN8sharedoa10referencesI5ShapeEE", False),
    ],
)
def test_our_functions_by_their_own_names(name: str, ours: bool) -> None:
    assert is_ours(name) == ours


@pytest.mark.parametrize("variant", ["misnamed.ptx", "misnamed.unoptimised.ptx"])
def test_misnamed_methods_and_destructors_make_objects(variant: str) -> None:
    text = for_heap((FOLDER / variant).read_text())
    module = read_module(text, variant)
    makers = {found.where for found in constructions(module, TableUses(module))}
    # Without optimisation each class has a constructor of its own.
    expected = {"_ZN7Factory6makeD1Ev", "_ZN4LastI4LeafED1Ev", "_ZN4LastI4TwigED1Ev"}
    if "unoptimised" in variant:
        expected = {"_ZN4LeafC1Ev", "_ZN4TwigC1Ev"}
    assert expected <= makers
    calls = rewrite(text, parse_mode("range+switch"), variant).calls
    assert all("else by the header" in call.reason for call in calls)


def test_destructors_of_existing_objects_make_none() -> None:
    module = read_module((FOLDER / "destructors.ptx").read_text())
    makers = [found.where for found in constructions(module, TableUses(module))]
    assert makers == ["_Z4makePP8Resourcei"]
