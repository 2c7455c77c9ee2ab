"""CUDA C++ programs: the host runtime sharedoa.cuh, and ptxpass inside nvcc.

What needs no CUDA in the header is compiled by the machine's C++ compiler and compared with
``dispatch``; steps that need nvcc are skipped where there is none, as in CI.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.identify.bits import TAG_LIMIT, TAG_SHIFT
from dispatch.range_table import SegmentTree
from dispatch.state import WORDS
from ptxpass import nvcc
from tests.differential.effort import examples

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "ptxpass" / "examples"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
MODES = ("coal", "typepointer", "range+switch", "bits+switch", "tag+switch")

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")

DRIVER = r"""
#include "sharedoa.cuh"
#include <cstdio>
#include <cstring>

namespace {

std::uint64_t number() {
    unsigned long long value;
    if (std::scanf("%llu", &value) != 1) std::exit(3);
    return value;
}

void tree(bool merge) {
    std::vector<sharedoa::range> ranges(number());
    for (auto& range : ranges) {
        range.start = number();
        range.end = number();
        range.type_index = static_cast<std::uint32_t>(number());
        range.stride = static_cast<std::uint32_t>(number());
    }
    if (merge) ranges = sharedoa::merge_neighbours(ranges);
    const auto nodes = sharedoa::build_tree(ranges);
    std::fwrite(nodes.data(), sizeof(sharedoa::tree_node), nodes.size(), stdout);
}

// Takes as many places as each request says, gives one of them back, and tells where they are.
void places() {
    static char memory[1 << 22];
    std::size_t cut = 0;
    sharedoa::detail::class_record record;
    record.stride = number();
    const std::size_t initial = number();
    for (std::size_t requests = number(); requests > 0; --requests) {
        std::vector<char*> taken(number());
        record.make_room(taken.size(), initial, [&](std::size_t size, const std::string&) {
            return memory + std::exchange(cut, cut + size);
        });
        record.take(taken.size(), taken.data());
        for (char* place : taken) std::printf("%lld ", static_cast<long long>(place - memory));
        std::printf("\n");
        record.freed.push_back(taken.back());
    }
    for (const auto& region : record.regions) std::printf("%zu ", region.capacity);
    std::printf("\n");
}

struct Base {
    virtual ~Base() = default;
    int field = 0;
};
struct Derived : Base {};

void reference() {
    Derived object;
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(&object);
    const std::uint64_t type_index = sharedoa::tag_limit;
    auto* tagged = reinterpret_cast<Derived*>(address | type_index << sharedoa::tag_shift);
    sharedoa::ref<Base> ref = sharedoa::references<Derived>(&tagged, 1)[0];
    static_assert(sizeof ref == sizeof(Base*));
    ref->field = 7;
    const bool same = sharedoa::address(tagged) == &object && (*ref).field == 7;
    Base* raw = ref;
    const auto bits = reinterpret_cast<std::uint64_t>(raw);
    std::printf("%d %u", same && object.field == 7, static_cast<unsigned>(bits >> 49));
}

}  // namespace

