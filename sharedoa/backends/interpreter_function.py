"""Native code that Python calls as it calls functions of its own.

cffi or ctypes take longer to call a function than the few instructions that some need to run: cffi
four tenths of a microsecond for six arguments, where this takes a tenth.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .native_code import NativeLibrary, host_target

#: What the native code uses of the interpreter, which it lets others have while it works.
_INTERPRETER = (
    "PyLong_AsVoidPtr", "PyLong_AsLongLong", "PyLong_FromLong", "PyBytes_AsString",
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_GetBuffer", "PyBuffer_Release",
)  # fmt: skip
DECLARATIONS = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
"""
_ONE_ARGUMENT, ARGUMENTS = 0x0008, 0x0080  # METH_O, METH_FASTCALL


class _MethodDefinition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def interpreter_addresses() -> dict[str, int]:
    """Where the functions of ``DECLARATIONS`` lie."""
    found = ((each, getattr(ctypes.pythonapi, each)) for each in _INTERPRETER)
    return {name: ctypes.cast(each, ctypes.c_void_p).value or 0 for name, each in found}


def exported_function(library: NativeLibrary, name: str, flags: int = ARGUMENTS) -> Any:
    """An exported ``ptr @name(ptr %self, ptr %arguments, i64 %count)`` as a function of Python's.
    It does not look at what it is given. It lives as long as the process: ask once."""
    definition = _MethodDefinition(name.encode(), library.address(name), flags, None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p
    )(("PyCFunction_NewEx", ctypes.pythonapi))
    _kept.append((library, definition))  # the function refers to both
    return make(definition, None, None)


_kept: list[Any] = []


def interpreter_function(name: str, code: str) -> Callable[[int], int]:
    """The function ``ptr @name(ptr %self, ptr %argument)`` of ``code``, LLVM text, which may use
    what ``DECLARATIONS`` lists. It lives as long as the process: ask once."""
    compiled = host_target().compile(f"{DECLARATIONS}{code}")["o"]
    assert isinstance(compiled, bytes)
    library = NativeLibrary(compiled, (name,), interpreter_addresses())
    function: Callable[[int], int] = exported_function(library, name, _ONE_ARGUMENT)
    return function
