"""Virtual calls and type tests, on real objects and vtables."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from dispatch.check import CHECK_REFERENCE
from dispatch.header_format import VTABLE_POINTER
from dispatch.mode import MODES, parse_mode
from ptxpass.ir import Lowering, Site
from sharedoa.errors import InternalError
from sharedoa.frontend import tree
from sharedoa.model.layout import Header, Layout
from sharedoa.model.reference import PlainReference, ReferenceEncoding, TaggedReference
from sharedoa.model.scalars import boolean, f32, weak_int
from sharedoa.model.types import VOID, ReferenceType
from sharedoa.targets.optimise import parse

from ..modes import rotated
from . import objects
from .machine import HOST, NVPTX, Kernel, lower_for
from .shapes import Shapes, area_program, call_area, make_shapes, type_test_program
from .trees import (
    HERE,
    add,
    array,
    const,
    element,
    field_of,
    give,
    load,
    program,
    shared_class,
    store,
    use,
    variable,
    when,
)


@pytest.fixture(scope="module")
def shapes() -> Shapes:
    return make_shapes()


BOTH = (False, True)
CANONICAL = [(m, False, debug) for m in ("cuda", "sharedoa", "typepointer") for debug in BOTH]
REWRITTEN = [(mode, True, debug) for mode in ("cuda", "concord") for debug in BOTH]
#: Their check of references needs a heap's regions.
RELEASE_ONLY = [("header+switch", True, False), ("tag+vtable", True, False)]


@pytest.mark.parametrize("layout_name", ["aos", "tile"])
@pytest.mark.parametrize(
    ("mode", "rewritten", "debug"),
    [*CANONICAL, *REWRITTEN, *RELEASE_ONLY],
)
def test_a_virtual_call_runs_the_method_of_the_objects_class(
    shapes: Shapes, mode: str, rewritten: bool, debug: bool, layout_name: str
) -> None:
    encoding = TaggedReference() if parse_mode(mode).tagged_references else PlainReference()
    parsed = parse_mode(mode)
    layout = Layout(layout_name, Header(parsed.header_size, parsed.header_alignment))
    kernel = Kernel(
        area_program(shapes),
        debug=debug,
        rewritten=rewritten,
        mode=mode,
        layout=layout,
        encoding=encoding,
    )
    references = np.array(
        [
            objects.new(shapes.circle, layout, encoding, radius=1),
            objects.new(shapes.square, layout, encoding, side=3),
            objects.new(shapes.round, layout, encoding, radius=2, extra=9),
        ],
        np.uint64,
    )
    out = np.zeros(3, np.float32)
    kernel.launch(3, references, out)
    assert out.tolist() == [7, 19, 25]


class _Recording(Lowering):
    """Notes what the pass is told."""

    made: list[_Recording] = []

    def __init__(self, module: Any, mode: Any, environment: Any, calls: Any) -> None:
        super().__init__(module, mode, environment, calls)
        self.calls, self.tests = [*calls], list[Site]()
        self.made.append(self)

    def type_index(self, builder: Any, site: Site, reference: Any) -> Any:
        self.tests.append(site)
        return super().type_index(builder, site, reference)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., _Recording]:
    """What the pass is told of a program's calls and type tests."""
    monkeypatch.setattr(import_module("sharedoa.codegen.lower"), "Lowering", _Recording)

    def told(program: tree.Program, mode: str = "concord") -> _Recording:
        lower_for(HOST, program, mode=mode)
        return _Recording.made.pop()

    return told


def test_the_pass_is_told_what_it_needs_of_a_call(shapes: Shapes, told: Any) -> None:
    (call,) = told(area_program(shapes)).calls
    assert (call.method, call.slot, call.identify) == ("area", 1, "tag")
    assert call.family == f"Shape_{shapes.shape.type_index}"
    assert [str(type) for type in call.signature.args] == ["i64", "float"]
    assert str(call.signature.return_type) == "float"
    found = [(c.type_index, c.entry_base, c.symbol) for c in call.candidates]
    assert found == [
        (cls.type_index, cls.entry_base, symbol)
        for cls, symbol in (
            (shapes.circle, "Circle.area"),
            (shapes.square, "Square.area"),
            (shapes.round, "Circle.area"),
        )
    ]


def test_each_call_has_its_strategy(shapes: Shapes, told: Any) -> None:
    def strategy(program: tree.Program, mode: str) -> str | None:
        (call,) = told(program, mode).calls
        return call.identify

    alone = variable("shape", ReferenceType(shapes.shape))
    out = array("out", f32)
    uniform = call_area(shapes, use(alone), const(2.0, f32))
    one = program([alone, out], [store(element(use(out)), uniform)], *shapes.functions)
    assert strategy(area_program(shapes), "coal") == "range"
    assert strategy(one, "coal") == "header"
    assert strategy(one, "typepointer") == "bits"


def test_overrides_must_have_the_signature_of_the_call(shapes: Shapes) -> None:
    broken = make_shapes()
    broken.functions[1].result = weak_int
    broken.functions[1].body = []
    with pytest.raises(InternalError, match=r"Square\.area"):
        Kernel(area_program(broken))


def test_a_virtual_method_without_result_runs_for_its_effect() -> None:
    counter = shared_class("Counter", fields={"count": weak_int}, methods={"tick": False})
    receiver = variable("self", ReferenceType(counter))
    place = field_of(use(receiver), "count")
    tick = tree.Function(
        "Counter.tick", "tick", "method", [receiver], VOID,
        [store(place, add(load(place), const(1)))], HERE, counter,
    )  # fmt: skip
    this = variable("this", ReferenceType(counter))
    call = tree.VirtualCall(
        VOID, HERE, use(this), counter, "tick", 0, [], [], [tree.Candidate(counter, tick.symbol)]
    )
    reference = objects.new(counter, count=41)
    Kernel(program([this], [tree.Evaluate(HERE, call)], tick)).launch(1, reference)
    assert objects.get(reference, "count") == 42