int main(int, char** arguments) {
    try {
        if (!std::strcmp(arguments[1], "tree")) tree(false);
        if (!std::strcmp(arguments[1], "merge")) tree(true);
        if (!std::strcmp(arguments[1], "places")) places();
        if (!std::strcmp(arguments[1], "reference")) reference();
    } catch (const sharedoa::error& error) {
        std::fputs(error.what(), stderr);
        return 1;
    }
}
"""

Range = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.cpp").write_text(DRIVER)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{nvcc.INCLUDE}"]
    made = folder / "driver"
    subprocess.run([COMPILER, *flags, folder / "driver.cpp", "-o", made], check=True)
    return made


def ask(driver: Path, command: str, *numbers: int) -> bytes:
    text = " ".join(map(str, numbers)).encode()
    return subprocess.run([driver, command], input=text, check=True, capture_output=True).stdout


@st.composite
def disjoint_ranges(draw: st.DrawFn) -> list[Range]:
    """Sorted; many touch, some of them with one class."""
    lengths = draw(st.lists(st.integers(1, 1 << 40), max_size=40))
    gaps = st.sampled_from([0, 0, 0, 1, 256, 1 << 30])
    found: list[Range] = []
    address = draw(st.integers(1, 1 << 46))
    for length in lengths:
        type_index = draw(st.integers(1, 3))
        found.append((address, address + length, type_index, 8 * type_index))
        address += length + draw(gaps)
    return found


def expected_tree(ranges: list[Range]) -> bytes:
    starts, ends, type_indices, strides = zip(*ranges, strict=True) if ranges else ((),) * 4
    lives = [0] * len(ranges)
    return SegmentTree.build(starts, ends, type_indices, strides, lives).nodes.tobytes()


@settings(max_examples=examples(120))
@given(disjoint_ranges())
def test_the_header_builds_the_tree_of_range_table(driver: Path, ranges: list[Range]) -> None:
    numbers = [number for item in ranges for number in item]
    assert ask(driver, "tree", len(ranges), *numbers) == expected_tree(ranges)


@settings(max_examples=examples(120))
@given(disjoint_ranges(), st.randoms(use_true_random=False))
def test_touching_ranges_of_one_class_become_one(
    driver: Path, ranges: list[Range], random: Random
) -> None:
    merged: list[Range] = []
    for item in ranges:
        if merged and merged[-1][1:3] == (item[0], item[2]):
            item = (merged.pop()[0], *item[1:])
        merged.append(item)
    shuffled = list(ranges)
    random.shuffle(shuffled)
    numbers = [number for item in shuffled for number in item]
    assert ask(driver, "merge", len(ranges), *numbers) == expected_tree(merged)


@pytest.mark.parametrize("ranges", [[(8, 8)], [(8, 24), (16, 32)], [(32, 40), (8, 16)]])
def test_ranges_that_are_no_ranges_are_refused(driver: Path, ranges: list[tuple[int, int]]) -> None:
    text = " ".join(f"{start} {end} 1 8" for start, end in ranges)
    done = subprocess.run(
        [driver, "tree"], input=f"{len(ranges)} {text}", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "sorted, disjoint and not empty" in done.stderr


def test_regions_double_and_freed_places_come_first(driver: Path) -> None:
    stride, initial, requests = 24, 16, [10, 6, 20, 100, 300]
    *lines, capacities = (
        ask(driver, "places", stride, initial, len(requests), *requests).decode().splitlines()
    )
    # 85 of the 100 do not fit, nor would they into the next region of 64: the one of 128 does.
    assert [int(word) for word in capacities.split()] == [16, 32, 128, 256]
    batches = [[int(word) for word in line.split()] for line in lines]
    live: set[int] = set()
    for batch, count in zip(batches, requests, strict=True):
        assert len(set(batch)) == count
        assert not live.intersection(batch)
        live.update(batch[:-1])  # the driver gives back the last of each
    for earlier, later in pairwise(batches):
        assert later[0] == earlier[-1]
    assert batches[0] == [stride * i for i in range(10)]


def test_tagged_references_work_on_the_host(driver: Path) -> None:
    assert ask(driver, "reference").decode() == f"1 {TAG_LIMIT}"


def test_the_header_says_what_dispatch_says() -> None:
    text = (nvcc.INCLUDE / "sharedoa.cuh").read_text()
    assert f"tag_shift = {TAG_SHIFT};" in text
    assert f"sharedoa_state[{WORDS}];" in text


# ---------------------------------------------------------------------------- ptxpass inside nvcc

DRY_RUN = """\
nvcc warning : something
#$ _SPACE_=\x20
#$ CICC_PATH=/cuda/nvvm/bin
#$ INCLUDES="-I/cuda/include" \x20
#$ "$CICC_PATH/cicc" -arch compute_80 "a b.ii" -o "/tmp/a b.ptx"
#$ ptxas -arch=sm_80 "/tmp/a b.ptx" -o a.cubin
"""


def test_a_dry_run_is_read_as_variables_and_commands() -> None:
    plan = nvcc.read_plan(DRY_RUN)
    assert plan.variables["CICC_PATH"] == "/cuda/nvvm/bin"
    assert plan.variables["_SPACE_"] == ""
    assert plan.remarks == ["nvcc warning : something"]
    assert [nvcc.made_ptx(command) for command in plan.commands] == [Path("/tmp/a b.ptx"), None]


def test_link_time_optimisation_is_refused() -> None:
    with pytest.raises(nvcc.BuildError, match="without -dlto"):
        nvcc.made_ptx("cicc a.ii -o a.ptx -olto a.ltoir")


def test_steps_that_are_no_commands_are_told() -> None:
    with pytest.raises(nvcc.BuildError, match=r"is no command .No closing quotation.: cicc 'a"):
        nvcc.made_ptx("cicc 'a")


def test_a_rewriter_that_is_no_command_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        nvcc.main(["--mode", "coal", "--ptxpass", "python 'x", "--", "nvcc"])
    assert "--ptxpass: python 'x is no command: No closing quotation" in capfd.readouterr().err


def test_a_dependency_file_is_made_by_a_command_of_its_own() -> None:
    command = ["-MD", "-MT", "a.o", "-MF", "a.d", "-x", "cu", "-c", "a.cu", "-o", "a.o"]
    made = nvcc.dependencies_only(command)
    assert made == ["-M", "-MT", "a.o", "-MF", "a.d", "-x", "cu", "a.cu"]


def test_a_missing_nvcc_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert nvcc.main(["--mode", "coal", "--", "/nowhere/nvcc", "a.cu"]) == 127
    assert "cannot run /nowhere/nvcc: No such file" in capfd.readouterr().err


def test_the_command_line_says_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        nvcc.main(["--mode", "coal"])
    assert "give --mode MODE -- nvcc ARGUMENTS" in capfd.readouterr().err
    assert nvcc.main(["--print-include"]) == 0
    assert (Path(capfd.readouterr().out.strip()) / "sharedoa.cuh").is_file()


PROGRAM = """
#include <sharedoa.cuh>
struct Base { __device__ virtual ~Base() {} __device__ virtual int value() const = 0; };
struct One : Base {
    __device__ One(int a, float b) : a(a), b(b) {}
    __device__ int value() const override { return a; }
    int a; float b;
};
__global__ void sum(sharedoa::references<One> objects, sharedoa::ref<Base> first, int* result) {
    const sharedoa::ref<Base> own = objects[threadIdx.x];
    atomicAdd(result, own->value() + first->value());
}
int main() {
    sharedoa::heap heap(sharedoa::mode::automatic, 64);
    heap.reserve<One>(1000);
    auto* values = heap.array<int>(8);
    const auto objects = heap.create<One>(8, sharedoa::each(values), 2.5f);
    sum<<<1, 8>>>(objects, objects[0], values);
    heap.destroy(objects);
    heap.publish();
    return heap.ranges().size() == 1 && heap.build() == sharedoa::mode::original;
}
"""

FAKE_REWRITE = """
import sys
file, mode, output = sys.argv[3], sys.argv[2], sys.argv[5]
text = open(file).read() + f".visible .global .align 4 .u32 rewritten_for_{mode};\\n"
open(output, "w").write(text)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.cu").write_text(PROGRAM)
    return tmp_path / "program.cu"


