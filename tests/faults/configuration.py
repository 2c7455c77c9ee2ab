"""Settings and variables of the environment that are wrong, at their limits, or contradict."""

from __future__ import annotations

import sharedoa as oa

from .catalogue import CPU, add, case
from .programs import program, sharedoa
from .texts import Entry, described, entries
from .verdicts import check_equal, may_refuse, refuses

_PROGRAM = """
import sharedoa as oa
from sharedoa import i32
class A(oa.Object):
    x: i32
    def get(self) -> i32:
        return self.x
@oa.kernel
def add(many: oa.Array[A]):
    many[oa.grid(1)].x += 1
try:
    many = oa.new(A, 100, x=1)
    add[100](many)
    assert (many.get().numpy() == 2).all()
except oa.SharedOAError as error:
    print(error)
    raise SystemExit(2)
print("good")
"""

#: Variables, with words of the complaint.
_REFUSED = """
mode_unknown: SHAREDOA_MODE, cual, coal
    SHAREDOA_MODE=cual
mode_empty: SHAREDOA_MODE, coal
    SHAREDOA_MODE=
mode_of_two: SHAREDOA_MODE
    SHAREDOA_MODE=coal,auto
backend_unknown: SHAREDOA_BACKEND, opencl, cpu
    SHAREDOA_BACKEND=opencl
backend_empty: SHAREDOA_BACKEND, cpu
    SHAREDOA_BACKEND=
backend_absent: hip
    SHAREDOA_BACKEND=hip
layout_unknown: SHAREDOA_LAYOUT, soa, tile
    SHAREDOA_LAYOUT=soa
layout_against_mode: tile, cuda
    SHAREDOA_LAYOUT=tile SHAREDOA_MODE=cuda
references_unknown: SHAREDOA_REFERENCES, 16
    SHAREDOA_REFERENCES=16
references_against_mode: 32, typepointer
    SHAREDOA_REFERENCES=32 SHAREDOA_MODE=typepointer
region_zero: SHAREDOA_INITIAL_REGION, 0
    SHAREDOA_INITIAL_REGION=0
region_negative: SHAREDOA_INITIAL_REGION
    SHAREDOA_INITIAL_REGION=-5
region_text: SHAREDOA_INITIAL_REGION
    SHAREDOA_INITIAL_REGION=many
capacity_text: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=lots
capacity_unit: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=5XB
capacity_zero: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=0
capacity_negative: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=-1GiB
capacity_tiny: room|capacity
    SHAREDOA_CAPACITY=16
capacity_absurd: SHAREDOA_CAPACITY|capacity
    SHAREDOA_CAPACITY=1048576GiB
capacity_exponent: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=1e9
capacity_many_digits: SHAREDOA_CAPACITY
    SHAREDOA_CAPACITY=99999999999999999999999999
cache_size_text: SHAREDOA_CACHE_SIZE
    SHAREDOA_CACHE_SIZE=some
cache_size_negative: SHAREDOA_CACHE_SIZE
    SHAREDOA_CACHE_SIZE=-1
debug_word: SHAREDOA_DEBUG, 0 or 1
    SHAREDOA_DEBUG=yes
debug_two: SHAREDOA_DEBUG, 0 or 1
    SHAREDOA_DEBUG=2
debug_empty: SHAREDOA_DEBUG
    SHAREDOA_DEBUG=
fastmath_word: SHAREDOA_FASTMATH
    SHAREDOA_FASTMATH=on
misspelt: SHAREDOA_MODUS, SHAREDOA_MODE
    SHAREDOA_MODUS=coal
misspelt_short: SHAREDOA_, SHAREDOA_MODE
    SHAREDOA_=1
dump_empty: SHAREDOA_DUMP
    SHAREDOA_DUMP=
"""

#: Variables with which the program works.
_FINE = """
mode_case:
    SHAREDOA_MODE=COAL
mode_spaces:
    SHAREDOA_MODE=\x20auto\x20
region_one:
    SHAREDOA_INITIAL_REGION=1
capacity_fraction:
    SHAREDOA_CAPACITY=0.25GiB
capacity_small_unit:
    SHAREDOA_CAPACITY=256m
region_huge:
    SHAREDOA_INITIAL_REGION=1000000000000000
references_beyond_reach:
    SHAREDOA_REFERENCES=32 SHAREDOA_CAPACITY=64GiB
references_64:
    SHAREDOA_REFERENCES=64
references_32:
    SHAREDOA_REFERENCES=32
cache_off:
    SHAREDOA_CACHE_DIR=off
cache_size_one:
    SHAREDOA_CACHE_SIZE=1
cache_dir_with_spaces:
    SHAREDOA_CACHE_DIR=a/folder/of/größe
layout_tile:
    SHAREDOA_LAYOUT=tile
fastmath:
    SHAREDOA_FASTMATH=1
unordered:
    SHAREDOA_ORDERED=0
without_constants:
    SHAREDOA_SPECIALISE=0
dump_folder:
    SHAREDOA_DUMP=stages
python_backend:
    SHAREDOA_BACKEND=python
unrelated_variable:
    SHARED_OA=1
"""


