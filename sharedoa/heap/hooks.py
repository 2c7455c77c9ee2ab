"""What later stages install into the heap: it cannot import them, they import it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..model.classes import ClassType

#: ``objects.method(*arguments, **named)`` for an ObjectArray or a Population: called with the
#: objects, the method's name and both; the result is an Array with an element an object, or None.
vectorised_call: Callable[[Any, str, tuple[Any, ...], Mapping[str, Any]], Any] | None = None


#: ``values.name(**options)`` for a method of ``many.Many``.
many: Callable[..., Any]

#: The same without options.
plain: Callable[[Any, str], Any]

#: The same, and functions of NumPy and elements of arrays, where a tape has a record of them.
traced_many: Callable[..., Any]
traced_ufunc: Callable[..., Any]
traced_element: Callable[..., Any]
traced_where: Callable[..., Any]

#: The open backend of a name; heaps on a device share one, and with it the code that it has loaded.
#: Raises BackendError where it does not work here.
open_backend: Callable[[str], Any]


class KernelObjects(Protocol):
    """Makes and ends objects for the thread of a launch that CPython is running."""

    def new(self, cls: ClassType, arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any: ...

    def delete(self, obj: Any) -> bool: ...

    def is_alive(self, obj: Any) -> bool: ...


def nobody() -> KernelObjects | None:
    return None


#: What does so for the calling thread; None outside of kernels.
kernel_objects: Callable[[], KernelObjects | None] = nobody
