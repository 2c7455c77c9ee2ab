"""What is refused, and in which words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import cxx
from sharedoa.cxx import nvrtc

BASE = "struct Shape { __device__ virtual float area() = 0; };\n"
CIRCLE = (
    BASE + "class Circle : public Shape { float radius; public: int n; int bits : 3; char many[4]; "
    "__device__ float area() override { return radius; } };\n"
)


def refused(source: str, classes: dict[str, object], **options: object) -> oa.ClassError:
    with pytest.raises(oa.ClassError) as caught:
        cxx.compile(source, classes, **options)
    return caught.value


def test_errors_in_the_source_have_the_users_lines():
    with pytest.raises(oa.CompileError) as caught:
        cxx.compile("\n\nint x = y;\n", {"Circle": [("radius", "f4")]}, name="mine.cu")
    text = str(caught.value)
    assert "mine.cu(3): error" in text
    assert '"y" is undefined' in text
    assert "sharedoa:" not in text


def test_an_open_brace_is_the_sources_fault():
    with pytest.raises(oa.CompileError, match="does not compile"):
        cxx.compile("namespace a {", {})


def test_warnings_are_kept():
    program = cxx.compile("__device__ int f() { int unused = 1; return 2; }")
    assert "never referenced" in program.log
    assert "program.cu(1)" in program.log


def test_unknown_class():
    problem = refused(CIRCLE, {"Circel": []})
    assert "class Circel" in problem.message
    assert "undefined" in problem.message


def test_unknown_member():
    problem = refused(CIRCLE, {"Circle": [("n", "i4"), ("radios", "f4")]})
    assert "class Circle, field radios" in problem.message
    assert "no member" in problem.message


def test_private_member():
    problem = refused(CIRCLE, {"Circle": [("radius", "f4")]})
    assert "field radius" in problem.message
    assert "inaccessible" in problem.message
    assert '"offsets"' in problem.help


def test_bit_field():
    assert "bit field" in refused(CIRCLE, {"Circle": [("bits", "i4")]}).message


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (("n", "i8"), "is 8 bytes as int64, and 4 in C++"),
        (("many", "u1", 5), "is 5 bytes"),
        (("many", "u1", (2, 2)), "array of arrays"),
        (("n", "S4"), "no type that shared objects have"),
        (("n", ">i4"), "no type that shared objects have"),
        (("n", [("low", "i4")]), "must have class, struct|expression must"),
        (("n", "Other *"), "Other is not declared|is 8 bytes"),
    ],
)
def test_wrong_types(field: object, words: str):
    problem = refused(CIRCLE, {"Circle": [field]})
    assert "class Circle, field" in problem.message
    assert re.search(words, problem.message), problem.message


def test_a_structure_of_another_size():
    source = BASE + "struct P { float x, y; }; struct C : Shape { P p; float area(); };"
    source = source.replace("float area();", "__device__ float area() override { return 0; }")
    assert "field p: x is 8 bytes" in refused(source, {"C": [("p", [("x", "f8")])]}).message
    problem = refused(source, {"C": [("p", [("x", "f4", 1)])]})
    assert "inside a structure" in problem.message or "error" not in problem.message


def explicit(offset: int, format: str = "f4") -> np.dtype:
    return np.dtype({"names": ["radius"], "formats": [format], "offsets": [offset]})


def test_explicit_offsets_are_checked():
    assert "inside the vtable pointer" in refused(CIRCLE, {"Circle": explicit(4)}).message
    assert "ends at byte 28" in refused(CIRCLE, {"Circle": explicit(24)}).message
    given = {"names": ["radius"], "formats": ["f4"], "offsets": [0]}
    assert "inside the vtable pointer" in refused(CIRCLE, {"Circle": given}).message


def test_a_field_of_the_base_class_again():
    source = BASE.replace("= 0;", "= 0; int id;") + "struct C : Shape { float area(); };"
    source = source.replace("float area();", "__device__ float area() override { return 0; }")
    problem = refused(source, {"Shape": [("id", "i4")], "C": [("id", "i4")]})
    assert "declares it already" in problem.message


def test_no_virtual_functions():
    problem = refused("struct Plain { int x; };", {"Plain": [("x", "i4")]})
    assert "Plain has no virtual functions" in problem.message


def test_several_bases():
    source = BASE + (
        "struct Named { __device__ virtual int name() { return 1; } };\n"
        "struct Both : Named, Shape { __device__ float area() override { return 2; } };\n"
        "struct Virtual : virtual Shape { __device__ float area() override { return 2; } };\n"
    )
    assert "several classes" in refused(source, {"Both": []}).message
    assert "virtual base" in refused(source, {"Virtual": []}).message


def test_one_class_twice():
    source = CIRCLE + "typedef Circle Same;"
    assert "the same class" in refused(source, {"Circle": [], "Same": []}).message
    assert "declared twice" in refused(source, {"Circle": [], " Circle": []}).message


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"Circle; int x": []}, r"is no C\+\+ class"),
        ({"Circle": "f4"}, "has no fields"),
        ({"Circle": [("n", "what")]}, "no list of fields"),
        ({"Circle": [("n + 1", "f4")]}, "no name of a field"),
        ({"Circle": [("_heap", "f4")]}, "has no member|is taken"),
        ({"Circle": cxx.Class([("n", "i4")], n=lambda self: 1)}, "name n is taken"),
    ],
)
def test_declarations_that_say_nothing(classes: dict[str, object], words: str):
    problem = refused(CIRCLE, classes)
    assert re.search(words, problem.message), problem.message


def test_a_failed_declaration_leaves_nothing():
    before = cxx.compile(CIRCLE, {"Circle": []}).classes["Circle"].__sharedoa__.type_index
    refused(CIRCLE, {"Shape": [], "Circle": explicit(2)})
    after = cxx.compile(CIRCLE, {"Circle": []}).classes["Circle"].__sharedoa__.type_index
    assert after == before + 1


def test_abstract_classes_have_no_objects(shapes: cxx.Program, host_heap: oa.Heap):
    with pytest.raises(oa.ClassError, match="Shape is abstract: it has pure virtual functions"):
        oa.new(shapes.classes["Shape"], 1)


def test_ptx_without_the_macro():
    compiled = cxx.compile(CIRCLE)
    with pytest.raises(oa.ClassError) as caught:
        cxx.load(compiled.source_ptx, {"Circle": []})
    assert "says nothing of class Circle" in caught.value.message
    assert "SHAREDOA_CLASS(identifier, Circle)" in caught.value.help


def test_ptx_with_the_macro_and_without_the_field():
    compiled = cxx.compile(CIRCLE + '\n#include "sharedoa_class.h"\nSHAREDOA_CLASS(C, Circle)\n')
    with pytest.raises(oa.ClassError) as caught:
        cxx.load(compiled.source_ptx, {"Circle": [("n", "i4")]})
    assert "says nothing of n" in caught.value.message
    assert "SHAREDOA_FIELD(identifier, n)" in caught.value.help
    fields = np.dtype({"names": ["n"], "formats": ["i4"], "offsets": [12]})
    assert cxx.load(compiled.source_ptx, {"Circle": fields}).classes["Circle"]


def test_what_is_no_ptx():
    with pytest.raises(oa.CompileError, match=r"no \.version"):
        cxx.load("// int main() {\n// }\n")
    with pytest.raises(oa.ArgumentError, match="cannot be read"):
        cxx.load("/nonexistent/shapes.ptx")


def test_relocatable_code():
    for option in ("-rdc=true", "--relocatable-device-code=true", "-dc", "-dlto"):
        with pytest.raises(oa.ConfigurationError, match="relocatable"):
            cxx.compile(CIRCLE, options=[option])
    text = cxx.compile("").source_ptx
    with pytest.raises(oa.CompileError, match="function outside is declared and not defined"):
        cxx.load(f"{text}\n.extern .func outside\n()\n;\n")
    with pytest.raises(oa.ClassError, match="shared memory whose size a launch gives"):
        cxx.load(f"{text}\n.extern .shared .align 4 .b8 room[];\n")


def test_options():
    with pytest.raises(oa.ConfigurationError, match="not a list of strings"):
        cxx.compile("", options="-G")
    with pytest.raises(oa.ConfigurationError, match="NVRTC refuses the options"):
        cxx.compile("", options=["--no-such-option"])
    assert cxx.compile("", options=["-arch=compute_90"]).source_ptx.count(".target sm_90") == 1
    assert ".target sm_80" in cxx.compile("").source_ptx


def test_a_file_and_what_it_includes(tmp_path: Path):
    (tmp_path / "part.h").write_text("struct Part { virtual __device__ int f() { return 1; } };")
    source = tmp_path / "whole.cu"
    source.write_text('#include "part.h"\nstruct Whole : Part { int w; };')
    program = cxx.compile(source, {"Whole": [("w", "i4")], "Part": []})
    assert program.name == "whole.cu"
    source.write_text("int x = y;")
    with pytest.raises(oa.CompileError, match=r"whole\.cu\(1\): error"):
        cxx.compile(source)
    with pytest.raises(oa.ArgumentError, match="Path"):
        cxx.compile("whole.cu")
    with pytest.raises(oa.ArgumentError, match="cannot be read"):
        cxx.compile(tmp_path / "gone.cu")


def test_missing_bindings_name_the_extra(monkeypatch: pytest.MonkeyPatch):
    def fail(name: str) -> None:
        raise ImportError("no module")

    monkeypatch.setattr(nvrtc.importlib, "import_module", fail)
    nvrtc.load_nvrtc.cache_clear()
    with pytest.raises(oa.BackendError, match=r"sharedoa\[cuda\]"):
        cxx.compile("")
    monkeypatch.undo()
    nvrtc.load_nvrtc.cache_clear()


def test_results_are_kept_between_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from sharedoa.runtime import knobs

    compiled: list[str] = []
    original = nvrtc.Nvrtc.compile

    def count(self: nvrtc.Nvrtc, text: str):
        compiled.append(text)
        return original(self, text)

    monkeypatch.setattr(nvrtc.Nvrtc, "compile", count)
    with knobs.scope(cache_dir=tmp_path):
        first = cxx.compile(CIRCLE, {"Circle": []})
        again = cxx.compile(CIRCLE, {"Circle": []})
        assert len(compiled) == 1
        assert again.source_ptx == first.source_ptx
        cxx.compile(CIRCLE, {"Circle": []}, options=["--use_fast_math"])
        assert len(compiled) == 2
        for _ in range(2):
            cxx.compile(f'#include "sharedoa_class.h"\n{CIRCLE}')
        assert len(compiled) == 4


def test_a_python_kernel_cannot_tell_cpp_classes_apart():
    program = cxx.compile(CIRCLE, {"Shape": [], "Circle": [("n", "i4")]})
    Shape, Circle = program.classes["Shape"], program.classes["Circle"]

    @oa.kernel
    def count(shapes: oa.Array[Shape], out: oa.Array[oa.i32]):
        i = oa.grid(1)
        if isinstance(shapes[i], Circle):
            out[i] = 1

    with oa.Heap(backend="cpu") as heap:
        shapes = heap.concat(heap.new(Circle, 2))
        with pytest.raises(oa.CompileError, match="Circle is a class of a C\\+\\+ program"):
            count[2](heap.array(Shape, list(shapes)), heap.zeros(2, oa.i32))


@pytest.mark.parametrize("source", [None, b"int x;", 5])
def test_a_source_is_text_or_a_path(source: object):
    with pytest.raises(oa.ArgumentError, match=r"is no C\+\+ source"):
        cxx.compile(source, {})


@pytest.mark.parametrize("classes", [5, [("Circle", [])], "Circle"])
def test_classes_are_given_by_name(classes: object):
    with pytest.raises(oa.ClassError, match="names no classes"):
        cxx.compile(CIRCLE, classes)
