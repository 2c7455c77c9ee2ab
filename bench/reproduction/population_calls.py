"""Calls of methods of populations, where programs would else launch kernels: what they run."""

from __future__ import annotations

from apps.common.launches import PopulationCall
from sharedoa.frontend.program import kernel_symbol
from sharedoa.model.object import shared_type
from sharedoa.runtime.launch import Program
from sharedoa.runtime.vectorised_code import CallForm, call_program


def programs_of(call: PopulationCall) -> list[Program]:
    """The method on objects of each class that there can be, none where a grid is built. One launch
    runs several of them where the backend wants few."""
    if call.cls is None:
        return []
    found = []
    for cls in shared_type(call.cls).concrete():
        method = cls.find_method(call.method)
        assert method is not None
        form = CallForm((False,) * len(method.signature.names), exact=True)
        found.append(call_program(cls, ((cls, method),), form))
    return found


def symbols_of(call: PopulationCall) -> set[str]:
    """The names on the device of whatever the call launches; the heap's own kernels are none."""
    if call.cls is None:
        return set()
    classes = shared_type(call.cls).descendants()
    return {kernel_symbol(f"{cls.name}.{call.method}") for cls in classes}
