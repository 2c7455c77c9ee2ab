"""Native code that Python calls as it calls functions of its own.

cffi or ctypes take longer to call a function than the few instructions that some need to run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .native_code import NativeLibrary, host_target

#: What the native code uses of the interpreter, which it lets others have while the driver works.
_INTERPRETER = ("PyLong_AsVoidPtr", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread")
_DECLARATIONS = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
"""
_ONE_ARGUMENT = 0x0008  # METH_O


class _MethodDefinition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def interpreter_function(name: str, code: str) -> Callable[[int], int]:
    """The function ``ptr @name(ptr %self, ptr %argument)`` of ``code``, LLVM text, which may use
    what ``_DECLARATIONS`` lists. It lives as long as the process: ask once."""
    compiled = host_target().compile(f"{_DECLARATIONS}{code}")["o"]
    assert isinstance(compiled, bytes)
    interpreter = ctypes.pythonapi
    addresses = {
        each: ctypes.cast(getattr(interpreter, each), ctypes.c_void_p).value or 0
        for each in _INTERPRETER
    }
    library = NativeLibrary(compiled, (name,), addresses)
    address = library.address(name)
    definition = _MethodDefinition(name.encode(), address, _ONE_ARGUMENT, None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p
    )(("PyCFunction_NewEx", interpreter))
    function: Callable[[int], int] = make(definition, None, None)
    _kept.append((library, definition))  # the function refers to both
    return function


_kept: list[Any] = []
