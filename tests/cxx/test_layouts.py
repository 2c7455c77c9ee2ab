"""Where fields lie: what the program says, for every kind of class."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import cxx
from sharedoa.model.layout import Record
from sharedoa.model.types import InlineType, ReferenceType, ValueType

BASE = "struct Shape { __device__ virtual float area() { return 0; } };\n"


def record(cls: type) -> Record:
    found: Record = cls.__sharedoa__.foreign.record
    return found


def test_single_class():
    program = cxx.compile(
        "struct One { bool on; double x; short s; __device__ virtual void f() {} };",
        {"One": [("s", "i2"), ("on", "?"), ("x", "f8")]},
    )
    found = record(program.classes["One"])
    assert (found.size, found.alignment) == (32, 8)
    assert found.offsets == {"s": 24, "on": 8, "x": 16}


def test_tail_padding_is_used_by_derived_classes():
    program = cxx.compile(
        """
struct A { __device__ virtual void f() {} char a; };
struct B : A { char b; };
struct C : B { short c; __device__ void f() override {} };
struct D : C { int d; };
""",
        {"A": [("a", "i1")], "B": [("b", "i1")], "C": [("c", "i2")], "D": [("d", "i4")]},
    )
    found = record(program.classes["D"])
    assert found.offsets == {"a": 8, "b": 9, "c": 10, "d": 12}
    assert found.size == 16
    assert record(program.classes["B"]).offsets == {"a": 8, "b": 9}
    assert program.classes["D"].__mro__[1:4] == tuple(program.classes[n] for n in "CBA")


def test_a_base_that_is_not_declared_is_passed_over():
    program = cxx.compile(
        BASE + "struct Middle : Shape { int m; }; struct Leaf : Middle { int leaf; };",
        {"Leaf": [("m", "i4"), ("leaf", "i4")], "Shape": []},
    )
    assert program.classes["Leaf"].__base__ is program.classes["Shape"]
    assert record(program.classes["Leaf"]).offsets == {"m": 8, "leaf": 12}


def test_alignment(host_heap: oa.Heap):
    program = cxx.compile(
        BASE + "struct alignas(64) Wide : Shape { float w; };", {"Wide": [("w", "f4")]}
    )
    wide = program.classes["Wide"]
    assert (record(wide).size, record(wide).alignment) == (64, 64)
    objects = oa.new(wide, 20, w=1.5)
    assert all(address % 64 == 0 for address in objects.references().tolist())
    with oa.Heap(mode="cuda", backend="cpu"), pytest.raises(oa.ClassError, match="aligned to 64"):
        oa.new(wide, 1)


def test_namespaces_and_templates(host_heap: oa.Heap):
    program = cxx.compile(
        BASE
        + """
namespace one { namespace two { struct Inner : Shape { int i; }; } }
template <class A, class B> struct Box : Shape { A a; B b; };
namespace { struct Hidden : Shape { int h; }; }
typedef Box<one::two::Inner, one::two::Inner> Nested;
""",
        {
            "one::two::Inner": [("i", "i4")],
            "Box<char,double>": [("a", "i1"), ("b", "f8")],
            "Box< double , char >": [("a", "f8"), ("b", "i1")],
            "Hidden": [("h", "i4")],
            "Nested": [],
        },
    )
    assert record(program.classes["Box<char,double>"]).offsets == {"a": 8, "b": 16}
    assert record(program.classes["Box< double , char >"]).offsets == {"a": 8, "b": 16}
    vtables = {cls.__sharedoa__.foreign.vtable for cls in program.classes.values()}
    assert "_ZTVN3one3two5InnerE" in vtables
    assert "_ZTV3BoxIcdE" in vtables
    assert len(vtables) == 5
    assert oa.new(program.classes["one::two::Inner"], i=7).i == 7


def test_members_with_virtual_functions_have_another_vtable():
    program = cxx.compile(
        BASE + "struct Part : Shape { int p; }; struct Whole : Shape { Part part; int w; };",
        {"Whole": [("w", "i4")], "Part": [("p", "i4")]},
    )
    found = {name: cls.__sharedoa__.foreign.vtable for name, cls in program.classes.items()}
    assert found == {"Whole": "_ZTV5Whole", "Part": "_ZTV4Part"}
    assert record(program.classes["Whole"]).offsets == {"w": 24}


@pytest.mark.parametrize("options", [[], ["-G"], ["-lineinfo"], ["-std=c++14"]])
def test_vtables_are_found_whatever_the_options(options: list[str]):
    program = cxx.compile(
        BASE
        + """
