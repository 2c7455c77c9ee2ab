"""Which functions make objects, by their mangled names and by what they store."""

from __future__ import annotations

import pytest

from dispatch.mode import parse_mode
from ptxpass.text import read_module, rewrite
from ptxpass.text.constructions import constructions, is_ours
from ptxpass.text.names import is_destructor
from ptxpass.text.syntax import Function
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


STORES = """.version 8.0
.target sm_80
.address_size 64
.global .align 8 .u64 _ZTV4Leaf[4] = {0, 0, 0, 0};
.global .align 8 .u64 _ZTV4Twig[4] = {0, 0, 0, 0};
.func make(.param .b64 place, .param .b32 which)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<6>;
    ld.param.b64 %rd1, [place];
    ld.param.b32 %r1, [which];
    setp.ne.b32 %p1, %r1, 0;
    mov.b64 %rd2, _ZTV4Leaf;
    add.s64 %rd3, %rd2, 16;
    mov.b64 %rd4, _ZTV4Twig;
    STATEMENTS
    ret;
}
"""
LEAF, TWIG = ("_ZTV4Leaf", 16), ("_ZTV4Twig", 0)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("st.b64 [%rd1+8], %rd3;", [(8, {LEAF})]),
        ("st.v2.b64 [%rd1+8], {%rd3, %rd4};", [(8, {LEAF}), (16, {TWIG})]),
        ("st.v2.b64 [%rd1], {%rd1, %rd4};", [(8, {TWIG})]),
        ("mov.b64 %rd5, %rd3; @%p1 mov.b64 %rd5, %rd4; st.b64 [%rd1], %rd5;", [(0, {LEAF, TWIG})]),
        ("selp.b64 %rd5, %rd3, %rd4, %p1; st.b64 [%rd1], %rd5;", [(0, {LEAF, TWIG})]),
    ],
    ids=["one", "two at once", "the second of two", "one of two by a guard", "one of two"],
)
def test_what_is_stored_where(
    statements: str, expected: list[tuple[int, set[tuple[str, int]]]]
) -> None:
    module = read_module(STORES.replace("STATEMENTS", statements.replace("; ", ";\n    ")))
    (function,) = (item for item in module.items if isinstance(item, Function))
    stores = TableUses(module).stores(function)
    assert [(store.offset, set(store.tables)) for store in stores.all] == expected
    assert not stores.escapes
