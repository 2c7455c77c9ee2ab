"""Faults in what launches do with memory of other libraries."""

from .mutation import Mutation

_TYPES = "tests/heap/test_export.py::test_memory_has_elements_of_one_type_in_a_launch_that_stores"

MUTATIONS = (
    Mutation(
        "fields are arrays of others",
        "sharedoa/heap/foreign.py",
        "if start < address + size and address < stop:",
        "if False:",
        "a kernel reads what was there before it changed the field of an object",
        ("tests/heap/test_export.py::test_fields_are_no_arrays",),
    ),
    Mutation(
        "elements of two types in the same memory",
        "sharedoa/runtime/foreign_arguments.py",
        "if start < end and begin < stop:",
        "if False:",
        "a kernel reads what was there before it changed it by another name",
        (_TYPES,),
    ),
    Mutation(
        "arrays in fields with elements of another type",
        "sharedoa/runtime/foreign_arguments.py",
        "    if own is not None:\n",
        "    if False:\n",
        "a kernel reads what was there before it changed it by way of an object",
        (_TYPES,),
    ),
)