struct Copied : Shape { int c; __device__ Copied(const Copied &other) : c(other.c + 1) {} };
struct Kept : Shape { int k; Kept(const Kept &) = delete; Kept() = default; };
struct Part : Shape {}; struct Whole : Shape { Part part; };
""",
        {"Copied": [("c", "i4")], "Kept": [("k", "i4")], "Whole": []},
        options,
    )
    found = {name: cls.__sharedoa__.foreign.vtable for name, cls in program.classes.items()}
    assert found == {"Copied": "_ZTV6Copied", "Kept": "_ZTV4Kept", "Whole": "_ZTV5Whole"}


def test_private_members_are_given_by_offset(host_heap: oa.Heap):
    source = BASE + "class Circle : public Shape { float radius; int n; };"
    fields = np.dtype({"names": ["radius", "n"], "formats": ["f4", "i4"], "offsets": [8, 12]})
    for given in (fields, {"names": ["n", "radius"], "formats": ["i4", "f4"], "offsets": [12, 8]}):
        circle = cxx.compile(source, {"Circle": given}).classes["Circle"]
        one = oa.new(circle, radius=2.5, n=-3)
        assert (one.radius, one.n) == (2.5, -3)
        assert record(circle).offsets == {"radius": 8, "n": 12}


def test_a_dtype_that_numpy_laid_out_says_nothing_of_offsets():
    source = BASE + "struct Point : Shape { char c; double x; };"
    for given in (
        np.dtype([("c", "i1"), ("x", "f8")]),
        np.dtype([("c", "i1"), ("x", "f8")], align=True),
        {"c": ("i1", 0), "x": ("f8", 1)}.items() and [("c", "i1"), ("x", "f8")],
    ):
        program = cxx.compile(source, {"Point": given})
        assert record(program.classes["Point"]).offsets == {"c": 8, "x": 16}


def test_arrays_and_structures(host_heap: oa.Heap):
    program = cxx.compile(
        BASE
        + """
