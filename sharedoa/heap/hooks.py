"""What later stages install into the heap: it cannot import them, they import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``objects.method(*arguments)`` for an ObjectArray or a Population: called with the objects, the
#: method's name and the arguments; the result is an Array with one element an object, or None.
vectorised_call: Callable[[Any, str, tuple[Any, ...]], Any] | None = None
