"""Modes with tagged references: every address that an instruction reads is masked, or the module is
refused."""

from __future__ import annotations

import re

import pytest

from ptxpass.text import PtxError, print_module, read_module
from ptxpass.text.masking import mask_addresses

HEAD = """.version 8.6
.target sm_100a
.address_size 64
.extern .func (.param .b64 result) outside (.param .b64 one, .param .align 16 .b8 two[16]);
.visible .entry kernel (.param .u64 objects, .param .u32 at)
{
\t.reg .pred %p<4>;
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<8>;
\tld.param.u64 %rd1, [objects];
\tld.param.u32 %r1, [at];
\tadd.s64 %rd2, %rd1, 16;
"""


def masked(*lines: str) -> list[str]:
    """What becomes of the instructions, without declarations."""
    module = read_module(
        HEAD + "".join(f"\t{line}\n" for line in lines) + "\tret;\n}\n", "some.ptx"
    )
    mask_addresses(module)
    body = print_module(module).partition("[at];")[2]
    return [line.strip() for line in body.splitlines() if line.strip()][1:-2]


@pytest.mark.parametrize(
    "line",
    [
        "ld.global.nc.v2.u64 {%rd3, %rd4}, [%rd2+8];",
        "st.u64 [%rd2], %rd3;",
        "atom.global.add.u32 %r2, [%rd2], 1;",
        "red.global.add.u32 [%rd2], 1;",
        "ldu.global.u32 %r2, [%rd2];",
        "prefetch.global.L2 [%rd2+32];",
        "discard.global.L2 [%rd2], 128;",
        "applypriority.global.L2::evict_normal [%rd2], 128;",
        "multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%rd2];",
        "cp.async.ca.shared.global [%r1], [%rd2], 8;",
        "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd2], 16, %rd5;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r1], [%rd2], 64, [%r2];",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 64;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r1], 64;",
        "cp.async.bulk.prefetch.L2.global [%rd2], 64;",
        "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
        "[%r1], [%rd2, {%r3}], [%r2];",
        "isspacep.shared %p1, %rd2;",
        "createpolicy.range.global.L2::evict_last.b64 %rd5, [%rd2], 128, 128;",
        "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;",
    ],
)
def test_addresses_are_masked(line: str) -> None:
    mask, found = masked(line)
    register = re.fullmatch(r"and.b64 (%\w+), %rd2, \d+;", mask)
    assert register is not None
    assert found == line.replace("%rd2", register[1])


def test_masks_hold_under_the_predicate_of_the_access() -> None:
    mask, _ = masked("@!%p1 ld.u32 %r2, [%rd2];")
    assert mask.startswith("@!%p1 and.b64 ")


@pytest.mark.parametrize(
    "line",
    [
        "st.shared.u64 [%rd2], %rd3;",
        "cvta.to.global.u64 %rd3, %rd2;",
        "mbarrier.arrive.shared::cta.b64 %rd3, [%r1];",
        "tex.1d.v4.f32.s32 {%r2, %r3, %r4, %r5}, [%rd2, {%r1}];",
        "mapa.shared::cluster.u32 %r2, %r1, 1;",
        "sub.s64 %rd3, %rd2, %rd1;",
        "setp.lt.u64 %p1, %rd2, %rd1;",
    ],
)
def test_what_is_no_address_of_an_object_stays(line: str) -> None:
    assert masked(line) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd3], %rd2;",
        "frobnicate.global.u32 %r2, [%rd2];",
        "frobnicate.b64 %rd3, %rd2;",
    ],
)
def test_unknown_instructions_are_refused(line: str) -> None:
    with pytest.raises(PtxError, match=r"tagged references cannot be used") as error:
        masked(line)
    assert error.value.line == 13 and line.split()[0] in error.value.message
    assert "choose a mode" in error.value.help


def test_unknown_instructions_without_addresses_are_not() -> None:
    line = "frobnicate.b32 %r2, %r1;"
    assert masked(line) == [line]


def test_arguments_of_outside_functions_are_masked() -> None:
    found = masked(
        "{",
        ".param .b64 one;",
        ".param .align 16 .b8 two[16];",
        ".param .b64 result;",
        "st.param.b64 [one], %rd1;",
        "st.param.v2.b64 [two], {%rd2, %rd1};",
        "call (result), outside, (one, two);",
        "}",
    )
    text = "\n".join(found)
    assert len(re.findall(r"and\.b64", text)) == 3
    assert not re.search(r"st\.param\S* \[\w+\], .*%rd[12]\b", text)
