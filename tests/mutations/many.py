"""Faults in what is computed of all elements, in arrays of two dimensions and shared memory."""

from .mutation import Mutation

_BITS = ("tests/many/test_many.py::test_the_same_bits_everywhere",)
_FUNCTIONS = ("tests/many/test_many.py::test_functions_of_the_user",)

MUTATIONS = (
    Mutation(
        "another order of a tree on GPUs", "sharedoa/many/reduction.py",
        "                for place in range(first + LANES, length, LANES):",
        "                for place in range(first + LANES, length - LANES, LANES):",
        "elements of the last rows are left out", _BITS,
    ),
    Mutation(
        "a scan that combines the wrong way round", "sharedoa/many/scan.py",
        "            total = combine(before[chunk - 1], total)",
        "            total = combine(total, before[chunk - 1])",
        "functions that are not commutative give something else", _FUNCTIONS,
    ),
    Mutation(
        "another edge of a block", "sharedoa/many/block_scan.py",
        "                for k in range(1, CHUNK - 1):",
        "                for k in range(1, CHUNK):",
        "the last part of the block before is counted twice", _BITS,
    ),
    Mutation(
        "keys that are equal change places", "sharedoa/many/block_sort.py",
        "tallies[place + place // DIGITS] = rank + 1",
        "tallies[place + place // DIGITS] = rank + (0 if k + 2 == EACH else 1)",
        "a thread puts a key where its last one is", _BITS,
    ),
    Mutation(
        "zeros with a sign in argsort", "sharedoa/many/sorting.py",
        "negative_zero = sign - 1, sign if infinity and not tells_zeros else 0",
        "negative_zero = sign - 1, 0",
        "-0.0 comes before 0.0 although they are equal", _BITS,
    ),
    Mutation(
        "rows that there are not", "sharedoa/codegen/lvalues.py",
        "        columns = emitter.builder.select(valid, columns, integer(0))", "        pass",
        "debug mode touches what lies behind the array", ("tests/heap/test_array2.py",),
    ),
    Mutation(
        "races between blocks", "sharedoa/codegen/races.py",
        "    return lvalue.space is None and lvalue.stack is None and not",
        "    return lvalue.stack is None and not",
        "shared memory of two blocks is taken for the same", ("tests/codegen/test_tiles.py",),
    ),
)  # fmt: skip
