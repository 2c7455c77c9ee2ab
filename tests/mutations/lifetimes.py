"""Faults in what adjoints know of the lives of arrays and objects."""

from .mutation import Mutation

_ADJOINTS = "sharedoa/heap/adjoints.py"
_LIFETIMES = "tests/gradients/test_lifetimes.py"

MUTATIONS = (
    Mutation(
        "arrays have the adjoints of those that lay there before",
        "sharedoa/heap/extents.py",
        "        if self.given is not None:\n",
        "        if False:\n",
        "a new array has derivatives that nobody computed",
        (f"{_LIFETIMES}::test_arrays_where_others_were",),
    ),
    Mutation(
        "objects have the adjoints of those that lived there before",
        _ADJOINTS,
        "            if deletions != self._deletions:",
        "            if False:",
        "a new object has derivatives that nobody computed",
        (f"{_LIFETIMES}::test_objects_where_others_were",),
    ),
    Mutation(
        "fields of new objects are made zero in place of their adjoints",
        _ADJOINTS,
        ", found._records, found._flat = memory, {}, None, {}",
        ", found._flat = memory, {}, {}",
        "objects lose what they were made with",
        (f"{_LIFETIMES}::test_objects_where_others_were",),
    ),
    Mutation(
        "a way back that fails takes adjoints along",
        _ADJOINTS,
        "            self._mirror, self._layout = self._before, layout\n",
        "",
        "derivatives of other tapes are gone",
        (f"{_LIFETIMES}::test_a_way_back_that_fails",),
    ),
    Mutation(
        "the host does not wait for zeros",
        _ADJOINTS,
        "                self._is_busy = True\n",
        "",
        "adjoints are those from before tape.zero()",
        (f"{_LIFETIMES}::test_zeros_that_a_device_is_about_to_write",),
    ),
    Mutation(
        "a device makes zero what the host has",
        _ADJOINTS,
        "        mirror.on_host = True\n        self._settle()",
        "        self._settle()",
        "it takes the memory from the host page by page",
        (f"{_LIFETIMES}::test_zeros_that_a_device_is_about_to_write",),
    ),
)