def _variables(entry: Entry) -> dict[str, str]:
    parts = entry.body.split(" SHAREDOA") if " SHAREDOA" in entry.body else [entry.body]
    texts = [parts[0], *(f"SHAREDOA{part}" for part in parts[1:])]
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _add_refused(entry: Entry) -> None:
    def run() -> None:
        variables = _variables(entry)
        program(_PROGRAM, **variables).refused(*entry.words, status=2)

    run.__doc__ = described("A program with", entry)
    add(f"configuration.{entry.name}", run, debug=False, backends=CPU)


def _add_fine(entry: Entry) -> None:
    def run() -> None:
        program(_PROGRAM, **_variables(entry)).well("good")

    run.__doc__ = described("A program with", entry)
    add(f"configuration.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add_refused(_entry)
for _entry in entries(_FINE):
    _add_fine(_entry)


class Thing(oa.Object):
    x: oa.i32


@case(debug=False)
def arguments_of_a_heap() -> None:
    """Every argument of ``oa.Heap``, wrong."""
    for name, value, words in (
        ("mode", "sideways", ("sideways", "coal")),
        ("mode", 5, ("5",)),
        ("backend", "opencl", ("opencl", "cpu")),
        ("backend", 5, ("5|backend",)),
        ("layout", "rows", ("rows", "aos")),
        ("capacity", -1, ("-1",)),
        ("capacity", 2.5, ("2.5",)),
        ("capacity", "abc", ("abc",)),
        ("capacity", True, ("True",)),
        ("initial_region", 0, ("0",)),
        ("initial_region", 1.5, ("1.5",)),
        ("debug", "perhaps", ("perhaps",)),
        ("debug", 7, ("7",)),
        ("references", 33, ("33",)),
        ("fastmath", "very", ("very",)),
    ):
        arguments = {name: value}
        with refuses((oa.ConfigurationError, oa.BackendError), *words):
            oa.Heap(**arguments)
    with refuses(TypeError, "colour"):
        oa.Heap(colour="red")


@case(debug=False, backends=CPU)
def capacity_reached() -> None:
    """A heap is filled to its capacity, refuses, and goes on."""
    with oa.Heap(capacity="64MiB"):
        kept = []
        with refuses(oa.HeapError, "room|capacity"):
            while True:
                kept.append(oa.zeros(1_000_000, oa.i32))
        many = len(kept)
        with refuses(oa.HeapError, "room|capacity"):
            oa.zeros(1_000_000, oa.i32)
        kept.pop()
        oa.zeros(1_000_000, oa.i32)
        check_equal(many >= 10, True, "whether many arrays found room")
        del kept
        check_equal(len(oa.new(Thing, 1_000_000, x=5)), 1_000_000)


@case(debug=False, backends=CPU)
def capacity_of_an_odd_number() -> None:
    """Capacities of a few bytes to some pages."""
    for capacity in (1, 100, 4096, 65536, 65537, 10**6):
        with may_refuse((oa.HeapError, oa.ConfigurationError), "room|capacity"):
            with oa.Heap(capacity=capacity):
                many = oa.new(Thing, 10, x=3)
                check_equal(many.x.numpy(), [3] * 10)


@case(debug=False, backends=CPU)
def no_home_folder() -> None:
    """No HOME, no cache folder, a HOME that is a file."""
    from pathlib import Path

    Path("file").write_text("x")
    for variables in (
        {"HOME": "/nonexistent"},
        {"HOME": str(Path("file").absolute())},
        {"HOME": "", "XDG_CACHE_HOME": ""},
        {"XDG_CACHE_HOME": "/proc/nothing"},
    ):
        program("import os\nos.environ.pop('SHAREDOA_CACHE_DIR')\n" + _PROGRAM, **variables).well(
            "good"
        )


@case(debug=False, backends=CPU)
def command_with_bad_variables() -> None:
    """``sharedoa config`` with bad variables tells each."""
    sharedoa("config", SHAREDOA_DEBUG="maybe").refused("SHAREDOA_DEBUG", "0 or 1")
    sharedoa("config", SHAREDOA_MODUS="x").refused("SHAREDOA_MODUS")


@case(debug=False, backends=CPU)
def variables_changed_by_the_program() -> None:
    """A program changes a variable between heaps."""
    program(
        """
import os
import sharedoa as oa
os.environ["SHAREDOA_MODE"] = "coal"
assert oa.Heap().mode.name == "coal"
os.environ["SHAREDOA_MODE"] = "auto"
assert oa.Heap().mode.name == "auto"
os.environ["SHAREDOA_MODE"] = "sideways"
try:
    oa.Heap()
except oa.ConfigurationError as error:
    print("good")
"""
    ).well("good")


@case(debug=False, backends=CPU)
def heaps_left_in_another_order() -> None:
    """``with`` blocks of heaps that are left in another order, or twice."""
    first, second = oa.Heap(), oa.Heap()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    check_equal(oa.current_heap() is second, True)
    second.__exit__(None, None, None)
    second.__exit__(None, None, None)
    check_equal(oa.current_heap() not in (first, second), True)
