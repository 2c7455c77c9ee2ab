"""One virtual call a thread in CUDA C++, beside the same in Python.

The family of ``virtual_call`` twice, as C++ and as Python source, each in a heap of its own in the
same mode. Objects have 32 bytes in both: in C++ a vtable pointer and six f32 fields, in Python the
mode's header and what fits. The four kernels of a case (virtual call and BRANCH in both languages)
take turns, a few launches each, every second round backwards, so that all see the same clocks.
Needs an NVIDIA GPU.

Expected before running, on an H200: at 16 Mi objects of 4 types C++ and Python agree within 5 % in
every mode, mixed and sorted. In us mixed / sorted: sharedoa 340 / 299, coal 343 / 297, typepointer
341 / 298 by hand-written kernels (Python was measured at 323 / 299), range+switch and bits+switch
293 / 292, tag+switch 297 / 297. A first run in C++ gave sharedoa 338 / 298, coal 346 / 297,
typepointer 322 / 291, range+switch 290 / 287, bits+switch 289 / 288, tag+switch 293 / 290, the
switches of range and bits with the prefetch that ptxpass adds. header+vtable as sharedoa,
header+switch as tag+switch: in C++ both read the vtable pointer, then the index beside the vtable,
which hits the cache. range+vtable as coal, bits+vtable as typepointer.

Where they may differ: NVRTC leaves the load inside each case of BRANCH, and ptxpass inside each
body behind a switch, while LLVM moves it before the branch in Python. So C++'s BRANCH may take
what an indirect call without a header takes (320 mixed with 4 types if the bodies stay branches,
293 if they become predicated; 1100 to 1300 with 32), and a virtual call less than its own BRANCH;
the ratio to Python's BRANCH is what dispatch costs. range+switch and bits+switch with 32 types
mixed: 700 to 850, as sharedoa, since the prefetch fetches the objects of all 32 threads at once;
in Python 715. Indirect calls there as in Python: sharedoa 740, coal 1330, typepointer 1250. With
one type the combinations call directly, all at 290 to 300. At 1 Mi objects times are 18 to 25 us,
3 of them the events', and C++ and Python agree within 10 %; 4 and 32 Mi scale with 16. cuda and
concord, 1 Mi objects: 60 to 75, C++ within 5 % of Python, as both are placed alike.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

import sharedoa as oa
from bench import virtual_call
from bench.class_family import FIELD, Family, family
from bench.cxx_family import CxxFamily, cxx_family
from bench.harness import MICROSECONDS, Options, Result, main, show, summary
from bench.virtual_call import MI, ORDERS
from dispatch.header_format import VTABLE_POINTER
from dispatch.mode import Mode, parse_mode
from ptxpass.text import LEFT_ALONE, read_module
from sharedoa.heap.arrays import Array
from sharedoa.model.object import shared_type

NAME = "virtual-call-cxx"
OBJECT_BYTES = 32
CXX, PYTHON = "C++", "Python"
CALL, BRANCH = "virtual call", "branch"
#: Modes measured by number of types and of objects as well.
COMPARED = ("sharedoa", "coal", "typepointer", "range+switch", "bits+switch", "tag+switch")
#: Making and freeing objects one by one takes some 4 s a Mi and language; ``virtual_call`` has
#: more of them.
_SCATTERED_OBJECTS = MI
#: In how many turns the samples of a kernel are taken.
ROUNDS = 4
_ADDITION = re.compile(r"\b(?:add|sub)(?:\.rn)?(?:\.ftz)?\.f32\b")

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Case:
    """Two heaps, of C++ and of Python objects: ``objects`` in each, of ``types`` classes."""

    mode: str
    objects: int
    types: int


@dataclass
class Side:
    """The objects and kernels of one language. ``arrays`` are the references by order; ``call`` and
    ``branch`` launch once; ``launches`` counts."""

    language: str
    heap: oa.Heap
    groups: list[oa.Array]
    arrays: dict[str, Array]
    call: Callable[[Array], None]
    branch: Callable[[Array, int, int], None]
    decision: str | None = None
    launches: int = 0

    def launcher(self, kernel: str, order: str, case: Case) -> Callable[[], None]:
        items, mask = self.arrays[order], case.types - 1
        shift = 0 if order == "mixed" else (case.objects // case.types).bit_length() - 1

        def launch() -> None:
            self.launches += 1
            if kernel == CALL:
                self.call(items)
            else:
                self.branch(items, shift, mask)

        return launch


def cases(options: Options) -> Iterator[Case]:
    """Every mode with 4 types; the modes that are compared also by number of types and objects."""
    modes = options.modes
    if not options.full:
        yield from (Case(mode, 1 << 12, types) for types in (1, 4, 32) for mode in modes)
        return
    for mode in modes:
        scattered = parse_mode(mode).placement == "scattered"
        yield Case(mode, _SCATTERED_OBJECTS if scattered else 16 * MI, 4)
    modes = tuple(mode for mode in modes if mode in COMPARED)
    yield from (Case(mode, 16 * MI, types) for types in (1, 8, 32) for mode in modes)
    yield from (Case(mode, objects * MI, 4) for objects in (1, 4, 32) for mode in modes)


def run(options: Options) -> Result:
    """Measure every case; without an NVIDIA GPU none."""
    with oa.Heap(backend=options.backend) as heap:
        backend = heap.backend.name
    settings = {"repeat": options.repeat, "rounds": ROUNDS, "full": options.full}
    result = Result(NAME, backend, settings)
    if backend != "cuda":
        print(f"{NAME} needs an NVIDIA GPU, and the backend is {backend}", flush=True)
        return result
    for case in cases(options):
        with result.attempt(str(case)):
            rows = list(measure(case, backend, options.repeat))
            result.rows += rows
            _progress(case, rows)
        gc.collect()
    compare(result.rows)
    _show(result.rows)
    return result


def measure(case: Case, backend: str, repeat: int) -> Iterator[dict[str, Any]]:
    """Rows of one case: both orders, kernels and languages."""
    with ExitStack() as heaps:

        def new_heap() -> oa.Heap:
            return heaps.enter_context(oa.Heap(mode=case.mode, backend=backend))

        heap = new_heap()
        reason = _reason_to_skip(case, heap)
        if reason:
            yield {**asdict(case), "skipped": reason}
            return
        each = case.objects // case.types
        values = (np.arange(each) % virtual_call._VALUES).astype(np.float32)
        sides = {PYTHON: _python_side(case, heap, values)}
        sides[CXX] = _cxx_side(case, new_heap(), values)
        for order in ORDERS:
            launches = {
                (kernel, language): side.launcher(kernel, order, case)
                for kernel in (BRANCH, CALL)
                for language, side in sides.items()
            }
            taken = in_turns(launches, heap.backend.time_launches, repeat)
            for (kernel, language), samples in taken.items():
                side = sides[language]
                yield {
                    **asdict(case),
                    "order": order,
                    "kernel": kernel,
                    "language": language,
                    "object_bytes": OBJECT_BYTES,
                    **({"decision": side.decision} if side.decision and kernel == CALL else {}),
                    **summary(samples),
                }
        for side in sides.values():
            _check(side, case, values)


def in_turns(
    launches: Mapping[Key, Callable[[], None]],
    time_launches: Callable[[Callable[[], None], int], list[float]],
    repeat: int,
) -> dict[Key, list[float]]:
    """``repeat`` samples of each launch, in rounds whose order turns round every time."""
    samples: dict[Key, list[float]] = {key: [] for key in launches}
    rounds = min(ROUNDS, repeat)
    for number in range(rounds):
        count = (number + 1) * repeat // rounds - number * repeat // rounds
        for key in list(launches)[:: -1 if number % 2 else 1]:
            samples[key] += time_launches(launches[key], count)
    return samples


def fields_of(mode: Mode) -> int:
    """How many f32 fields make a Python object as large as the C++ one."""
    return (OBJECT_BYTES - mode.header_size) // np.dtype(np.float32).itemsize


def cxx_fields() -> int:
    return (OBJECT_BYTES - VTABLE_POINTER.size) // np.dtype(np.float32).itemsize


def _python_side(case: Case, heap: oa.Heap, values: np.ndarray[Any, Any]) -> Side:
    made = family(case.types, fields_of(heap.mode))
    groups, in_order, mixed = _objects(made, case, heap, values)
    made.module.interleave[case.objects](in_order, mixed, case.types, len(values))
    virtual_call._require_distinct_bodies(
        made, virtual_call.Case(case.mode, case.objects, case.types, fields_of(heap.mode))
    )
    call, branch = made.module.virtual_call[case.objects], made.module.branch[case.objects]
    return Side(PYTHON, heap, groups, {"mixed": mixed, "sorted": in_order}, call, branch)


def _cxx_side(case: Case, heap: oa.Heap, values: np.ndarray[Any, Any]) -> Side:
    made = cxx_family(case.types, cxx_fields())
    decision = require_distinct_bodies(made, heap.mode)
    groups, in_order, mixed = _objects(made, case, heap, values)
    count, kernels = case.objects, made.program.kernels
    kernels["interleave"][count](in_order, mixed, count, case.types, len(values))
    # Launch sizes are looked at once, as they are in Python.
    call, branch = kernels["virtual_call"][count], kernels["branch"][count]
    return Side(
        CXX,
        heap,
        groups,
        {"mixed": mixed, "sorted": in_order},
        lambda items: call(items, count),
        lambda items, shift, mask: branch(items, count, shift, mask),
        decision,
    )


def _objects(
    made: Family | CxxFamily, case: Case, heap: oa.Heap, values: np.ndarray[Any, Any]
) -> tuple[list[Array], Array, Array]:
    """A group a class, the references in order, and room for the mixed ones."""
    for cls in made.classes:
        size = heap.layout.record(shared_type(cls)).size
        if size != OBJECT_BYTES:
            raise AssertionError(f"objects of {cls.__name__} have {size} bytes")
    groups = [oa.new(cls, len(values), **{FIELD: values}) for cls in made.classes]
    return groups, oa.concat(*groups), oa.zeros(case.objects, made.base)


def require_distinct_bodies(made: CxxFamily, mode: Mode) -> str:
    """Each class has an addition of its own in BRANCH, and in the code that the virtual call leads
    to: behind a switch in the kernel itself, else in the functions. The result is what the pass
    made of the call."""
    types = len(made.classes)
    (report,) = (c for c in made.program.report(mode) if c.function == "virtual_call")
    reads_vtable = mode.identify == "header" and mode.invoke == "vtable"
    if (report.decision == LEFT_ALONE) != reads_vtable or len(report.candidates) != types:
        raise AssertionError(
            f"in mode {mode.name} the call of {len(report.candidates)} of {types} classes is "
            f"{report.decision}: {report.reason}"
        )
    bodies = {
        name: "".join([function.text, *(statement.text for statement in function.body or ())])
        for name, function in read_module(made.program.ptx(mode)).functions.items()
    }
    called = "virtual_call"
    if report.decision.endswith("vtable") or reads_vtable:
        called = "functions of the vtables"
        bodies[called] = "".join(body for name, body in bodies.items() if name.startswith("_Z"))
    for where in ("branch", called):
        additions = len(_ADDITION.findall(bodies[where]))
        if additions < types:
            raise AssertionError(
                f"{where} in mode {mode.name} has {additions} additions for {types} classes: the "
                "bodies were merged and there is nothing to measure"
            )
    return report.decision


def _reason_to_skip(case: Case, heap: oa.Heap) -> str:
    # In each language two arrays of references, and the staging of values from the host.
    needed = 2 * case.objects * (OBJECT_BYTES + 3 * virtual_call._REFERENCE_BYTES)
    free = heap.backend.free_memory()
    if needed > virtual_call._MEMORY_SHARE * free:
        return f"needs {needed:,} bytes of {free:,} that are free"
    return ""


def _check(side: Side, case: Case, values: np.ndarray[Any, Any]) -> None:
    if side.launches % 2 == 0:
        # Twice `a = k - a` is nothing at all: only an odd number of updates shows.
        side.launcher(CALL, "mixed", case)()
    for kind, group in enumerate(side.groups):
        try:
            virtual_call._check(group, kind, values, side.launches)
        except AssertionError as error:
            raise AssertionError(f"{side.language}: {error}") from None


def compare(rows: Sequence[dict[str, Any]]) -> None:
    """Add to each row the ratios of its median: to BRANCH of its language, and in C++ to BRANCH and
    to the same kernel of Python."""
    medians = {_key(row): row["median"] for row in rows if "median" in row}
    for row in rows:
        if "median" in row:
            row["ratio_to_branch"] = row["median"] / medians[_key(row, kernel=BRANCH)]
            if row["language"] == CXX:
                row["ratio_to_python"] = row["median"] / medians[_key(row, language=PYTHON)]
                python_branch = medians[_key(row, kernel=BRANCH, language=PYTHON)]
                row["ratio_to_python_branch"] = row["median"] / python_branch


def _key(row: dict[str, Any], **other: str) -> tuple[Any, ...]:
    changed = {**row, **other}
    names = ("mode", "objects", "types", "order", "kernel", "language")
    return tuple(changed[name] for name in names)


def _progress(case: Case, rows: Sequence[dict[str, Any]]) -> None:
    medians = ", ".join(
        f"{row['order']} {row['language']} {row['kernel']} {row['median'] * MICROSECONDS:.1f} us"
        for row in rows
        if "median" in row
    )
    text = medians or rows[0]["skipped"]
    print(f"{case.mode}: {case.objects:,} objects, {case.types} types: {text}", file=sys.stderr)


def _show(rows: Sequence[dict[str, Any]]) -> None:
    medians = {_key(row): row["median"] * MICROSECONDS for row in rows if "median" in row}
    headings = (
        "mode", "objects", "types", "order", "C++ us", "Python us", "ratio",
        "C++ BRANCH us", "Python BRANCH us", "to C++ BRANCH", "to Python BRANCH",
    )  # fmt: skip
    table = [
        (
            row["mode"], row["objects"], row["types"], row["order"],
            medians[_key(row)], medians[_key(row, language=PYTHON)], row["ratio_to_python"],
            medians[_key(row, kernel=BRANCH)],
            medians[_key(row, kernel=BRANCH, language=PYTHON)],
            row["ratio_to_branch"], row["ratio_to_python_branch"],
        )
        for row in rows
        if row.get("language") == CXX and row["kernel"] == CALL
    ]  # fmt: skip
    show(f"Virtual calls in C++ and in Python, objects of {OBJECT_BYTES} bytes", headings, table)


if __name__ == "__main__":
    main(run, __doc__)
