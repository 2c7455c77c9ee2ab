"""C++ classes in the heap, and CUDA C++ kernels that call their virtual functions.

    from sharedoa import cxx

    program = cxx.compile(Path("shapes.cu"), classes={"Shape": [], "Circle": [("radius", "f4")]})
    circles = oa.new(program.classes["Circle"], 1000, radius=1)
    program.kernels["total"][1000](circles, out, 1000)

A C++ object starts with the pointer to its vtable, in every mode; where its fields lie, and which
class is a base of which, is read from the compiled program. The source needs no change. Kernels run
on NVIDIA GPUs only; objects can be made and their fields used on every backend.
"""

from __future__ import annotations

from .compilation import compile, declarations, load
from .kernels import Kernel
from .program import Program
from .specification import Class
from .trailer import include_folder

__all__ = ["Class", "Kernel", "Program", "compile", "declarations", "include_folder", "load"]
