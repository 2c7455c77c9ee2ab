"""CUDA C++ programs that cannot be, and classes that do not fit them. Needs NVRTC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sharedoa as oa
from sharedoa.errors import BackendError

from .catalogue import add, case
from .programs import program
from .texts import Entry, described, entries
from .verdicts import refused, refuses

SOURCE = """
struct Shape { __device__ virtual float area() = 0; };
struct Circle : Shape {
  float radius; int n;
  __device__ float area() override { return radius; }
 private:
  float hidden;
};
struct Plain { int x; };
extern "C" __global__ void total(Shape **shapes, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = shapes[i]->area();
}
"""


def has_nvrtc() -> bool:
    from sharedoa.cxx.nvrtc import load_nvrtc

    try:
        load_nvrtc()
    except BackendError as error:
        refused(str(error))
        return False
    return True


def compiled(classes: dict[str, Any], source: str = SOURCE) -> Any:
    from sharedoa import cxx

    return cxx.compile(source, classes, name="shapes.cu")


#: Sources, with words of the complaint.
_REFUSED = """
open_brace: does not compile
    namespace a {
unknown_name: shapes.cu, undefined
    __device__ int x = y;
missing_header: nowhere.h
    #include "nowhere.h"
host_code: shapes.cu, host
    int main() { return 1; }
nul_in_the_text: shapes.cu|compile|NUL|null
    __device__ int x = "\x00";
recursive_template: shapes.cu|instantiation|recurs
    template<int n> struct R { R<n + 1> next; }; R<0> r;
error_directive: mine
    #error this is mine
"""


def _add(entry: Entry) -> None:
    def run() -> None:
        if has_nvrtc():
            with refuses(
                (oa.CompileError, oa.ClassError, oa.ArgumentError), *entry.words, cure=False
            ):
                # What the compiler of C++ says.
                compiled({}, entry.body)

    run.__doc__ = described("C++ with", entry)
    add(f"cxx.{entry.name}", run, debug=False)


for _entry in entries(_REFUSED):
    _add(_entry)


@case(debug=False)
def classes_that_do_not_fit() -> None:
    """Classes and fields that the program does not have so."""
    if not has_nvrtc():
        return
    for classes, words in (
        ({"Circel": []}, ("Circel",)),
        ({"Circle": [("radios", "f4")]}, ("radios",)),
        ({"Circle": [("hidden", "f4")]}, ("hidden",)),
        ({"Circle": [("radius", "f8")]}, ("radius",)),
        ({"Circle": [("radius", "nonsense")]}, ("nonsense|radius",)),
        ({"Circle": [("radius",)]}, ("radius|field",)),
        ({"Circle": 5}, ("Circle|5",)),
        ({"Circle": "radius"}, ("Circle|radius",)),
        ({"Plain": [("x", "i4")]}, ("Plain", "virtual")),
        ({"1x": []}, ("1x",)),
        ({"Circle; int y": []}, ("Circle",)),
        (5, ("classes|5",)),
    ):
        with refuses((oa.CompileError, oa.ClassError, oa.ArgumentError), *words):
            compiled(classes)  # type: ignore[arg-type]


@case(debug=False)
def objects_and_launches() -> None:
    """Fields that there are not, abstract classes, wrong arguments."""
    if not has_nvrtc():
        return
    made = compiled({"Shape": [], "Circle": [("radius", "f4"), ("n", "i4")]})
    circles = oa.new(made.classes["Circle"], 4, radius=2.0)
    out = oa.zeros(4, oa.f32)
    for work, words in (
        (lambda: oa.new(made.classes["Shape"]), ("abstract|pure",)),
        (lambda: oa.new(made.classes["Circle"], hidden=1), ("hidden",)),
        (lambda: oa.new(made.classes["Circle"], n=1.5), ("n",)),
        (lambda: made.kernels["total"][4](circles, out), ("argument|count|3|cuda",)),
        (lambda: made.kernels["total"][4](circles, circles, 4), ("out|float|argument|cuda",)),
        (lambda: made.kernels["total"][-4](circles, out, 4), ("-4|cuda",)),
        (lambda: made.kernels["totale"], ("totale",)),
        (lambda: made.classes["Square"], ("Square",)),
    ):
        kinds = (oa.ArgumentError, oa.ClassError, oa.HeapError, BackendError, KeyError)
        with refuses(kinds, *words):
            work()


@case(debug=False)
def sources_that_are_no_text() -> None:
    """A path that is missing, a folder, bytes, None."""
    if not has_nvrtc():
        return
    for source, words in (
        (Path("missing.cu"), ("missing.cu",)),
        (Path("."), (".",)),
        (b"int x;", ("bytes|text|source",)),
        (None, ("None|text|source",)),
    ):
        kinds = (oa.CompileError, oa.ClassError, oa.ArgumentError, OSError)
        with refuses(kinds, *words):
            compiled({}, source)  # type: ignore[arg-type]


@case(debug=False)
def without_nvrtc() -> None:
    """NVRTC is not installed: told, with how to get it."""
    program(
        """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("cuda"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import sharedoa as oa
from sharedoa import cxx
try:
    cxx.compile("int x;", {})
except oa.BackendError as error:
    assert "install" in str(error), error
    print("good")
"""
    ).well("good")
