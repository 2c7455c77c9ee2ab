"""Faults in births that are placed one by one, and in the order of new objects."""

from .mutation import Mutation

_ALONE = "sharedoa/heap/scattered.py"
_SHOWN = "sharedoa/heap/shown_registry.py"
_PROMISES = ("tests/runtime/test_births.py",)
_ONE_BY_ONE = ("tests/runtime/test_births_one_by_one.py",)
_PLACES = ("tests/dispatch/test_births.py",)
_ORDER, _IN_ORDER = "sharedoa/heap/birth_order.py", ("tests/runtime/test_birth_order.py",)

MUTATIONS = (
    Mutation(
        "what a launch marks is not fetched", _SHOWN,
        "            self._registry.set_states(self._addresses[changed], self._bytes[changed])\n",
        "            pass\n",
        "nobody notes what a launch made",
        _ONE_BY_ONE,
    ),
    Mutation(
        "kernels see who lived once", _SHOWN,
        "            if self._changes != registry.changes:\n", "            if False:\n",
        "objects that are gone are alive to kernels",
        _ONE_BY_ONE,
    ),
    Mutation(
        "a place that has an object again keeps its number", "sharedoa/heap/registry.py",
        "            self._places.serials[indices] = serials\n", "",
        "a new object stands where a former one stood",
        _ONE_BY_ONE,
    ),
    Mutation(
        "what was born and ended in one launch stays, one by one", _ALONE,
        "is_born = states & (BORN | ENDED) == BORN", "is_born = states & BORN == BORN",
        "objects that nobody knows live",
        _PROMISES,
    ),
    Mutation(
        "places that nobody took are lost, one by one", _ALONE,
        "free = np.concatenate([places[~is_born], self._free_places(cls)])",
        "free = self._free_places(cls)",
        "memory grows with every launch",
        _ONE_BY_ONE,
    ),
    Mutation(
        "new objects have what others left", _ALONE,
        "            self.clear(cls, reused)\n", "",
        "fields that are not named are not zero",
        _ONE_BY_ONE,
    ),
    Mutation(
        "an object is taken for one that was in its place", _ALONE,
        "        if replaced.any():\n", "        if False:\n",
        "a method is called on somebody else",
        _ONE_BY_ONE,
    ),
    Mutation(
        "objects lie as the mode of the launch would have them", "sharedoa/codegen/births.py",
        "    return program.layout.placement,",
        '    return "by_type",',
        "kernels look for objects where there are none",
        _ONE_BY_ONE,
    ),
    Mutation(
        "a class without room for all has none", "sharedoa/heap/births_one_by_one.py",
        "        while lacking > 1:\n", "        while False:\n",
        "a launch fails that would have had room enough",
        _ONE_BY_ONE,
    ),
    Mutation(
        "the next place behind one that is not there", "dispatch/registry.py",
        "builder.ret(builder.select(is_it, low, I64(NOT_REGISTERED)))", "builder.ret(low)",
        "kernels take any number for an object",
        _PLACES,
    ),
    Mutation(
        "Python's own lines delete objects", "sharedoa/heap/quarantine.py",
        ".parent.parent), contextlib.__file__", ".parent.parent)",
        "an error names a line of Python's instead of the user's",
        _ONE_BY_ONE,
    ),
    Mutation(
        "who has come first stands first", "sharedoa/heap/births.py",
        "        if (makers[1:] >= makers[:-1]).all():\n", "        if True:\n",
        "new objects stand in another order in each run",
        _IN_ORDER,
    ),
    Mutation(
        "who has come first has the lowest number", "sharedoa/heap/births_one_by_one.py",
        "addresses = np.concatenate([addresses[order], addresses[len(order) :]])", "pass",
        "new objects stand in another order in each run, one by one",
        _IN_ORDER,
    ),
    Mutation(
        "whether a new object lives stays where it was made", _ORDER,
        "for change, state in zip(changes, states, strict=True):", "for change, state in ():",
        "objects that were ended live, and others do not",
        _IN_ORDER,
    ),
    Mutation(
        "references to deleted objects follow those in their places", _ORDER,
        "    if not reused:\n        return\n", "    if reused or True:\n        return\n",
        "a field that nobody has stored to has other bytes in each run",
        _IN_ORDER,
    ),
    Mutation(
        "Python's objects stay where new ones were made", _ORDER,
        "    _move_proxies(heap, changes)\n", "",
        "a proxy is that of another object",
        _IN_ORDER,
    ),
    Mutation(
        "threads that took places the other way around", "sharedoa/heap/births.py",
        "(makers[1:] >= makers[:-1]).all()", "(makers[1:] <= makers[:-1]).all()",
        "new objects are in the order in which threads came, if that is the opposite of theirs",
        ("tests/runtime/test_birth_order.py::test_the_order_of_those_who_took_places",),
    ),
    Mutation(
        "an object in a slot that was lent has no references", _ORDER,
        "min(each.capacity, each.unused_from + each.lent)", "each.unused_from",
        "references of new objects to new ones lead to others",
        _IN_ORDER,
    ),
)  # fmt: skip
