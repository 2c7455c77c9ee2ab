"""``cxx.compile`` and ``cxx.load``: from C++ or PTX to a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, ClassError, CompileError, Diagnostic
from .classes import EXPLICIT_OFFSETS
from .nvrtc import Nvrtc, SourceRefused
from .parameter_types import parameter_types
from .program import Program
from .specification import ClassSpecification, parse_classes
from .trailer import PLACE
from .trailer import declarations as declarations_of
from .trailer import trailer as trailer_of

_DEFAULT_NAME = "program.cu"
_ERROR = re.compile(r"^\S.*?(?:\(\d+\))?: (?:catastrophic )?error\b", re.MULTILINE)


def compile(
    source: str | Path,
    classes: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    name: str | None = None,
) -> Program:
    """Compile CUDA C++ with NVRTC, for the device of this machine or else for sm_80 and newer.

    ``source`` is the text, or the Path of a file, whose folder is then searched for what it
    includes. ``classes`` names the classes whose objects the heap is to hold, with the fields that
    Python uses, bases before or after what is derived from them:

    * ``[("radius", "f4"), ("colour", "u1", 3)]``, or anything else that ``np.dtype()`` takes:
      members by their C++ names, whose offsets the program tells. A structure is a list of its
      members in turn; ``("next", "Node *")`` is a reference to an object of a declared class;
    * a dtype with offsets of its own, ``np.dtype({"names": ..., "formats": ..., "offsets": ...})``,
      bytes from the start of the object, for members that are private;
    * ``[]`` for none: an abstract base class gives arrays a common element;
    * ``cxx.Class(fields, method=function)`` to give the Python class functions of its own.

    ``options`` are NVRTC's, such as ``-I`` and ``--use_fast_math``; ``name`` stands in messages.

    Raises CompileError with the compiler's words for a source that it refuses, ClassError for a
    class or member that the source does not have or that cannot be shared, ConfigurationError for
    options, BackendError without NVRTC.
    """
    specifications = parse_classes(classes)
    if not isinstance(source, (str, Path)):
        raise ArgumentError(f"{source!r} is no C++ source", "pass the text, or the Path of a file")
    options = list(options) if not isinstance(options, str) else options
    if isinstance(source, Path):
        text, file = _read(source), str(source)
        if isinstance(options, list):
            options = [*options, f"-I{source.parent}"]
    else:
        text, file = source, name or _DEFAULT_NAME
        if isinstance(source, str) and "\n" not in source and source.endswith((".cu", ".cpp")):
            raise ArgumentError(
                f"{source!r} is a file name, not C++", f"write cxx.compile(Path({source!r}), ...)"
            )
    compiler = Nvrtc(options, file)
    whole = text + trailer_of(specifications)
    try:
        made = compiler.compile_or_recall(whole, text)
    except SourceRefused as refusal:
        raise _complaint(refusal.log, file, specifications) from None
    ptx, log = made["ptx"], made["log"]
    assert isinstance(ptx, str) and isinstance(log, str)
    program = Program(name or Path(file).name, ptx, specifications, log)
    program.know_parameters(lambda names: parameter_types(compiler, whole, text, names))
    return program


def load(
    ptx: str | Path, classes: Mapping[str, Any] | None = None, name: str | None = None
) -> Program:
    """A program from PTX that nvcc, clang or NVRTC wrote: a file's path, or the text itself.

    The source must tell about the ``classes`` with the macros of ``sharedoa_class.h``, which
    ``declarations`` writes and ``include_folder`` leads to. PTX runs on cards of its architecture
    and newer ones.

    Raises CompileError for text that is no PTX or not complete (``-rdc=true``), ClassError for
    classes that the program does not describe, or not as ``classes`` do.
    """
    specifications = parse_classes(classes)
    if isinstance(ptx, str) and "\n" in ptx:
        return Program(name or "program.ptx", ptx, specifications)
    path = Path(ptx)
    return Program(name or path.name, _read(path), specifications)


def declarations(classes: Mapping[str, Any]) -> str:
    """The lines of C++ to add to the end of a source that nvcc or clang compiles for ``load``, with
    ``-I`` and ``include_folder()``. ``classes`` as in ``compile``."""
    return declarations_of(parse_classes(classes))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise ArgumentError(f"{path} cannot be read: {problem}", "check the path") from problem


def _complaint(
    log: str, file: str, classes: Sequence[ClassSpecification]
) -> CompileError | ClassError:
    """The user's own mistakes first; if there are none, what is wrong with ``classes``."""
    errors = _errors(log)
    own = [error for error in errors if not PLACE.search(error)]
    if own or not errors:
        text = "\n\n".join(own) or log.strip()
        return CompileError([Diagnostic(f"{file} does not compile:\n{text}", None)])
    first = errors[0]
    place = PLACE.search(first)
    assert place is not None
    words = first.splitlines()[0].partition("error: ")[2] or first
    if place["cls"] is not None:
        cls = classes[int(place["cls"])]
        return ClassError(
            f"class {cls.name}: {words}", "name the class as code at the end of the source would"
        )
    cls = classes[int(place["owner"])]
    field = cls.fields[int(place["field"])]
    return ClassError(
        f"class {cls.name}, field {field.name}: {words}",
        f"name a data member that code outside of the class can use, or {EXPLICIT_OFFSETS}",
    )


def _errors(log: str) -> list[str]:
    """The compiler's errors, each with the lines that belong to it."""
    blocks = re.split(r"\n\s*\n", log.strip())
    return [block for block in blocks if _ERROR.search(block)]
