"""Every mode's code calls the right method, run on the host on real memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from llvmlite import ir

from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.lookup import LOOKUP
from dispatch.mode import MODES, parse_mode
from ptxpass.ir import CallSite, RewriteError

from .hand_written import (
    I64,
    KERNEL,
    REFUSED,
    VOID,
    Canonical,
    Class,
    Objects,
    classes,
    expected,
    weighing,
)
from .machine import AMDGPU, HostCode, amdgpu_object, new_device_module, verified

MANY = classes(3, 4, 7, 11, 12)
SHARING = [Class("C3", 3, "C3"), Class("C4", 4, "C3"), Class("C9", 9, "C9")]


@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("known", [MANY, SHARING, MANY[:1]], ids=["many", "sharing", "one"])
def test_calls_the_method_of_the_objects_class(
    name: str, known: list[Class], debug: bool, optimised: bool
) -> None:
    mode = parse_mode(name)
    canonical = weighing(mode, known, debug)
    canonical.rewrite()
    objects = Objects(mode, known, count=3)
    found = objects.run(HostCode(canonical.module, optimised))
    assert found == [expected(cls, x) for x, cls in enumerate(objects.classes)]


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("known", [MANY, MANY[:1]], ids=["many", "one"])
def test_type_query_gives_the_type_index(name: str, known: list[Class], debug: bool) -> None:
    mode = parse_mode(name)
    canonical = Canonical(ir.Module(), mode, known, debug=debug)
    canonical.add_querying_body()
    canonical.rewrite()
    assert "sharedoa_type_index" not in canonical.module.globals
    objects = Objects(mode, known, count=2)
    found = objects.run(HostCode(canonical.module, optimised=True))
    assert found == [cls.type_index for cls in objects.classes]


@pytest.mark.parametrize("name", ["typepointer", "bits+vtable", "bits+switch"])
@pytest.mark.parametrize("debug", [False, True])
def test_types_beyond_15_bits_are_found_by_range(name: str, debug: bool) -> None:
    known = classes(TAG_LIMIT - 1, TAG_LIMIT, TAG_LIMIT + 1, TAG_LIMIT + 2)
    mode = parse_mode(name)
    canonical = weighing(mode, known, debug)
    canonical.rewrite()
    objects = Objects(mode, known, count=2)
    assert [reference >> TAG_SHIFT for reference in objects.references[2:6]] == [TAG_LIMIT] * 2 + [
        0
    ] * 2
    found = objects.run(HostCode(canonical.module, optimised=True))
    assert found == [expected(cls, x) for x, cls in enumerate(objects.classes)]


@pytest.mark.parametrize("last", [TAG_LIMIT, TAG_LIMIT + 1])
def test_range_is_asked_only_where_a_type_may_lack_a_tag(last: int) -> None:
    canonical = weighing(parse_mode("typepointer"), classes(1, last))
    reports = canonical.rewrite()
    assert (LOOKUP in canonical.module.globals) == (last > TAG_LIMIT)
    assert ("1 found by range" in reports[0].reason) == (last > TAG_LIMIT)


@pytest.mark.parametrize("name", MODES)
def test_debug_refuses_an_object_of_another_class(name: str) -> None:
    mode = parse_mode(name)
    known, stranger = MANY[:2], MANY[2]
    canonical = weighing(mode, known, debug=True)
    canonical.rewrite()
    objects = Objects(mode, [*known, stranger], count=1)
    code = HostCode(canonical.module, optimised=True)
    found = objects.run(code)
    assert found[:2] == [expected(cls, x) for x, cls in enumerate(known)]
    assert found[2] == 0
    # Both calls of that one thread.
    assert code.words(REFUSED, 1)[0] == 2


@pytest.mark.parametrize("name", ["typepointer", "bits+vtable", "bits+switch"])
def test_debug_refuses_clobbered_tag_bits(name: str) -> None:
    mode = parse_mode(name)
    canonical = weighing(mode, MANY, debug=True)
    canonical.rewrite()
    objects = Objects(mode, MANY, count=1)
    # The tag of another class of the same call.
    objects.references[0] ^= (MANY[0].type_index ^ MANY[1].type_index) << TAG_SHIFT
    code = HostCode(canonical.module, optimised=True)
    assert objects.run(code)[0] == 0
    assert code.words(REFUSED, 1)[0] == 2


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("debug", [False, True])
def test_call_without_candidates_is_removed(name: str, debug: bool) -> None:
    canonical = weighing(parse_mode(name), [], debug)
    reports = canonical.rewrite()
    assert {report.decision for report in reports} == {"none"}
    objects = Objects(canonical.mode, MANY[:1], count=1)
    assert objects.run(HostCode(canonical.module, optimised=False)) == [0]


@pytest.mark.parametrize("name", ["sharedoa", "range+switch", "tag+switch", "bits+vtable"])
@pytest.mark.parametrize("debug", [False, True])
def test_void_and_struct_results(name: str, debug: bool) -> None:
    mode = parse_mode(name)
    pair = ir.LiteralStructType([ir.DoubleType(), I64])
    canonical = Canonical(ir.Module(), mode, MANY, debug=debug)
    for cls in MANY:
        method = ir.Function(canonical.module, ir.FunctionType(pair, [I64]), cls.method)
        builder = ir.IRBuilder(method.append_basic_block())
        builder.ret(ir.Constant(pair, [ir.DoubleType()(0.5), I64(cls.type_index)]))
        store = ir.Function(
            canonical.module, ir.FunctionType(VOID, [I64, I64, I64]), f"store_{cls.method}"
        )
        builder = ir.IRBuilder(store.append_basic_block())
        builder.store(store.args[2], canonical.pointer(builder, store.args[1]))
        builder.ret_void()
    body, builder = canonical.new_body(leaves=2)
    objects, out, x = body.args[:3]
    reference = canonical.load(builder, builder.add(objects, builder.shl(x, I64(3))), 0, I64)
    value = canonical.virtual_call(builder, ir.FunctionType(pair, [I64]), reference)
    canonical.candidates = [Class(c.name, c.type_index, f"store_{c.method}") for c in MANY]
    place = builder.add(out, builder.shl(x, I64(3)))
    number = builder.extract_value(value, 1)
    signature = ir.FunctionType(VOID, [I64, I64, I64])
    # Another slot of the same family would have other entries; one table holds both methods here.
    canonical.sites[0] = _in_slot(canonical.sites[0], 0)
    canonical.virtual_call(builder, signature, reference, place, number)
    builder.ret_void()
    canonical.rewrite()
    created = Objects(mode, MANY, count=2)
    found = created.run(HostCode(canonical.module, optimised=True))
    assert found == [cls.type_index for cls in created.classes]


def _in_slot(site: CallSite, slot: int) -> CallSite:
    moved = tuple(replace(c, entry=c.entry - site.slot + slot) for c in site.candidates)
    return replace(site, slot=slot, candidates=moved)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("debug", [False, True])
def test_code_for_amd_gpus(name: str, debug: bool) -> None:
    canonical = Canonical(new_device_module(AMDGPU), parse_mode(name), MANY, 1, 1, debug)
    canonical.add_methods()
    canonical.add_weighing_body()
    canonical.rewrite()
    assert amdgpu_object(canonical.module)[:4] == b"\x7fELF"


def test_missing_method_is_an_error() -> None:
    canonical = weighing(parse_mode("range+switch"), MANY)
    del canonical.module.globals["C7"]
    with pytest.raises(RewriteError, match="no function C7"):
        canonical.rewrite()


def test_missing_kernel_is_an_error() -> None:
    canonical = weighing(parse_mode("coal"), MANY)
    del canonical.module.globals[f"{KERNEL}.body"]
    with pytest.raises(RewriteError, match=r"no function k\.body"):
        canonical.rewrite()


def test_reports_say_what_was_decided() -> None:
    def decision(name: str, known: list[Class]) -> str:
        (report, _) = weighing(parse_mode(name), known).rewrite()
        assert report.candidates == tuple(cls.name for cls in known)
        assert not report.uniform
        assert report.reason
        return report.decision

    assert decision("coal", MANY) == "range + vtable"
    assert decision("typepointer", MANY[:1]) == "bits + vtable"
    assert decision("concord", MANY) == "tag + switch"
    assert decision("range+switch", MANY) == "range + switch"
    assert decision("range+switch", MANY[:1]) == "direct"
    assert decision("header+vtable", [SHARING[0], SHARING[1]]) == "direct"


@pytest.mark.parametrize("debug", [False, True])
def test_spared_call_reads_the_header(debug: bool) -> None:
    """COAL leaves a call on one object for all threads as it is; the other call it rewrites."""
    mode = parse_mode("coal")
    canonical = Canonical(ir.Module(), mode, MANY, debug=debug)
    canonical.add_methods()
    body, builder = canonical.new_body(leaves=2)
    objects, out, x = body.args[:3]
    offset = builder.shl(x, I64(3))
    shared = canonical.load(builder, objects, 0, I64)
    own = canonical.load(builder, builder.add(objects, offset), 0, I64)
    once = canonical.call(builder, shared, x)
    twice = canonical.call(builder, own, once)
    builder.store(twice, canonical.pointer(builder, builder.add(out, offset)))
    builder.ret_void()
    reports = canonical.rewrite()
    assert [report.uniform for report in reports] == [True, False]
    assert reports[0].decision == "header + vtable (uniform receiver)"
    assert reports[1].decision == "range + vtable"
    created = Objects(mode, MANY, count=2)
    found = created.run(HostCode(canonical.module, optimised=True))
    first = created.classes[0]
    assert found == [
        (x * 1000 + first.type_index) * 1000 + cls.type_index
        for x, cls in enumerate(created.classes)
    ]


def test_spared_query_reads_the_header() -> None:
    canonical = Canonical(ir.Module(), parse_mode("coal"), MANY)
    body, builder = canonical.new_body(leaves=2)
    shared = canonical.load(builder, body.args[0], 0, I64)
    found = builder.zext(canonical.query(builder, shared), I64)
    place = builder.add(body.args[1], builder.shl(body.args[2], I64(3)))
    builder.store(found, canonical.pointer(builder, place))
    builder.ret_void()
    canonical.rewrite()
    assert LOOKUP not in canonical.module.globals
    created = Objects(canonical.mode, MANY, count=1)
    found = created.run(HostCode(canonical.module, optimised=True))
    assert found == [created.classes[0].type_index] * len(MANY)


def test_reference_check_is_defined_where_declared() -> None:
    canonical = weighing(parse_mode("cuda"), MANY, debug=True)
    i32 = ir.IntType(32)
    type = ir.FunctionType(i32, [I64, i32])
    ir.Function(canonical.module, type, "sharedoa_check_reference")
    canonical.rewrite()
    assert not canonical.module.globals["sharedoa_check_reference"].is_declaration
    verified(canonical.module)
