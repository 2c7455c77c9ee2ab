"""OCML, AMD's math library in LLVM bitcode, with the switches that it is built for."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from ..errors import BackendError
from .bitcode_library import declared, extract, link_in
from .rocm import rocm_folders

PREFIX = "__ocml_"
_FILE = "ocml.bc"
#: Files of constants: IEEE arithmetic, and code objects of version 6. ROCm leaves out those that
#: its library does not ask for any more.
_SWITCHES = (
    "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_correctly_rounded_sqrt_on",
    "oclc_daz_opt_off", "oclc_abi_version_600",
)  # fmt: skip


def used_functions(ir_text: str) -> frozenset[str]:
    """The functions of OCML that a module declares."""
    return declared(ir_text, PREFIX)


@cache
def find_ocml() -> Path | None:
    """ROCm's folder with OCML, if there is one."""
    folders = (folder / "amdgcn" / "bitcode" for folder in rocm_folders())
    return next((folder for folder in folders if (folder / _FILE).is_file()), None)


@cache
def fingerprint() -> str:
    """Which library ``link`` takes functions from: a digest of its bytes, or that there is none."""
    folder = find_ocml()
    return "none" if folder is None else hashlib.sha256(_bytes(folder)).hexdigest()[:12]


def _bytes(folder: Path) -> bytes:
    return (folder / _FILE).read_bytes()


def link(module: Any, names: frozenset[str], architecture: str, lanes: int, machine: Any) -> None:
    """Link the named functions into ``module``, if OCML is there; else they stay undefined, and the
    object can be checked but not loaded."""
    folder = find_ocml()
    if names and folder is not None:
        link_in(module, _extract(folder, names, architecture, lanes, machine), names)


@cache
def _extract(
    folder: Path, names: frozenset[str], architecture: str, lanes: int, machine: Any
) -> bytes:
    library = llvm.parse_bitcode(_bytes(folder))
    wide = "on" if lanes == 64 else "off"
    version = architecture.removeprefix("gfx")
    of_device = f"oclc_isa_version_{version}", f"oclc_wavefrontsize64_{wide}"
    for name in (*of_device, *_SWITCHES):
        file = folder / f"{name}.bc"
        if file.is_file():
            library.link_in(llvm.parse_bitcode(file.read_bytes()))
        elif name in of_device:
            raise BackendError(
                f"ROCm's device libraries in {folder} do not know {architecture}: there is no "
                f"{file.name}",
                "install a newer ROCm",
            )
    found = extract(library, names, machine)
    if not isinstance(found, bytes):
        raise BackendError(
            f"{folder / _FILE} has no {', '.join(sorted(found))}", "install a newer ROCm"
        )
    return found