@pytest.fixture
def fake_rewrite(tmp_path: Path) -> str:
    """A command that leaves a mark in the PTX."""
    (tmp_path / "rewrite.py").write_text(FAKE_REWRITE)
    return f"{sys.executable} {tmp_path / 'rewrite.py'}"


def nvcc_command(source: Path, *more: str) -> list[str]:
    return ["nvcc", "-std=c++17", f"-I{nvcc.INCLUDE}", str(source), *more]


@needs_nvcc
@pytest.mark.parametrize("standard", ["c++17", pytest.param("c++20", marks=pytest.mark.slow)])
def test_all_of_the_header_compiles_without_warnings(program: Path, standard: str) -> None:
    strict = ["-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Werror", "-arch=sm_80"]
    command = nvcc_command(program, *strict, f"-std={standard}", "-c", "-o", f"{program}.o")
    command.remove("-std=c++17")
    subprocess.run(command, check=True)


@needs_nvcc
@pytest.mark.slow
def test_two_files_with_a_heap_do_not_link(program: Path) -> None:
    second = program.parent / "second.cu"
    second.write_text("#include <sharedoa.cuh>\n")
    command = nvcc_command(program, str(second), "-arch=sm_80", "-o", str(program.parent / "out"))
    done = subprocess.run(command, capture_output=True, text=True)
    assert "sharedoa_cuh_is_included_by_one_file_only" in done.stderr


