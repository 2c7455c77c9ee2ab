"""Every mode's code calls the right method, run on the host on real memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llvmlite import ir

from dispatch.header_format import VTABLE_POINTER
from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.lookup import LOOKUP
from dispatch.mode import MODES, parse_mode
from dispatch.windows import Windows
from ptxpass.ir import Candidate, LoweringError, Ranges, decide, decide_test
from tests.modes import rotated

from ..pairwise import pairwise
from .hand_written import (
    I64,
    REFUSED,
    SLOT,
    VOID,
    Class,
    HandWritten,
    Objects,
    classes,
    expected,
    weighing,
)
from .machine import AMDGPU, HostCode, amdgpu_object, new_device_module, verified

MANY = classes(3, 4, 7, 11, 12)
SHARING = [Class("C3", 3, "C3"), Class("C4", 4, "C3"), Class("C9", 9, "C9")]


@pytest.mark.parametrize(
    ("name", "known", "debug", "optimised"),
    pairwise(
        MODES,
        [
            pytest.param(MANY, id="many"),
            pytest.param(SHARING, id="sharing"),
            pytest.param(MANY[:1], id="one"),
        ],
        [False, True],
        [False, True],
    ),
)
def test_calls_the_method_of_the_objects_class(
    name: str, known: list[Class], debug: bool, optimised: bool
) -> None:
    mode = parse_mode(name)
    module = weighing(mode, known, debug)
    objects = Objects(mode, known, count=3)
    found = objects.run(HostCode(module, optimised))
    assert found == [expected(cls, x) for x, cls in enumerate(objects.classes)]


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("known", [MANY, MANY[:1]], ids=["many", "one"])
def test_a_type_test_gives_the_type_index(name: str, known: list[Class], debug: bool) -> None:
    mode = parse_mode(name)
    written = HandWritten(ir.Module(), mode, known, debug=debug)
    written.add_asking_body()
    assert "sharedoa_type_index" not in written.module.globals
    objects = Objects(mode, known, count=2)
    found = objects.run(HostCode(written.module, optimised=True))
    assert found == [cls.type_index for cls in objects.classes]


HEADER_MODES = [name for name in MODES if parse_mode(name).header == VTABLE_POINTER]
OTHER_MODES = [name for name in MODES if name not in HEADER_MODES]


@pytest.mark.parametrize("name", HEADER_MODES)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("known", [MANY, SHARING, MANY[:1]], ids=["many", "sharing", "one"])
def test_the_canonical_form_runs_where_objects_have_vtable_pointers(
    name: str, known: list[Class], debug: bool
) -> None:
    mode = parse_mode(name)
    objects = Objects(mode, known, count=3)
    module = weighing(mode, known, debug, canonical=True)
    assert "sharedoa_functions_Root" in module.globals
    assert not {LOOKUP, "sharedoa_rows_Root", REFUSED} & {*module.globals}
    found = objects.run(HostCode(module, optimised=True))
    assert found == [expected(cls, x) for x, cls in enumerate(objects.classes)]
    asking = HandWritten(ir.Module(), mode, known, debug=debug, canonical=True)
    asking.add_asking_body()
    found = objects.run(HostCode(asking.module, optimised=True))
    assert found == [cls.type_index for cls in objects.classes]


@pytest.mark.parametrize("name", OTHER_MODES)
def test_elsewhere_it_loads_nothing_and_calls_functions_that_nobody_defines(name: str) -> None:
    module = weighing(parse_mode(name), MANY, canonical=True)
    (declared,) = [f for f in module.functions if f.is_declaration]
    assert declared.name == f"sharedoa_virtual_Root_{SLOT}_weigh"
    assert str(verified(module)).count("load ") == 1, "the reference"
    asking = HandWritten(ir.Module(), parse_mode(name), MANY, canonical=True)
    asking.add_asking_body()
    assert asking.module.globals["sharedoa_type_index"].is_declaration
    assert str(verified(asking.module)).count("load ") == 1


def test_methods_of_one_name_and_slot_are_declared_apart() -> None:
    """Classes of one family that know nothing of each other may have them."""
    written = HandWritten(ir.Module(), parse_mode("auto"), MANY, canonical=True)
    body, builder = written.new_body(leaves=2)
    signatures = [ir.FunctionType(I64, [I64] * count) for count in (1, 2, 2, 1)]
    calls = [written.virtual_call(signature) for signature in signatures]
    lowering = written.lowering(*calls)
    for call in calls:
        lowering.call(builder, call, body.args[: len(call.signature.args)])
    builder.ret_void()
    lowering.complete()
    verified(written.module)
    assert len([f for f in written.module.functions if f.is_declaration]) == 3


@pytest.mark.parametrize("name", ["typepointer", "bits+vtable", "bits+switch"])
@pytest.mark.parametrize("debug", [False, True])
def test_types_beyond_15_bits_are_found_by_range(name: str, debug: bool) -> None:
    known = classes(TAG_LIMIT - 1, TAG_LIMIT, TAG_LIMIT + 1, TAG_LIMIT + 2)
    mode = parse_mode(name)
    module = weighing(mode, known, debug)
    objects = Objects(mode, known, count=2)
    assert [reference >> TAG_SHIFT for reference in objects.references[2:6]] == [TAG_LIMIT] * 2 + [
        0
    ] * 2
    found = objects.run(HostCode(module, optimised=True))
    assert found == [expected(cls, x) for x, cls in enumerate(objects.classes)]


@pytest.mark.parametrize("last", [TAG_LIMIT, TAG_LIMIT + 1])
def test_range_is_asked_only_where_a_type_may_lack_a_tag(last: int) -> None:
    mode, known = parse_mode("typepointer"), classes(1, last)
    assert (LOOKUP in weighing(mode, known).globals) == (last > TAG_LIMIT)
    reason = decide(mode, known, 0, False, Ranges).reason
    assert ("1 found by range" in reason) == (last > TAG_LIMIT)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("count", [1, 2])
def test_debug_refuses_an_object_of_another_class(name: str, count: int) -> None:
    """Also where one class is known, whose method is called directly in some modes."""
    mode = parse_mode(name)
    known, stranger = MANY[:count], MANY[2]
    module = weighing(mode, known, debug=True)
    objects = Objects(mode, [*known, stranger], count=1)
    code = HostCode(module, optimised=True)
    found = objects.run(code)
    assert found == [*(expected(cls, x) for x, cls in enumerate(known)), 0]
    # Both calls of that one thread.
    assert code.words(REFUSED, 1)[0] == 2


@pytest.mark.parametrize("name", ["typepointer", "bits+vtable", "bits+switch"])
def test_debug_refuses_clobbered_tag_bits(name: str) -> None:
    mode = parse_mode(name)
    module = weighing(mode, MANY, debug=True)
    objects = Objects(mode, MANY, count=1)
    # The tag of another class of the same call.
    objects.references[0] ^= (MANY[0].type_index ^ MANY[1].type_index) << TAG_SHIFT
    code = HostCode(module, optimised=True)
    assert objects.run(code)[0] == 0
    assert code.words(REFUSED, 1)[0] == 2


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("debug", [False, True])
def test_call_without_candidates_is_removed(name: str, debug: bool) -> None:
    mode = parse_mode(name)
    module = weighing(mode, [], debug)
    assert decide(mode, [], 0, False, Ranges).decision == "none"
    objects = Objects(mode, MANY[:1], count=1)
    assert objects.run(HostCode(module, optimised=False)) == [0]


@pytest.mark.parametrize("name", ["sharedoa", "range+switch", "tag+switch", "bits+vtable"])
@pytest.mark.parametrize("debug", [False, True])
def test_void_and_struct_results(name: str, debug: bool) -> None:
    mode = parse_mode(name)
    pair = ir.LiteralStructType([ir.DoubleType(), I64])
    made, kept = ir.FunctionType(pair, [I64]), ir.FunctionType(VOID, [I64, I64, I64])
    written = HandWritten(ir.Module(), mode, MANY, debug=debug)
    for cls in MANY:
        method = ir.Function(written.module, made, cls.method)
        builder = ir.IRBuilder(method.append_basic_block())
        builder.ret(ir.Constant(pair, [ir.DoubleType()(0.5), I64(cls.type_index)]))
        store = ir.Function(written.module, kept, f"store_{cls.method}")
        builder = ir.IRBuilder(store.append_basic_block())
        builder.store(store.args[2], written.pointer(builder, store.args[1]))
        builder.ret_void()
    # Methods of another slot of the same family have other entries; one table holds both.
    storing = [Class(c.name, c.type_index, f"store_{c.method}") for c in MANY]
    calls = written.virtual_call(made, slot=0), written.virtual_call(kept, candidates=storing)
    lowering = written.lowering(*calls)
    body, builder = written.new_body(leaves=2)
    objects, out, x = body.args[:3]
    reference = written.load(builder, builder.add(objects, builder.shl(x, I64(3))), 0, I64)
    value = lowering.call(builder, calls[0], [reference])
    place = builder.add(out, builder.shl(x, I64(3)))
    number = builder.extract_value(value, 1)
    assert lowering.call(builder, calls[1], [reference, place, number]) is None
    builder.ret_void()
    lowering.complete()
    created = Objects(mode, MANY, count=2)
    found = created.run(HostCode(written.module, optimised=True))
    assert found == [cls.type_index for cls in created.classes]


@pytest.mark.parametrize(("name", "debug"), rotated(MODES, [False, True]))
def test_code_for_amd_gpus(name: str, debug: bool) -> None:
    written = HandWritten(new_device_module(AMDGPU), parse_mode(name), MANY, 1, 1, debug)
    written.add_methods()
    written.add_weighing_body()
    assert amdgpu_object(written.module)[:4] == b"\x7fELF"


@pytest.mark.parametrize("name", ["range+switch", "range+vtable", "sharedoa"])
def test_a_missing_method_is_an_error(name: str) -> None:
    written = HandWritten(ir.Module(), parse_mode(name), MANY[1:])
    written.add_methods()
    written.candidates = MANY
    with pytest.raises(LoweringError, match="no function C3"):
        written.add_weighing_body()


def test_a_type_test_calls_nothing() -> None:
    written = HandWritten(ir.Module(), parse_mode("auto"), MANY)
    body, builder = written.new_body(leaves=1)
    site: Any = written.type_test()
    with pytest.raises((LoweringError, AttributeError)):
        written.lowering().call(builder, site, [body.args[0]])


@pytest.mark.parametrize("debug", [False, True])
def test_a_spared_call_reads_the_header(debug: bool) -> None:
    """COAL leaves a call on one object for all threads as it is; the other call looks up."""
    mode = parse_mode("coal")
    written = HandWritten(ir.Module(), mode, MANY, debug=debug)
    written.add_methods()
    body, builder = written.new_body(leaves=2)
    objects, out, x = body.args[:3]
    offset = builder.shl(x, I64(3))
    shared = written.load(builder, objects, 0, I64)
    own = written.load(builder, builder.add(objects, offset), 0, I64)
    calls = written.virtual_call(uniform=True), written.virtual_call()
    lowering = written.lowering(*calls)
    once = lowering.call(builder, calls[0], [shared, x])
    assert LOOKUP not in written.module.globals
    twice = lowering.call(builder, calls[1], [own, once])
    assert LOOKUP in written.module.globals
    builder.store(twice, written.pointer(builder, builder.add(out, offset)))
    builder.ret_void()
    lowering.complete()
    created = Objects(mode, MANY, count=2)
    found = created.run(HostCode(written.module, optimised=True))
    first = created.classes[0]
    assert found == [
        (x * 1000 + first.type_index) * 1000 + cls.type_index
        for x, cls in enumerate(created.classes)
    ]


def test_a_spared_type_test_reads_the_header() -> None:
    written = HandWritten(ir.Module(), parse_mode("coal"), MANY)
    body, builder = written.new_body(leaves=2)
    shared = written.load(builder, body.args[0], 0, I64)
    lowering, site = written.lowering(), written.type_test(uniform=True)
    answer = builder.zext(lowering.type_index(builder, site, shared), I64)
    place = builder.add(body.args[1], builder.shl(body.args[2], I64(3)))
    builder.store(answer, written.pointer(builder, place))
    builder.ret_void()
    lowering.complete()
    assert LOOKUP not in written.module.globals
    created = Objects(written.mode, MANY, count=1)
    found = created.run(HostCode(written.module, optimised=True))
    assert found == [created.classes[0].type_index] * len(MANY)


# ------------------------------------------------------------------- decisions


def decision(name: str, known: Sequence[Candidate], uniform: bool = False) -> str:
    found = decide(parse_mode(name), known, 0, uniform, Ranges)
    assert found.reason
    identified = found.decision.split(" + ")[0]
    assert (found.identify or found.decision) == identified
    return found.decision


def test_what_is_decided() -> None:
    assert decision("coal", MANY) == "range + vtable"
    assert decision("coal", MANY, uniform=True) == "header + vtable (uniform receiver)"
    assert decision("typepointer", MANY[:1]) == "bits + vtable"
    assert decision("concord", MANY) == "tag + switch"
    assert decision("range+switch", MANY) == "range + switch"
    assert decision("range+switch", MANY[:1]) == "direct"
    assert decision("header+vtable", SHARING[:2]) == "direct"
    assert decision("auto", []) == "none"


def test_reasons() -> None:
    auto, windows = parse_mode("auto"), Windows(12, (3, 4, 3, 0))

    def reason(known: Sequence[Candidate], others: int, ranges: Ranges) -> str:
        return decide(auto, known, others, False, lambda: ranges).reason

    counted = "5 classes, 5 methods; mode auto"
    assert reason(MANY, 0, Ranges()) == counted
    assert reason(MANY, 0, Ranges((3, 4))) == f"{counted}; 2 ranges in the code"
    assert reason(MANY, 0, Ranges((), windows)) == f"{counted}; told by 4 windows of equal size"
    assert reason(SHARING, 2, Ranges()) == (
        "3 classes, 2 methods; mode auto; 3 of 5 classes have objects"
    )


def test_where_objects_lie_is_asked_only_where_that_decides() -> None:
    def refuse() -> Ranges:
        raise AssertionError("asked")

    for known in ([], MANY[:1], SHARING[:2]):
        decide(parse_mode("auto"), known, 3, False, refuse)


def test_what_tells_the_class_of_a_type_test() -> None:
    auto, coal = parse_mode("auto"), parse_mode("coal")
    assert decide_test(auto, 2, uniform=False, debug=False) == "range"
    assert decide_test(auto, 1, uniform=False, debug=False) is None
    assert decide_test(auto, 0, uniform=False, debug=False) is None
    assert decide_test(auto, 1, uniform=False, debug=True) == "range"
    # Others may come that nobody knows.
    assert decide_test(coal, 1, uniform=False, debug=False) == "range"
    assert decide_test(coal, 1, uniform=True, debug=False) == "header"
