"""One virtual call a thread: what finding and calling a method costs, in every mode.

T classes with distinct bodies; thread i takes reference i of an array and calls ``update``, which
reads one f32 field, adds, and writes it back. In order *mixed* the classes alternate lane by
lane, in order *sorted* they follow one another. BRANCH runs the same bodies on the same objects
through the same references, told apart by the thread index: no dispatch at all, so the ratio to
it is what dispatch costs. Figure 12 of "Judging a Type by Its Pointer", through the Python
interface.

An object has four f32 fields, 24 bytes with the vtable pointer of the paper's modes; at the
largest common size every mode also runs with 32-byte objects (more fields), to compare equal bytes.

Expected before running, on an H200 with 16 Mi objects of 4 types and 32 bytes, in us mixed /
sorted: sharedoa 340 / 299, coal 343 / 297, typepointer 341 / 298, range+switch and bits+switch
293 / 292, BRANCH 293 / 292 (floor: 8 + 32 + 32 bytes an object at 4.2 TB/s, 288 us). tag+switch
near 293: its tag lies in the sector that the field is in. header+switch the same and one small
load more. range+vtable and bits+vtable as coal and typepointer. Without a header objects have 16
bytes: the floor falls to 8 + 16 + 16 bytes, 160 us, and with half the bytes under way latency
shows: BRANCH 170 to 200, bits+switch 0 to 2 % over it, range+switch 2 to 8 % (the walk is three
dependent loads that hit the cache), indirect calls 45 us and more when mixed. cuda and concord
depend on where the device's malloc puts objects: 700 and 570 at 64 bytes a piece.
With T classes mixed, an indirect call runs its T bodies one after another, each with a load and a
store of its own: from 8 classes on time grows with T, to 1300 us at 32. In BRANCH and behind a
switch LLVM moves the load before the branch and the store behind it, so that only the additions
are apart: nearly flat up to 32. Sorted calls do not change with T. On a CPU with few cores:
BRANCH and switch equal within noise, vtable 10 to 30 % over them when mixed.

Found on an H200 (bench/results): as expected with 4 classes, within 5 %. Wrong with 32: BRANCH
and switch are not flat (560 us at 16 bytes, 715 at 32), since the branches themselves run one
after another; range+switch stays within 5 % of BRANCH. Not expected: indirect calls behind a
header or tag take 660 to 740 us there, without one 1130 to 1330. Probably that load fetches the
objects of all 32 threads at once, and the bodies then find their fields in the cache; without
it each of the 32 bodies in turn waits for memory.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import sharedoa as oa
from bench.class_family import FIELD, FIELDS, WIDTHS, Family, family, updated
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from dispatch.mode import parse_mode
from sharedoa.model.object import shared_type

MI = 1 << 20
ORDERS = ("mixed", "sorted")
#: Objects of one type are numbered modulo this, so that updated values stay exact in f32.
_VALUES = 1024
_REFERENCE_BYTES = 8
#: Part of the free memory that one case may take.
_MEMORY_SHARE = 0.8
#: Making and freeing objects one by one on the device takes some 4 s a Mi: above this, scattered
#: modes are left out.
SCATTERED_LIMIT = {"cuda": 16 * MI, "cpu": 4 * MI}
_EQUAL_BYTES = 32

#: Median us on one H200 with 16 Mi objects of 4 types and 32 bytes (64 in cuda and concord), mixed
#: and sorted, measured with hand-written kernels before this package existed.
HAND_WRITTEN = {
    "cuda": (722, 589),
    "concord": (569, 568),
    "sharedoa": (340, 299),
    "coal": (343, 297),
    "typepointer": (341, 298),
    "range+switch": (293, 292),
    "bits+switch": (294, 292),
}
HAND_WRITTEN_BRANCH = (293, None)


#: Modes with families whose code has been looked at.
_verified: set[tuple[str, Family]] = set()


@dataclass(frozen=True)
class Case:
    """One heap: ``objects`` in all, of ``types`` classes with ``fields`` f32 fields."""

    mode: str
    objects: int
    types: int
    fields: int = len(FIELDS)


def cases(options: Options) -> Iterator[Case]:
    """Every mode by number of objects with 4 types; those that place by type also by number of
    types, and with objects of equal size."""
    modes = options.modes
    if not options.full:
        yield from (Case(mode, 1 << 12, types) for types in (1, 4, 32) for mode in modes)
        return
    for objects in (1, 2, 4, 8, 16, 32):
        yield from (Case(mode, objects * MI, 4) for mode in modes)
    # Creating 16 Mi objects one by one on the device takes a minute.
    modes = tuple(mode for mode in modes if parse_mode(mode).placement == "by_type")
    for types in WIDTHS:
        if types != 4:
            yield from (Case(mode, 16 * MI, types) for mode in modes)
    for mode in modes:
        header = parse_mode(mode).header_size
        fields = (_EQUAL_BYTES - header) // np.dtype(np.float32).itemsize
        if fields != len(FIELDS):
            yield Case(mode, 16 * MI, 4, fields)


def run(options: Options) -> Result:
    """Measure every case; a case that does not fit is recorded with the reason instead."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    result = Result("virtual-call", backend, {"repeat": options.repeat, "full": options.full})
    for case in cases(options):
        with result.attempt(str(case)):
            rows = list(_measure(case, backend, options.repeat))
            result.rows += rows
            _progress(case, rows)
        gc.collect()
    _show(result)
    return result


