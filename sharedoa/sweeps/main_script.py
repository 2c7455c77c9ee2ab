"""The functions of the script that a program was started with, in other processes.

Functions are sent by name, and another process has another ``__main__``. So such a function is
sent as its file and its name there, and a worker runs the file once, as far as the call of
``oa.sweep``: the model, its classes and all they need have been defined by then. A script needs no
``if __name__ == "__main__"`` for that; with one it is run to its end, without what the ``if`` has.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any

from ..errors import ArgumentError

#: What multiprocessing calls the script in its workers.
_NAME = "__mp_main__"
_loading = threading.local()
_lock = threading.Lock()
_scripts: dict[str, ModuleType] = {}
_inherited: dict[int, Callable[..., Any]] = {}


class _Reached(BaseException):
    """The script has come to a sweep; no handler of errors shall stop it."""


class Model:
    """A function that can be sent to other processes where there is a way."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @property
    def is_of_script(self) -> bool:
        """Whether it has a name in the file of ``__main__``."""
        main = sys.modules["__main__"]
        return (
            getattr(self.function, "__module__", None) == "__main__"
            and _file_of_main() is not None
            and _found(main, getattr(self.function, "__qualname__", "")) is self.function
        )

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        if id(self.function) in _inherited:
            return _from_parent, (id(self.function),)
        if not self.is_of_script:
            return Model, (self.function,)
        package = getattr(sys.modules["__main__"], "__package__", None)
        return _from_script, (_file_of_main(), package, self.function.__qualname__)

    def leave_to_children(self) -> None:
        """Processes that are forked from now on find the function without its being sent."""
        _inherited[id(self.function)] = self.function


def stop_if_only_loading() -> None:
    """``oa.sweep`` calls it first: a script that is run for its functions ends here."""
    if getattr(_loading, "is_so", False):
        raise _Reached


def _file_of_main() -> str | None:
    file = getattr(sys.modules["__main__"], "__file__", None)
    return file if isinstance(file, str) and file.endswith(".py") else None


def _found(module: ModuleType, name: str) -> Any:
    try:
        return reduce(getattr, name.split("."), module)
    except AttributeError:  # also of functions in functions, whose names have <locals>
        return None


def _from_parent(identity: int) -> Model:
    return Model(_inherited[identity])


def _from_script(file: str, package: str | None, name: str) -> Model:
    module = sys.modules["__main__"]
    if getattr(module, "__file__", None) != file:
        with _lock:
            module = _scripts.get(file) or _run(file, package)
    function = _found(module, name)
    if function is None:
        raise ArgumentError(
            f"{name} is not defined where a worker comes to the first sweep of {file}",
            "define the model before the first call of oa.sweep, or put the calls into a block "
            "`if __name__ == '__main__':`",
        )
    return Model(function)


def _run(file: str, package: str | None) -> ModuleType:
    module = ModuleType(_NAME)
    module.__file__, module.__package__ = file, package
    with open(file, "rb") as opened:
        code = compile(opened.read(), file, "exec")
    sys.modules[_NAME] = module  # where classes look for the names in their annotations
    _loading.is_so = True
    try:
        exec(code, module.__dict__)
    except _Reached:
        pass
    finally:
        _loading.is_so = False
    _scripts[file] = module
    return module
