"""Faults in births that are placed one by one, and in the order of new objects."""

from .mutation import Mutation

_ALONE = "sharedoa/heap/scattered.py"
_SHOWN = "sharedoa/heap/shown_registry.py"
_PROMISES = ("tests/runtime/test_births.py",)
_TESTS = "tests/heap/test_order.py"
_ORDER, _IN_ORDER = "sharedoa/heap/birth_order.py", ("tests/runtime/test_birth_order.py",)

MUTATIONS = (
    Mutation(
        "the host takes the places that were freed first", "sharedoa/heap/regions.py",
        "        if self._is_sorted:\n", "        if True:\n",
        "where objects stand depends on the room of regions, and so on when runs of a GPU ended",
        ("tests/runtime/test_birth_order.py::test_the_host_takes_the_lowest_places_first",),
    ),
    Mutation(
        "all that are free are sorted for each that comes", "sharedoa/heap/regions.py",
        "if late > _FEW and late**2 > _FEW * (self._late - self._first):", "if late:",
        "a host that deletes one and makes one waits for a look at a million free slots",
        ("tests/heap/test_free_list.py::test_who_comes_late_costs_no_look_at_all",),
    ),
    Mutation(
        "room for free slots grows by one", "sharedoa/heap/regions.py",
        "np.empty(max(len(self) + count, 2 * len(self)), np.int64)",
        "np.empty(len(self) + count, np.int64)",
        "each object that is deleted moves all that were before",
        ("tests/heap/test_free_list.py::test_who_comes_one_by_one_is_seldom_moved",),
    ),
    Mutation(
        "what a launch marks is not fetched", _SHOWN,
        "            self._registry.set_states(self._addresses[changed], self._bytes[changed])\n",
        "            pass\n",
        "nobody notes what a launch made",
        ("tests/runtime/test_births_one_by_one.py::test_a_launch_takes_what_room_there_is",),
    ),
    Mutation(
        "kernels see who lived once", _SHOWN,
        "            if self._changes != registry.changes:\n", "            if False:\n",
        "objects that are gone are alive to kernels",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_references_to_memory_that_the_allocator_has_again[cpu-cuda-False]",
        ),
    ),
    Mutation(
        "a place that has an object again keeps its number", "sharedoa/heap/registry.py",
        "            self._places.serials[indices] = serials\n", "",
        "a new object stands where a former one stood",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_a_population_is_in_the_order_in_which_its_objects_were_made[python-cuda-False]",
        ),
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
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_a_launch_that_cannot_be_leaves_all_places_free",
        ),
    ),
    Mutation(
        "new objects have what others left", _ALONE,
        "            self.clear(cls, reused)\n", "",
        "fields that are not named are not zero",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_what_launches_have_ended_has_room_for_others",
        ),
    ),
    Mutation(
        "an object is taken for one that was in its place", _ALONE,
        "        if replaced.any():\n", "        if False:\n",
        "a method is called on somebody else",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_an_object_in_the_place_of_another_is_not_taken_for_it[python-cuda-False]",
        ),
    ),
    Mutation(
        "objects lie as the mode of the launch would have them", "sharedoa/codegen/births.py",
        "    return program.layout.placement,",
        '    return "by_type",',
        "kernels look for objects where there are none",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_a_launch_that_cannot_be_leaves_all_places_free",
        ),
    ),
    Mutation(
        "a class without room for all has none", "sharedoa/heap/births_one_by_one.py",
        "        while lacking > 1:\n", "        while False:\n",
        "a launch fails that would have had room enough",
        ("tests/runtime/test_births_one_by_one.py::test_a_launch_takes_what_room_there_is",),
    ),
    Mutation(
        "the next place behind one that is not there", "dispatch/registry.py",
        "builder.ret(builder.select(is_it, low, I64(NOT_REGISTERED)))", "builder.ret(low)",
        "kernels take any number for an object",
        ("tests/dispatch/test_births.py::test_the_byte_of_what_is_placed_one_by_one",),
    ),
    Mutation(
        "Python's own lines delete objects", "sharedoa/heap/quarantine.py",
        ".parent.parent), contextlib.__file__", ".parent.parent)",
        "an error names a line of Python's instead of the user's",
        (
            "tests/runtime/test_births_one_by_one.py"
            "::test_debug_mode_tells_of_what_a_launch_has_ended",
        ),
    ),
    Mutation(
        "who has come first stands first", "sharedoa/heap/births.py",
        "        if (makers[1:] >= makers[:-1]).all():\n", "        if True:\n",
        "new objects stand in another order in each run",
        ("tests/runtime/test_birth_order.py::test_the_same_bytes_on_any_number_of_processors",),
    ),
    Mutation(
        "who has come first has the lowest number", "sharedoa/heap/births_one_by_one.py",
        "addresses = np.concatenate([addresses[order], addresses[len(order) :]])", "pass",
        "new objects stand in another order in each run, one by one",
        (
            "tests/runtime/test_birth_order.py"
            "::test_they_stand_in_the_order_of_the_threads[cpu-concord-aos-False]",
        ),
    ),
    Mutation(
        "whether a new object lives stays where it was made", _ORDER,
        "for change, state in zip(changes, states, strict=True):", "for change, state in ():",
        "objects that were ended live, and others do not",
        ("tests/runtime/test_birth_order.py::test_the_same_bytes_on_any_number_of_processors",),
    ),
    Mutation(
        "references to deleted objects follow those in their places", _ORDER,
        "    if not reused:\n        return\n", "    if reused or True:\n        return\n",
        "a field that nobody has stored to has other bytes in each run",
        ("tests/runtime/test_birth_order.py::test_no_room_to_put_them_in_order",),
    ),
    Mutation(
        "Python's objects stay where new ones were made", _ORDER,
        "    _move_proxies(heap, changes)\n", "",
        "a proxy is that of another object",
        ("tests/runtime/test_birth_order.py::test_objects_that_python_knows",),
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
        ("tests/runtime/test_birth_order.py::test_no_room_to_put_them_in_order",),
    ),
    Mutation(
        "regions stand where they lie", "sharedoa/heap/region_index.py",
        "        index = [region.start for region in every], every\n",
        "        own = sorted(own, key=_start)\n"
        "        index = [region.start for region in every], every\n",
        "the order of objects depends on how large those of other classes are",
        (f"{_TESTS}::test_later_regions_stand_behind_wherever_they_lie",),
    ),
    Mutation(
        "what is empty amid others goes back", "sharedoa/heap/by_type.py",
        "behind = (region,) if amid else own[own.index(region) :]", "behind = (region,)",
        "the order of objects depends on where regions end",
        (f"{_TESTS}::test_what_is_empty_amid_others_is_filled_again",),
    ),
    Mutation(
        "runs make objects in places of later regions, too",
        "sharedoa/runtime/population_sequence.py",
        "min(needed, region.capacity))", "min(needed, region.capacity) * (region is regions[-1]))",
        "runs of a device put objects elsewhere than a CPU",
        (f"{_TESTS}::test_new_ones_come_into_the_first_places_of_all_regions[True]",),
    ),
    Mutation(
        "objects move by themselves by what room there is", "sharedoa/heap/automatic.py",
        "    room = placement.needed_room(cls)\n",
        "    room = sum(region.capacity for region in placement.regions(cls))\n",
        "objects are in another order where a device has room for several runs",
        (f"{_TESTS}::test_they_move_by_themselves_at_the_same_moment",),
    ),
    Mutation(
        "each piece of what the host deletes counts", "sharedoa/heap/automatic.py",
        "            self.after_deletions(heap, gone)\n",
        "            for part in selection.parts:\n"
        "                self.after_deletions(heap, {part.region.cls: part.count})\n",
        "when objects move by themselves depends on where regions end",
        (f"{_TESTS}::test_in_how_many_pieces_the_host_deletes_is_nothing",),
    ),
    Mutation(
        "room is reserved amid runs", "sharedoa/heap/living.py",
        "        heap.settle()  # a region that grows takes what lives there along\n", "",
        "what a captured step has ended lives again",
        (f"{_TESTS}::test_room_that_is_reserved_waits_for_runs",),
    ),
)  # fmt: skip