struct Inner { char c; double d; };
struct Point { char tag; float x; Inner inner; };
struct Holder : Shape { unsigned char colour[3]; Point place; Inner parts[2]; float tail; };
""",
        {
            "Holder": [
                ("colour", "u1", 3),
                ("place", [("tag", "i1"), ("x", "f4"), ("inner", [("c", "i1"), ("d", "f8")])]),
                ("parts", [("c", "i1"), ("d", "f8")], 2),
                ("tail", "f4"),
            ]
        },
    )
    cls = program.classes["Holder"]
    types = cls.__sharedoa__.fields
    assert isinstance(types["colour"], InlineType)
    assert isinstance(types["place"], ValueType)
    assert types["place"].fields["inner"] is types["parts"].element
    assert record(cls).offsets == {"colour": 8, "place": 16, "parts": 40, "tail": 72}
    assert record(cls).dtypes["place"].fields["inner"][1] == 8
    holders = oa.new(cls, 4, colour=[1, 2, 3], place=(7, 2.5, (1, 2.5)), tail=[1, 2, 3, 4])
    one = holders[2]
    assert list(one.colour) == [1, 2, 3]
    assert (one.place.tag, one.place.x, one.place.inner.d, one.tail) == (7, 2.5, 2.5, 3)
    one.place = (8, 1.5, one.parts[1])
    one.parts[1] = (3, 4.5)
    assert holders.place["x"].numpy().tolist() == [2.5, 2.5, 1.5, 2.5]
    holders.place["inner"]["d"][...] = [1, 2, 3, 4]
    assert one.place.inner.d == 3
    assert (one.parts[1].c, one.parts[1].d, one.parts[0].d) == (3, 4.5, 0)
    memory = (np.ctypeslib.ctypes.c_uint8 * 80).from_address(one._reference)
    view = np.frombuffer(memory, np.uint8)
    assert view[8:11].tolist() == [1, 2, 3]
    assert view[20:24].view(np.float32)[0] == 1.5
    assert view[64:72].view(np.float64)[0] == 4.5


def test_pointers_to_declared_classes_are_references(host_heap: oa.Heap):
    program = cxx.compile(
        BASE + "struct Node : Shape { Node *next; Shape *both[2]; void *other; };",
        {
            "Node": [("next", "Node *"), ("both", "Shape*", 2), ("other", "u8")],
            "Shape": [],
        },
    )
    node, fields = program.classes["Node"], program.classes["Node"].__sharedoa__.fields
    assert fields["next"] == ReferenceType(node.__sharedoa__)
    assert fields["both"] == InlineType(ReferenceType(program.classes["Shape"].__sharedoa__), (2,))
    first, second = oa.new(node, 2)
    first.next = second
    second.both[1] = first
    assert first.next is second
    assert first.next.both[1] is first
    assert first.next.next is None


def test_type_indices_are_consecutive(shapes: cxx.Program):
    indices = sorted(cls.__sharedoa__.type_index for cls in shapes.classes.values())
    assert indices == list(range(indices[0], indices[0] + 4))


def test_hierarchy(shapes: cxx.Program):
    classes = shapes.classes
    assert issubclass(classes["Cube"], classes["Square"])
    assert issubclass(classes["geo::Circle"], classes["Shape"])
    assert not issubclass(classes["geo::Circle"], classes["Square"])
    assert classes["Shape"].__base__ is oa.Object


CLASSES = {"Shape": [], "geo::Circle": [("radius", "f4"), ("place", [("x", "f4"), ("y", "i4")])]}
CIRCLE = (
    BASE + "struct Place { float x; int y; };\n"
    "namespace geo { struct Circle : Shape { float radius; Place place; }; }\n"
    'extern "C" __global__ void areas(Shape **s, float *out) { out[0] = s[0]->area(); }\n'
)


def test_load_reads_what_the_macros_wrote(host_heap: oa.Heap, tmp_path: Path):
    compiled = cxx.compile(CIRCLE + cxx.declarations(CLASSES))
    file = tmp_path / "circle.ptx"
    file.write_text(compiled.source_ptx)
    for loaded in (cxx.load(file, CLASSES), cxx.load(str(file), CLASSES)):
        assert loaded.name == "circle.ptx"
        circle = loaded.classes["geo::Circle"]
        assert record(circle).offsets == {"radius": 8, "place": 12}
        assert issubclass(circle, loaded.classes["Shape"])
        assert list(loaded.kernels) == ["areas"]
    text = cxx.load(compiled.source_ptx, {"geo :: Circle": []})
    assert oa.new(text.classes["geo :: Circle"], 3).references().size == 3


def test_macros_in_the_source_do_no_harm():
    program = cxx.compile(CIRCLE + cxx.declarations(CLASSES), CLASSES)
    assert record(program.classes["geo::Circle"]).size == 24


def test_nvcc_writes_the_same(tmp_path: Path):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc")
    source, ptx = tmp_path / "circle.cu", tmp_path / "circle.ptx"
    source.write_text(CIRCLE + cxx.declarations(CLASSES))
    include = f"-I{cxx.include_folder()}"
    command = [nvcc, "-ptx", "-arch=sm_80", include, str(source), "-o", str(ptx)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    loaded = cxx.load(ptx, CLASSES)
    assert record(loaded.classes["geo::Circle"]).offsets == {"radius": 8, "place": 12}
    assert loaded.classes["geo::Circle"].__sharedoa__.foreign.vtable == "_ZTVN3geo6CircleE"


def test_descriptions_leave_the_program():
    program = cxx.compile(CIRCLE, CLASSES)
    assert "sharedoa_keep_" in program.source_ptx
    assert not re.search(r"sharedoa_(class|name|field|base)_\w+\[|entry sharedoa", program._text)
    lines = program.source_ptx.splitlines()
    kept = program._text.splitlines()
    entry = next(n for n, line in enumerate(kept) if ".entry areas" in line)
    assert lines[entry] == kept[entry]


@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "debug"])
def test_calls_on_members_do_not_go_by_place(options: tuple[str, ...]):
    source = BASE + (
        "struct Part : Shape { int p; __device__ float area() override { return p; } };\n"
        "struct Other : Shape { __device__ float area() override { return 2; } };\n"
        "struct Whole : Shape { int before; Part part[2]; };\n"
        'extern "C" __global__ void ask(Whole *whole, int *out) {\n'
        "  Shape *shape = &whole[threadIdx.x].part[out[0]]; out[1] = shape->area();\n}\n"
    )
    classes = {"Whole": [], "Part": [("p", "i4")], "Other": []}
    program = cxx.compile(source, classes, options=options)
    for mode in ("range+switch", "bits+switch"):
        (call,) = [call for call in program.report(mode) if call.function == "ask"]
        assert "place of another object" in call.reason
    assert all("place" not in call.reason for call in program.report("tag+switch"))