@pytest.mark.slow
@needs_nvcc
def test_machine_code_and_ptx_of_every_architecture_are_rewritten(
    program: Path, fake_rewrite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    architectures = ["arch=compute_80,code=[compute_80,sm_80]", "arch=compute_90,code=sm_90"]
    generate = [word for each in architectures for word in ("-gencode", each)]
    compile_ = nvcc_command(program, *generate, "--no-compress", "-c", "-o", "program.o")
    dependencies = ["-MD", "-MT", "program.o", "-MF", "program.d"]
    options = ["--mode", "coal", "--ptxpass", fake_rewrite, "--"]
    assert nvcc.main([*options, *compile_, *dependencies]) == 0
    # The symbol tables of two cubins, and the PTX.
    assert Path("program.o").read_bytes().count(b"rewritten_for_coal") >= 3
    rule = Path("program.d").read_text()
    assert rule.startswith("program.o :") and "sharedoa.cuh" in rule
    assert nvcc.main([*options, "nvcc", "program.o", "-arch=sm_80", "-o", "linked"]) == 0
    assert b"rewritten_for_coal" in Path("linked").read_bytes()


@needs_nvcc
def test_a_failed_step_ends_the_build(
    program: Path, fake_rewrite: str, capfd: pytest.CaptureFixture[str]
) -> None:
    made = program.parent / "program.o"
    compile_ = nvcc_command(program, "-arch=sm_80", "-c", "-o", str(made))
    failing = f"{sys.executable} -c 'raise SystemExit(4)'"
    assert nvcc.main(["--mode", "coal", "--ptxpass", failing, "--", *compile_]) == 4
    assert not made.exists()
    program.write_text("#include <nowhere>\n")
    assert nvcc.main(["--mode", "coal", "--ptxpass", fake_rewrite, "--", *compile_]) != 0
    assert "nowhere" in capfd.readouterr().err


# ---------------------------------------------------------------------------- the example


def build_example(folder: Path, *arguments: str) -> str:
    environment = os.environ | {"OUT": str(folder), "PYTHON": sys.executable}
    done = subprocess.run(
        ["sh", EXAMPLES / "build.sh", *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_nvcc
@pytest.mark.slow
def test_the_example_builds_in_every_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCH", "sm_80")
    build_example(tmp_path, "--no-run")
    for mode in ("original", *MODES):
        assert (tmp_path / f"shapes-{mode}").is_file()


@needs_nvcc
@pytest.mark.gpu
@pytest.mark.slow
def test_the_example_gives_the_same_in_every_mode(tmp_path: Path) -> None:
    assert "all builds agree" in build_example(tmp_path)


@needs_nvcc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_the_example_builds_by_cmake(tmp_path: Path) -> None:
    configure = ["cmake", "-S", str(EXAMPLES), "-B", str(tmp_path), "-DCMAKE_CUDA_ARCHITECTURES=80"]
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    subprocess.run([*configure, python], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", tmp_path], check=True, stdout=subprocess.DEVNULL)
    for mode in ("original", *MODES):
        assert (tmp_path / f"shapes-{mode.replace('+', '-')}").is_file()


@needs_nvcc
@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=[pytest.mark.slow] * (mode != "typepointer")) for mode in MODES],
)
def test_rewritten_modules_carry_what_the_heap_reads(tmp_path: Path, mode: str) -> None:
    made = tmp_path / "shapes.cubin"
    compile_ = nvcc_command(EXAMPLES / "shapes.cu", "-arch=sm_80", "-cubin", "-o", str(made))
    assert nvcc.main(["--mode", mode, "--", *compile_]) == 0
    state = symbol_bytes(made.read_bytes(), "sharedoa_state")
    words = struct.unpack(f"<{WORDS}Q", state)
    tagged = mode in ("typepointer", "bits+switch")
    assert words == (0,) * (WORDS - 1) + (3 if tagged else 1,)
    classes = ["_ZTV6Circle", "_ZTV7Hexagon", "_ZTV9Rectangle", "_ZTV6Square"]
    indices = {struct.unpack_from("<I", symbol_bytes(made.read_bytes(), c), 12)[0] for c in classes}
    assert len(indices) == 4 and 0 not in indices


def symbol_bytes(image: bytes, name: str) -> bytes:
    """What an ELF file holds under a symbol."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry_size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, table + i * entry_size) for i in range(count)
    ]
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != 2:  # the symbol table
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, 24):
            text, _, _, section, value, length = struct.unpack_from("<IBBHQQ", image, at)
            end = image.index(b"\0", names + text)
            if image[names + text : end] == name.encode():
                start = sections[section][4] + value
                return image[start : start + length]
    raise AssertionError(f"no symbol {name}")