def _measure(case: Case, backend: str, repeat: int) -> Iterator[dict[str, Any]]:
    with oa.Heap(mode=case.mode, backend=backend) as heap:
        reason = _reason_to_skip(case, heap)
        if reason:
            yield {**asdict(case), "skipped": reason}
            return
        made = family(case.types, case.fields)
        kinds = made.classes
        each = case.objects // case.types
        values = (np.arange(each) % _VALUES).astype(np.float32)
        groups = [oa.new(c, each, **{FIELD: values}) for c in kinds]
        in_order = oa.concat(*groups)
        mixed = oa.zeros(case.objects, made.base)
        made.module.interleave[case.objects](in_order, mixed, case.types, each)
        _require_distinct_bodies(made, case)
        launches = 0

        def counted(launcher: Any, *arguments: Any) -> Any:
            def launch() -> None:
                nonlocal launches
                launches += 1
                launcher(*arguments)

            return launch

        call = made.module.virtual_call[case.objects]
        branch = made.module.branch[case.objects]
        for order, items in zip(ORDERS, (mixed, in_order), strict=True):
            shift = 0 if order == "mixed" else each.bit_length() - 1
            for kernel, launch in (
                ("branch", counted(branch, items, shift, case.types - 1)),
                ("virtual call", counted(call, items)),
            ):
                samples = heap.backend.time_launches(launch, repeat)
                size = heap.layout.record(shared_type(kinds[0])).size
                yield {
                    **asdict(case),
                    "order": order,
                    "kernel": kernel,
                    "object_bytes": size,
                    **summary(samples),
                }
        for kind, group in enumerate(groups):
            _check(group, kind, values, launches)


def _reason_to_skip(case: Case, heap: oa.Heap) -> str:
    scattered = heap.mode.placement == "scattered"
    limit = SCATTERED_LIMIT.get(heap.backend.name, 0)
    if scattered and case.objects > limit:
        return f"placed one by one, which is measured up to {limit:,} objects"
    record = heap.layout.record(shared_type(family(case.types, case.fields).classes[0]))
    # Two arrays of references, and the staging of values that the host hands over.
    needed = case.objects * (record.size + 3 * _REFERENCE_BYTES)
    free = heap.backend.free_memory()
    if needed > _MEMORY_SHARE * free:
        return f"needs {needed:,} bytes of {free:,} that are free"
    return ""


def _require_distinct_bodies(made: Family, case: Case) -> None:
    """LLVM must not have merged the bodies: each class has an addition of its own in both
    kernels. (It may share the load before and the store after them.)"""
    if (case.mode, made) in _verified:
        return
    _verified.add((case.mode, made))
    for kernel in (made.module.virtual_call, made.module.branch):
        additions = len(re.findall(r"\b(?:add|sub)\.rn\.f32", kernel.asm["ptx"]))
        if additions < case.types:
            raise AssertionError(
                f"{kernel.name} in mode {case.mode} has {additions} additions for {case.types} "
                "classes: the bodies were merged and there is nothing to measure"
            )


def _check(group: oa.Array, kind: int, values: np.ndarray[Any, Any], launches: int) -> None:
    expected = updated(kind, values, launches)
    found = np.asarray(getattr(group, FIELD))
    if not np.array_equal(found, expected):
        wrong = int(np.argmax(found != expected))
        raise AssertionError(
            f"object {wrong} of class {kind} holds {found[wrong]}, not {expected[wrong]}, "
            f"after {launches} launches"
        )


def _progress(case: Case, rows: list[dict[str, Any]]) -> None:
    medians = ", ".join(
        f"{row['order']} {row['kernel']} {row['median'] * MICROSECONDS:.1f} us"
        for row in rows
        if "median" in row
    )
    text = medians or rows[0]["skipped"]
    print(
        f"{case.mode}: {case.objects:,} objects, {case.types} types, {case.fields} fields: {text}",
        file=sys.stderr,
    )


def _show(result: Result) -> None:
    measured = [row for row in result.rows if "median" in row]
    branches = {
        (row["mode"], row["objects"], row["types"], row["fields"], row["order"]): row["median"]
        for row in measured
        if row["kernel"] == "branch"
    }
    rows = []
    for row in measured:
        key = (row["mode"], row["objects"], row["types"], row["fields"], row["order"])
        row["ratio_to_branch"] = row["median"] / branches[key]
        row["ratio_to_hand_written"] = _ratio_to_hand_written(row, result.backend)
        if row["kernel"] == "virtual call":
            rows.append(
                (
                    row["mode"], row["objects"], row["types"], row["object_bytes"], row["order"],
                    row["median"] * MICROSECONDS, branches[key] * MICROSECONDS,
                    row["ratio_to_branch"], row["ratio_to_hand_written"],
                )
            )  # fmt: skip
    headings = (
        "mode", "objects", "types", "bytes", "order", "us", "BRANCH us", "ratio", "to hand-written"
    )  # fmt: skip
    show("Virtual calls", headings, rows)


def _ratio_to_hand_written(row: dict[str, Any], backend: str) -> float | None:
    """Where the same was measured: a GPU, 16 Mi objects of 4 types, 32 bytes (64 scattered)."""
    known = HAND_WRITTEN_BRANCH if row["kernel"] == "branch" else HAND_WRITTEN.get(row["mode"])
    size = row["object_bytes"]
    scattered = parse_mode(row["mode"]).placement == "scattered"
    alike = (row["objects"], row["types"]) == (16 * MI, 4) and (scattered or size == _EQUAL_BYTES)
    if known is None or not alike or backend != "cuda":
        return None
    microseconds = known[ORDERS.index(row["order"])]
    return None if microseconds is None else row["median"] * MICROSECONDS / microseconds


if __name__ == "__main__":
    main(run, __doc__)
