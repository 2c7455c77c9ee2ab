"""Faults in how ptxpass reads and rewrites the text of PTX."""

from .mutation import Mutation

_TABLE_STORES, _MISPLACED = "ptxpass/text/table_stores.py", "ptxpass/text/misplaced.py"
_MASKING, _LOCAL = "ptxpass/text/masking.py", "ptxpass/text/local_memory.py"
_UNIFORMITY, _FIRST = "ptxpass/text/uniformity.py", "ptxpass/text/first_field.py"
_OF_STORES = ("tests/ptxpass/test_constructions.py",)
_OF_MASKS = ("tests/ptxpass/test_masking.py",)
_OF_PROGRAMS = ("tests/ptxpass/test_golden_programs.py",)
_OF_ANALYSES = ("tests/ptxpass/test_text_analyses.py",)

MUTATIONS = (
    Mutation(
        "vector stores of tables", _TABLE_STORES,
        "memory.offset + SLOT_BYTES * place", "memory.offset",
        "the second address is taken for one at the start of the object", _OF_STORES,
    ),
    Mutation(
        "what a guarded table replaces", _TABLE_STORES,
        "return base.new, base.old", "return (base.new,)",
        "a class whose objects are made on the other way is not known", _OF_STORES,
    ),
    Mutation(
        "tables that are selected", _TABLE_STORES,
        "base.instruction.operands[1:3]", "base.instruction.operands[1:2]",
        "a class whose objects are made on the other way is not known", _OF_STORES,
    ),
    Mutation(
        "what is written between two loads", "ptxpass/text/equality.py",
        "        if not _nothing_written_between(values, one, other):", "        if False:",
        "a call is looked up by another object than the one that its vtable is of", _OF_ANALYSES,
    ),
    Mutation(
        "whom a load waits for between two others", "ptxpass/text/equality.py",
        "        return statement.has(*_SHARED)\n", "        return False\n",
        "a call is looked up by another object than the one that its vtable is of", _OF_ANALYSES,
    ),
    Mutation(
        "objects within objects", _MISPLACED,
        "elif origin.distance + offset:", "elif origin.distance:",
        "a member's class is told by the range of the object around it", _OF_ANALYSES,
    ),
    Mutation(
        "objects anywhere", _MISPLACED,
        "            if origin is None:\n                misplaced |= tables",
        "            if origin is None:\n                pass",
        "an object in a part of the heap is told by the range that it lies in", _OF_PROGRAMS,
    ),
    Mutation(
        "constructors that are kept", _MISPLACED,
        "if name in kept or name not in called:", "if name not in called:",
        "a function that is called by its address makes objects anywhere", _OF_ANALYSES,
    ),
    Mutation(
        "bits under a guard", _MASKING,
        "if predicate is not None:  # else", "if False:  # else",
        "a register is read that is not written yet", _OF_MASKS,
    ),
    Mutation(
        "bits in copies between spaces", _MASKING,
        'if instruction.has("global") or not instruction.has(*_OTHER_SPACES):',
        "if not instruction.has(*_OTHER_SPACES):",
        "a reference with its bits is read as an address", _OF_MASKS,
    ),
    Mutation(
        "bits for others", _MASKING,
        "if instruction.target.text in self._outside:", "if False:",
        "a function of another module is given bits in an address", _OF_MASKS,
    ),
    Mutation(
        "pieces that overlap", _LOCAL,
        "if overlapping != {(offset, size)} or", "if",
        "a part of a local variable keeps the value from before", _OF_ANALYSES,
    ),
    Mutation(
        "addresses that are stored", _LOCAL,
        "                    escaped.add(variable)", "                    pass",
        "somebody else writes to a local variable", _OF_ANALYSES,
    ),
    Mutation(
        "loops that threads leave apart", _UNIFORMITY,
        "self._uneven_loops.append(loop.blocks)", "pass",
        "a receiver that differs is taken for one that does not", _OF_ANALYSES,
    ),
    Mutation(
        "what half of the methods read", _FIRST,
        "if 2 * count <= len(reads):", "if count > len(reads):",
        "memory is fetched that most methods do not read", _OF_ANALYSES,
    ),
)  # fmt: skip
