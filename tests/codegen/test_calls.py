"""Virtual calls in canonical form and type tests, on real objects and vtables."""

from __future__ import annotations

import numpy as np
import pytest

from dispatch.mode import parse_mode
from sharedoa.errors import InternalError
from sharedoa.frontend import tree
from sharedoa.model.layout import Header, Layout
from sharedoa.model.reference import PlainReference, ReferenceEncoding, TaggedReference
from sharedoa.model.scalars import boolean, weak_int
from sharedoa.model.types import VOID, ReferenceType

from . import objects
from .machine import Kernel
from .shapes import Shapes, area_program, make_shapes, type_test_program
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


def test_a_call_site_says_what_the_pass_needs(shapes: Shapes) -> None:
    (site,) = Kernel(area_program(shapes, line=12)).lowered.sites
    assert (site.number, site.method, site.static_class) == (0, "area", "Shape")
    assert site.slot == 1
    assert site.location == "program.py:12"
    assert site.function == "kernel.body"
    found = [(c.class_name, c.type_index, c.entry, c.symbol) for c in site.candidates]
    assert found == [
        (cls.name, cls.type_index, cls.entry_base + 1, symbol)
        for cls, symbol in (
            (shapes.circle, "Circle.area"),
            (shapes.square, "Square.area"),
            (shapes.round, "Circle.area"),
        )
    ]
    block = site.call.parent.instructions
    place = block.index(site.call)
    assert site.chain == block[place - len(site.chain) : place]
    assert site.call.args[0] is site.receiver


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


def test_a_type_query_says_what_the_pass_needs(shapes: Shapes) -> None:
    (query,) = Kernel(type_test_program(shapes, shapes.circle)).lowered.queries
    assert query.candidates == tuple(
        (cls.type_index, cls.name) for cls in (shapes.circle, shapes.square, shapes.round)
    )
    assert (query.location, query.function) == ("program.py:3", "kernel.body")


def test_isinstance_of_a_class_without_objects_is_false(shapes: Shapes) -> None:
    ghost = shared_class("Ghost", shapes.shape)
    assert ghost.is_abstract
    kernel = Kernel(type_test_program(shapes, ghost))
    out = np.full(1, -1)
    kernel.launch(1, np.array([objects.new(shapes.circle)], np.uint64), out)
    assert out.tolist() == [0]
    assert kernel.lowered.queries == []


def test_sites_of_one_family_share_a_table_and_families_do_not(shapes: Shapes) -> None:
    other = make_shapes()
    families = {
        Kernel(area_program(each)).lowered.sites[0].family for each in (shapes, shapes, other)
    }
    assert len(families) == 2