def test_recursion_through_a_vtable_is_found(shapes: Shapes) -> None:
    node = shared_class("Node", fields={}, methods={"depth": False})
    node._own_fields = {"next": ReferenceType(node)}
    receiver = variable("self", ReferenceType(node))
    following = load(field_of(use(receiver), "next"))

    def depth_of(value: tree.Expression) -> tree.VirtualCall:
        candidates = [tree.Candidate(node, "Node.depth")]
        return tree.VirtualCall(weak_int, HERE, value, node, "depth", 0, [], [], candidates)

    body: list[tree.Statement] = [
        when(tree.Truth(boolean, HERE, following), [give(add(depth_of(following), const(1)))]),
        give(const(1)),
    ]
    depth = tree.Function("Node.depth", "depth", "method", [receiver], weak_int, body, HERE, node)
    this, out = variable("this", ReferenceType(node)), array("out", weak_int)
    kernel = Kernel(program([this, out], [store(element(use(out)), depth_of(use(this)))], depth))
    reference = 0
    for _ in range(5):
        reference = objects.new(node, next=reference)
    found = np.zeros(1, np.int64)
    kernel.launch(1, reference, found)
    assert found[0] == 5
    assert kernel.lowered.recursive
    assert not Kernel(area_program(shapes)).lowered.recursive


@pytest.mark.parametrize("encoding", [PlainReference(), TaggedReference()], ids=lambda e: e.name)
def test_isinstance_is_true_for_the_class_and_below(
    shapes: Shapes, encoding: ReferenceEncoding
) -> None:
    classes = [shapes.circle, shapes.square, shapes.round]
    references = [objects.new(cls, encoding=encoding) for cls in classes]
    given = np.array([*references, 0], np.uint64)
    for cls in (shapes.shape, *classes):
        kernel = Kernel(type_test_program(shapes, cls), encoding=encoding)
        out = np.full(4, -1)
        kernel.launch(4, given, out)
        expected = [int(found.is_subclass_of(cls)) for found in classes]
        assert out.tolist() == [*expected, 0]


def test_the_pass_is_told_what_it_needs_of_a_type_test(shapes: Shapes, told: Any) -> None:
    (site,) = told(type_test_program(shapes, shapes.circle)).tests
    assert [candidate.type_index for candidate in site.candidates] == [
        cls.type_index for cls in (shapes.circle, shapes.square, shapes.round)
    ]
    assert (site.family, site.identify) == (f"Shape_{shapes.shape.type_index}", "tag")


def test_isinstance_of_a_class_without_objects_is_false(shapes: Shapes, told: Any) -> None:
    ghost = shared_class("Ghost", shapes.shape)
    assert ghost.is_abstract
    program = type_test_program(shapes, ghost)
    out = np.full(1, -1)
    Kernel(program).launch(1, np.array([objects.new(shapes.circle)], np.uint64), out)
    assert out.tolist() == [0]
    assert told(program).tests == []


def test_calls_of_one_family_share_a_table_and_families_do_not(shapes: Shapes, told: Any) -> None:
    other = make_shapes()
    families = {told(area_program(each)).calls[0].family for each in (shapes, shapes, other)}
    assert len(families) == 2


# --------------------------------------------------------------- the canonical form


@pytest.mark.parametrize(("mode", "debug"), rotated(MODES, [False, True]))
def test_no_vtable_is_loaded_where_objects_have_none(
    shapes: Shapes, mode: str, debug: bool
) -> None:
    """Nor is a pointer to one in other modes, but where the mode says so."""
    parsed = parse_mode(mode)
    has_pointer = parsed.header == VTABLE_POINTER
    layout = Layout("aos", Header(parsed.header_size, parsed.header_alignment))

    def text(program: tree.Program, canonical: bool) -> str:
        lowered = lower_for(NVPTX, program, debug, layout, mode=mode, canonical=canonical)
        return str(lowered.module)

    for each in (area_program(shapes), type_test_program(shapes, shapes.circle)):
        canonical, dispatched = text(each, True), text(each, False)
        declared = [line for line in canonical.splitlines() if line.startswith("declare")]
        undefined = [line for line in declared if "_virtual_" in line or "_type_index" in line]
        assert len(undefined) == (not has_pointer)
        assert ("sharedoa_lookup" in canonical, "sharedoa_rows" in canonical) == (False, False)
        assert not any(line in dispatched for line in undefined)
    reads_header = parsed.identify == "header"
    # Code of a debug check of references has other names.
    assert ("sharedoa_functions_" in text(area_program(shapes), False)) == (
        reads_header and parsed.invoke == "vtable"
    )
    assert ("sharedoa_functions_" in text(area_program(shapes), True)) == has_pointer


@pytest.mark.parametrize("mode", ["cuda", "sharedoa"])
def test_the_check_of_references_is_defined_where_it_is_used(shapes: Shapes, mode: str) -> None:
    def check(debug: bool, canonical: bool = False) -> Any:
        lowered = lower_for(HOST, area_program(shapes), debug, mode=mode, canonical=canonical)
        parse(str(lowered.module))
        return lowered.module.globals.get(CHECK_REFERENCE)

    assert check(debug=False) is None
    assert not check(debug=True).is_declaration
    assert check(debug=True, canonical=True).is_declaration
