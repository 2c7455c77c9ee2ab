"""Faults in what the heap knows of arrays and objects, in dumps, and in what signals meet."""

from .mutation import Mutation

_HELD = "sharedoa/heap/held_arrays.py"
_USE = "sharedoa/ir/array_use.py"
_PARTS = "sharedoa/heap/region_selection.py"
_SCATTERED = "sharedoa/heap/scattered.py"
_UNNOTED = "tests/heap/test_objects.py::test_scattered_objects_that_nobody_could_note_leave_nothing"
_DUMP = "sharedoa/heap/dump.py"
_ARRAYS = "sharedoa/heap/arrays.py"
_BY_TYPE = "sharedoa/heap/by_type.py"
_CLASSES = "tests/runtime/test_array_classes.py"
_TO_PARAMETERS = (f"{_CLASSES}::test_a_parameter_that_is_stored_to",)
_REPEATED = ("tests/heap/test_repeated_objects.py",)
_PIECES = (
    "tests/heap/test_dump.py::"
    "test_parts_of_arrays_that_nothing_refers_to_may_refer_to_what_is_gone",
)

_ONE = "tests/heap/test_one_object.py"
_AGAIN = "tests/runtime/test_population_sequence.py::test_what_a_step_does_again_is_bound_once"
_OLD_WAYS = (
    "tests/heap/test_clusters.py::test_who_has_got_a_reader_before_reads_where_fields_are_now",
)

_SHARED_OUT = "tests/runtime/test_launch_sharing.py"

MUTATIONS = (
    Mutation(
        "kernels are pickled as other objects are", "sharedoa/runtime/kernel.py",
        "def __reduce__(self) -> str:", "def reduce(self) -> str:",
        "a kernel cannot be given to another process",
        ("tests/runtime/test_kernel.py::test_pickled_and_copied_by_name_as_functions_are",),
    ),
    Mutation(
        "members of enumerations are as many as their class has", "sharedoa/model/values.py",
        "isinstance(value, (str, bytes, enum.Enum))", "isinstance(value, (str, bytes))",
        "objects.turn(Level.HIGH) is refused",
        ("tests/runtime/test_vectorised.py::test_members_of_enumerations_are_one_number",),
    ),
    Mutation(
        "ints of a list are what NumPy makes of them", "sharedoa/heap/conversion.py",
        'if given_in_python and type.is_integer and found.dtype.kind in "fO":', "if False:",
        "oa.array(u64, [5, 2**64 - 1]) is refused, as NumPy makes floats of it",
        ("tests/heap/test_arrays.py::test_ints_that_numpy_makes_floats_of",),
    ),
    Mutation(
        "counters of a list are what NumPy makes of them", "sharedoa/random_numbers.py",
        'if found.dtype.kind in "fO" and not hasattr(value, "dtype"):', "if False:",
        "oa.random(7, [5, 2**64 - 1]) is refused, as NumPy makes floats of it",
        ("tests/runtime/test_random_numbers.py::test_one_number_and_arrays_of_them",),
    ),
    Mutation(
        "counters of NumPy's types are masked as they are", "sharedoa/random_numbers.py",
        "[int(each) & _ALL for", "[each & _ALL for",
        "oa.random(7, [np.int8(-3), 2**63]) ends in an OverflowError of NumPy's",
        ("tests/runtime/test_random_numbers.py::test_one_number_and_arrays_of_them",),
    ),
    Mutation(
        "a device clears all but the last word", "sharedoa/backends/bulk_transfer.py",
        "self._number((end - start) // 8, 8", "self._number((end - start) // 8 - 1, 8",
        "new arrays on a GPU end with what was there before",
        ("tests/heap/test_transfer.py::test_what_is_cleared",),
    ),
    Mutation(
        "a profile of CPython counts launches as threads", "sharedoa/runtime/profile.py",
        "profile.timed(profile.row_of(program), math.prod(geometry.threads), work)",
        "profile.timed(profile.row_of(program), 1, work)",
        "sharedoa profile shows one thread of each kernel on the python backend",
        ("tests/cli/test_profile.py::test_a_script_and_its_trace",),
    ),
    Mutation(
        "NumPy warns of a masked power", "sharedoa/heap/numpy_like.py",
        '"out": None, "where"', '"where"',
        "users read that memory is not initialised, which is masked",
        ("tests/heap/test_field_views.py::test_powers_where_a_mask_is_set",),
    ),
    Mutation(
        "integer powers are computed in the fields", "sharedoa/heap/numpy_like.py",
        'if ufunc is np.power and self.dtype.kind in "iu":', "if False:",
        "a negative exponent is refused with rubbish in the fields",
        ("tests/heap/test_field_views.py::test_mistakes",),
    ),
    Mutation(
        "what launches change is a list for good", "sharedoa/heap/population.py",
        "return self._patience.get(cls, _PATIENCE) < _PATIENCE", "return False",
        "calls look at a list in each of their threads where they could compute",
        (f"{_SHARED_OUT}::"
         "test_what_launches_make_is_a_list_until_it_has_been_one_run_for_a_while",),
    ),
    Mutation(
        "the last list before a run is planned", "sharedoa/heap/population.py",
        "return self._patience.get(cls, _PATIENCE) < _PATIENCE",
        "return 0 < self._patience.get(cls, _PATIENCE) < _PATIENCE",
        "calls look at a list for good, if the last one of those that wait for a run is planned",
        (f"{_SHARED_OUT}::test_a_list_is_not_planned_when_a_run_is_about_to_be_taken",),
    ),
    Mutation(
        "an element of another library's array on a GPU", "sharedoa/heap/element_access.py",
        "    if storage is None or storage.is_foreign:\n        return array._raw(",
        "    if storage is None:\n        return array._raw(",
        "the process ends where it reads an element of what lies on a GPU alone",
        ("tests/backends/test_foreign_streams.py::test_arrays_of_others_on_a_gpu",),
    ),
    Mutation(
        "lists of calls stay where memory is short", "sharedoa/heap/memory.py",
        "            for forget in self.let_go:\n                forget()\n", "",
        "there is no room for an array while lists that nobody needs have it",
        (f"{_SHARED_OUT}::test_lists_of_calls_keep_no_memory_that_others_need",),
    ),
    Mutation(
        "plans of calls stay where memory is short", "sharedoa/heap/heap.py",
        "[self.of_classes.forget, self.plans.clear]", "[self.of_classes.forget]",
        "there is no room for an array while memory between kernels has it",
        ("tests/many/test_many.py::test_plans_go_where_memory_is_short",),
    ),
    Mutation(
        "plans keep lists of objects that have gone", "sharedoa/heap/objects_of_classes.py",
        "        self._known.clear()\n        self.plans = None\n", "        self._known.clear()\n",
        "there is no room for an array while a list that nobody calls again has it",
        (f"{_SHARED_OUT}::test_lists_of_calls_keep_no_memory_that_others_need",),
    ),
    Mutation(
        "the list of calls is given out", "sharedoa/heap/population.py",
        "        return (self._listed_anew(cls) for cls in self._classes())",
        "        return (self._heap.objects_of(cls) for cls in self._classes())",
        "a method is called on what somebody has written to an array, and not on all objects",
        (f"{_SHARED_OUT}::test_a_list_that_somebody_has_got_is_not_that_of_calls",),
    ),
    Mutation(
        "a part of a list is all of it", "sharedoa/heap/objects_of_classes.py",
        "return len(objects) == selection.count", "return True",
        "a method is called twice on some objects, and never on others",
        (f"{_SHARED_OUT}::test_a_part_of_a_list_is_not_taken_for_all_of_it",),
    ),
    Mutation(
        "references are narrow where null has no place", "sharedoa/heap/settings.py",
        "not any_foreign_class() and _has_base(narrow)", "not any_foreign_class()",
        "a program that has loaded large libraries cannot make an object in default settings",
        ("tests/heap/test_null_guard.py"
         "::test_references_are_wide_by_themselves_where_no_base_is_left",),
    ),
    Mutation(
        "objects hash by where they are", "sharedoa/model/object.py",
        "            return self._stable_hash\n        except",
        "            return hash(self._reference)\n        except",
        "sets and dictionaries do not find objects that have moved",
        ("tests/heap/test_automatic.py::test_sets_and_dictionaries_find_what_has_moved",),
    ),
    Mutation(
        "programs that were dropped are kept for good", "sharedoa/collection.py",
        "                gc.collect()\n", "                pass\n",
        "a process that makes and drops large programs takes more and more memory",
        ("tests/test_collection.py::test_programs_that_were_dropped_are_found",),
    ),
    Mutation(
        "names are imported from any end", "sharedoa/__init__.py",
        "    from . import everyday\n",
        '    everyday = import_module("." + _MODULES.get(name, "everyday"), __name__)\n',
        "threads that ask for first names together get modules of which half is there",
        ("tests/test_imports.py::test_what_is_usual_comes_first",),
    ),
    Mutation(
        "arrays are read with the lock", "sharedoa/heap/heap.py",
        "                known = self.placement.select(references)\n",
        "                known = objects._selection() if is_array else "
        "self.placement.select(references)\n",
        "who deletes an array and a launch in CPython wait for each other",
        ("tests/heap/test_threads.py::test_who_deletes_an_array_does_not_wait_with_the_lock",),
    ),
    Mutation(
        "an array is looked at twice for its deletion", "sharedoa/heap/heap.py",
        "                known = self.placement.select(references)\n",
        "                known = (is_array and objects._known_selection()) or "
        "self.placement.select(references)\n",
        "objects go that another thread stored meanwhile, and those before are told so",
        ("tests/heap/test_threads.py::test_the_same_objects_are_deleted_and_told_so",),
    ),
    Mutation(
        "objects may have gone before an array is deleted", "sharedoa/heap/heap.py",
        "if known is None or objects._known_selection() is not known:", "if known is None:",
        "what is said of objects that another thread deleted meanwhile is wrong",
        ("tests/heap/test_threads.py::test_who_was_deleted_meanwhile_is_told_as_that",),
    ),
    # ------------------------------------------- one object
    Mutation(
        "fields are read while launches are recorded", "sharedoa/heap/one_field.py",
        " and recording() is None", "",
        "what a block of oa.capture() reads is not what its launches compute",
        (f"{_ONE}::test_launches_are_waited_for_and_recorded_ones_refused",),
    ),
    Mutation(
        "deleted objects are of another class", "sharedoa/model/object.py",
        '        "__class__": property(_refuse_class),\n', "",
        "a kernel in CPython takes an object that was deleted for one of another class",
        ("tests/runtime/test_cpython.py::test_what_refers_to_a_deleted_object_is_told_so",),
    ),
    Mutation(
        "who writes a field of one object does not tell tapes", "sharedoa/heap/one_field.py",
        "if taping or not (", "if not (",
        "the way back of a tape loads what another task has changed within the block",
        (
            "tests/gradients/test_untouched.py::"
            "test_where_a_task_changes_one_object_within_the_block",
        ),
    ),
    Mutation(
        "deleted objects do not stand in values and parameters", "sharedoa/model/values.py",
        ' or getattr(of, "__sharedoa__", value) is None', "",
        "CPython refuses to read a value or call a function whose object is gone",
        (
            "tests/runtime/test_cpython.py::"
            "test_what_was_deleted_may_be_asked_about_wherever_it_stands",
        ),
    ),
    Mutation(
        "one object's field is read by an old layout", "sharedoa/heap/one_field.py",
        "known\n            if place[0] != placement.layout_epoch or not ",
        "known\n            if not ",
        "where clusters have changed a field is read from another's place", _OLD_WAYS,
    ),
    Mutation(
        "one object's field is written by an old layout", "sharedoa/heap/one_field.py",
        "known\n                if place[0] != placement.layout_epoch or not ",
        "known\n                if not ",
        "where clusters have changed a field is written to another's place", _OLD_WAYS,
    ),
    Mutation(
        "what one object knows of a region of another layout", "sharedoa/heap/one_field.py",
        " or region.arrangement is not arrangement", "",
        "where clusters have changed fields are read and written in others' places", _OLD_WAYS,
    ),
    Mutation(
        "one object in a used place", _BY_TYPE,
        "                    region.clear(slot)\n", "                    pass\n",
        "a new object has fields of the one that was there before",
        (f"{_ONE}::test_a_history",),
    ),
    Mutation(
        "arrays of other numbers for C++", "sharedoa/cxx/parameter_types.py",
        "element.is_float == (self.what == _FLOAT) and element.bits == 8 * self.size",
        "element.bits == 8 * self.size",
        "a kernel reads integers as floats",
        ("tests/cxx/test_kernels.py::test_what_pointers_point_to",),
    ),
    Mutation(
        "a forked worker has its parent's cores", "sharedoa/cores.py",
        "call_in_child(worker_count.cache_clear)\n", "_ = call_in_child\n",
        "workers of a sweep take each other's cores",
        ("tests/test_cores.py::test_a_forked_process_counts_anew",),
    ),
    Mutation(
        "a cluster's setting comes too late", "sharedoa/cores.py",
        "asked = _asked.partition", 'asked = os.environ.get("OMP_NUM_THREADS", "").partition',
        "where a cluster of Dask is started launches keep to one core",
        ("tests/test_cores.py::test_what_is_set_before_the_import_counts",),
    ),
    # ------------------------------------------- regions, what steps do
    Mutation(
        "places that regions left overlap", _BY_TYPE,
        "each[0] <= end and start <= each[1]", "each[0] <= end < each[1] < start",
        "what a heap notes of regions that went grows with each",
        ("tests/heap/test_moving.py::test_what_regions_left_is_noted_once",),
    ),
    Mutation(
        "regions stay when their objects went one by one", _BY_TYPE,
        "(region.used == 1 and not self._is_first(region))", "False",
        "memory of many objects stays with their class when none is left",
        (f"{_ONE}::test_the_first_region_stays_until_memory_is_wanted",),
    ),
    Mutation(
        "one look after a launch is enough", "sharedoa/heap/residency.py",
        "        self._copied.clear()\n", "",
        "a page comes and goes for each number that a loop looks at between launches",
        ("tests/heap/test_launches.py::test_what_the_host_used_moves_before_the_next_launch",),
    ),
    Mutation(
        "launches that list who lives are others", "sharedoa/runtime/population_sequence.py",
        "if not before and not after and key in surroundings.alone:",
        "if key in surroundings.alone:",
        "a step does not see what it has just made", (_AGAIN,),
    ),
    Mutation(
        "what is bound once counts once", "sharedoa/runtime/launch_sequence.py",
        "counted.launches += times - 1", "pass",
        "what a step does forty times weighs as much as what it does once", (_AGAIN,),
    ),
    Mutation(
        "calls with other arguments are the same", "sharedoa/runtime/population_plan.py",
        "record.method, *map(id, record.given)", "record.method",
        "each call of a method has the arguments of the first", (_AGAIN,),
    ),
    # ------------------------------------------- arrays of subclasses
    Mutation(
        "arrays of subclasses are stored to", "sharedoa/runtime/arguments.py",
        "            if given.__sharedoa_element__ != type.element:\n", "            if False:\n",
        "a kernel stores any object to an array of a subclass", _TO_PARAMETERS,
    ),
    Mutation(
        "arrays of base classes", "sharedoa/model/values.py",
        "return element.cls.is_subclass_of(type.element.cls)",
        "return type.element.cls.is_subclass_of(element.cls)",
        "an array of a base class is taken for one of a subclass", (_CLASSES,),
    ),
    Mutation(
        "arrays that are given on", _USE,
        "cls in classes | moved and number", "cls in classes and number",
        "a field gets an array of a subclass as one of its own class",
        (f"{_CLASSES}::test_objects_are_given_arrays_of_their_very_class",),
    ),
    Mutation(
        "what may have been stored to held arrays", _HELD,
        "    return other is not cls and cls.is_subclass_of(other)\n", "    return False\n",
        "who has an array that objects hold as one of a base class finds others in it",
        (f"{_CLASSES}::test_arrays_that_objects_hold[cpu-a piece-the host]",),
    ),
    Mutation(
        "arrays that are held twice", _HELD,
        "        for cls in classes & self._ambiguous:\n", "        for cls in ():\n",
        "objects that hold an array as one of a subclass find others in it",
        (f"{_CLASSES}::test_arrays_that_objects_hold_by_two_classes",),
    ),
    Mutation(
        "the host stores to held arrays", _HELD,
        "            self.note_stores({type.cls}, who)\n", "            pass\n",
        "the host stores any object to an array of a subclass that an object holds",
        (f"{_CLASSES}::test_arrays_that_objects_hold[cpu-a piece-the host]",),
    ),
    # ------------------------------------------- views with an object twice
    Mutation(
        "runs with an object in common", _PARTS,
        "        if self._may_repeat:\n", "        if False:\n",
        "an object in two parts of a view is changed twice",
        (
            "tests/heap/test_field_places.py"
            "::test_operators_in_place_count_an_object_once[tile-[0, 1, 2, 2, 3, 4]]",
        ),
    ),
    Mutation(
        "runs that meet in an object", _PARTS,
        "other[1] <= one[2]", "other[1] < one[2]",
        "the last object of a part is the first of the next",
        (
            "tests/heap/test_field_places.py"
            "::test_operators_in_place_count_an_object_once[tile-[0, 1, 2, 2, 3, 4]]",
        ),
    ),
    Mutation(
        "blocks amid blocks", "sharedoa/backends/thread_team.py",
        "    if _is_amid_another():\n", "    if False:\n",
        "a handler of signals that launches a kernel with barriers waits for ever",
        ("tests/backends/test_barrier.py::test_what_comes_amid_a_block_is_refused",),
    ),
    Mutation(
        "what handlers raise amid a block", "sharedoa/backends/together.py",
        "    except BaseException:\n        ready.set()\n",
        "    except RuntimeError as problem:\n"
        '        raise BackendError(f"no {count} threads: {problem}") from problem\n'
        "    except BaseException:\n        ready.set()\n",
        "an error of a handler is said to be a lack of threads, which nobody tells to end",
        ("tests/backends/test_barrier.py::test_what_a_handler_raises_is_no_lack_of_threads",),
    ),
    Mutation(
        "views that a signal left unmade", "sharedoa/heap/field_view.py",
        "        if heap is not None:\n            heap.upkeep.held.discard",
        "        if True:\n            heap.upkeep.held.discard",
        "after Ctrl-C Python writes of an AttributeError that it ignored",
        ("tests/heap/test_interrupts.py::test_a_view_that_was_never_made_goes_without_a_word",),
    ),
    Mutation(
        "columns of some objects are those of all", "sharedoa/heap/field_view.py",
        "is_all = isinstance(key[0], slice) and key[0] == slice(None)",
        "is_all = isinstance(key[0], slice)",
        "a part of the objects is written, and another one is meant",
        ("tests/heap/test_field_places.py::test_assignment_is_that_of_numpy",),
    ),
    Mutation(
        "each part of some objects begins with the first value", _PARTS,
        "part.region.field(path)[part.slots] = values[part.where]",
        "part.region.field(path)[part.slots] = values[: part.count]",
        "objects of the second run get the values of those of the first",
        (
            "tests/heap/test_field_places.py"
            "::test_one_value_an_object[auto-python-tile-any order-slice(2, 5, None)]",
        ),
    ),
    Mutation(
        "each item of some objects gets the first values", "sharedoa/heap/field_values.py",
        "objects[mine], given[mine])", "objects[mine], given[: len(objects[mine])])",
        "a list of objects and items is written with what was meant for others",
        ("tests/heap/test_field_places.py::test_assignment_is_that_of_numpy",),
    ),
    Mutation(
        "devices write in any order", _SCATTERED,
        "        if not is_distinct and self._has_repeated:\n", "        if False:\n",
        "an object that occurs twice gets any of its values", _REPEATED,
    ),
    Mutation(
        "the first value counts", _SCATTERED,
        "np.unique(addresses[::-1], return_index=True)\n            data = data[::-1][last]",
        "np.unique(addresses, return_index=True)\n            data = data[last]",
        "an object that occurs twice gets its first value", _REPEATED,
    ),
    Mutation(
        "objects that could not be made keep their memory", _SCATTERED,
        "            self._give_back(fresh, size)\n", "            pass\n",
        "each attempt to make objects for which there is no memory takes some of it",
        (_UNNOTED,),
    ),
    Mutation(
        "places that could not be noted keep their memory", _SCATTERED,
        "            self._give_back(fresh, self._layout.record(cls).size)\n", "            pass\n",
        "each launch for whose objects there is no memory takes some of it",
        (_UNNOTED,),
    ),
    Mutation(
        "memory outside that was given back counts", _SCATTERED,
        "        self._extents.release_outside(len(addresses) * size)\n", "",
        "a heap that is empty has no room",
        (_UNNOTED,),
    ),
    # ------------------------------------------- dumps
    Mutation(
        "parts that nobody reads", _DUMP,
        "        if used is not None:\n", "        if False:\n",
        "a heap is not dumped, as a part that was replaced refers to deleted objects", _PIECES,
    ),
    Mutation(
        "parts of one element", _DUMP,
        "(begins + pieces[\"length\"][first:stop]).clip(begins, count)",
        "(begins + 1).clip(begins, count)",
        "references behind the first of a part become null", _PIECES,
    ),
    Mutation(
        "roots are no parts", _DUMP,
        "np.array([(root._address, _length(root))], ARRAY_DTYPE)",
        "np.array([(root._address, 0)], ARRAY_DTYPE)",
        "references that only a root reads become null", _PIECES,
    ),
    Mutation(
        "arrays have their first class", _DUMP,
        "[heap.held_arrays.element_of(storage) for storage in storages]",
        "[storage.element for storage in storages]",
        "an array that got objects of a base class is dumped as one of the subclass",
        ("tests/heap/test_dump.py::test_an_array_that_got_objects_of_a_class_above_its_own",),
    ),
    # ------------------------------------------- deleted objects
    Mutation(
        "methods of deleted objects", _ARRAYS,
        "        if heap.placement.has_deleted(self._cls, storage.lived):\n", "        if False:\n",
        "a method is called on deleted objects",
        ("tests/heap/test_deleted.py::test_methods_are_called_on_what_is_left",),
    ),
    Mutation(
        "deleted objects of subclasses", "sharedoa/heap/region_index.py",
        "any(last > deletions and each.is_subclass_of(cls)", "any(last > deletions and each is cls",
        "a method is called on deleted objects of a subclass",
        (
            "tests/heap/test_deleted.py::test_methods_are_not_called_on_deleted_objects",
            "tests/heap/test_deleted.py::test_methods_of_objects_of_subclasses",
        ),
    ),
    Mutation(
        "methods of those in their places", _ARRAYS,
        "since = since if writes == heap.reference_writes else deletions", "since = deletions",
        "a method is called on what lies in the place of a deleted object",
        (
            "tests/heap/test_deleted.py::test_methods_are_not_called_on_deleted_objects",
            "tests/heap/test_deleted.py::test_methods_of_objects_of_subclasses",
        ),
    ),
    Mutation(
        "fields refer to what lives", "sharedoa/heap/field_references.py",
        "            found._storage.lived = 0  # objects may refer to what was deleted\n",
        "            pass\n",
        "a method is called on deleted objects that a field refers to",
        (
            "tests/heap/test_deleted.py::test_methods_are_not_called_on_deleted_objects",
            "tests/heap/test_deleted.py::test_methods_of_objects_of_subclasses",
        ),
    ),
    # ------------------------------------------- signals, forks
    Mutation(
        "blocks end in __exit__", "sharedoa/heap/blocks.py",
        "return self._exit is None or self._exit() is not None or self.stays_open", "return True",
        "a heap stays current, or launches are recorded, after Ctrl-C",
        ("tests/heap/test_interrupts.py::test_blocks_are_left_whenever_it_comes",),
    ),
    Mutation(
        "blocks of generators end in __exit__", "sharedoa/context_managers.py",
        "            self.let_go.close = self.gen.close\n", "            pass\n",
        "adjoints are gone, launches go through a stream of others, after Ctrl-C",
        ("tests/test_context_managers.py::test_settings_of_a_scope_are_left",),
    ),
    Mutation(
        "sections set handlers", "sharedoa/uninterrupted.py",
        "        self.has_set_handlers = True\n\n    def _note(", "\n    def _note(",
        "Ctrl-C just after a launch has begun is lost",
        ("tests/backends/test_interruption.py::"
         "test_an_interrupt_that_comes_as_soon_as_a_launch_begins",),
    ),
    Mutation(
        "interrupts ask kernels to end", "sharedoa/backends/interruption.py",
        "            ctypes.c_long(_LEAVE),\n", "            ctypes.c_long(signal.SIGINT),\n",
        "what is to cut a kernel interrupts the program once more",
        ("tests/backends/test_interruption.py::"
         "test_asking_to_leave_where_nobody_is_in_a_kernel",),
    ),
    Mutation(
        "forks wait with full hands", "sharedoa/forks.py",
        "            elif left:\n                locks.insert(0, locks.pop(place))\n"
        "                break\n",
        "            elif plain.acquire(timeout=left):\n                _held.append(plain)\n",
        "a fork and a thread wait for each other",
        ("tests/heap/test_forks.py::test_locks_that_are_taken_in_any_order",),
    ),
    Mutation(
        "signed numbers wrap", "sharedoa/heap/conversion.py",
        "            _check_range(type, found, what)  # np.arange(n) may be given for u64\n",
        "            pass\n",
        "-1 in an array of i64 becomes 2^64 - 1 in one of u64, in silence",
        ("tests/heap/test_arrays.py::test_signed_numbers_that_fit_are_taken_for_unsigned_ones",),
    ),
    Mutation(
        "arrays go at synchronisations alone", "sharedoa/heap/memory.py",
        "                self._collect_when_idle()\n", "                pass\n",
        "a loop that makes and drops arrays takes all memory",
        ("tests/heap/test_arrays.py::"
         "test_a_loop_that_drops_arrays_and_never_waits_needs_no_more_memory",),
    ),
    Mutation(
        "kernels of no types", "sharedoa/runtime/kernel.py",
        "def kernel(function: Callable[P, None]) -> Kernel[P]:",
        "def kernel(function: Callable[..., None]) -> Kernel[...]:",
        "type checkers know nothing of a launch's arguments",
        ("tests/checkers/test_checkers.py",),
    ),
    Mutation(
        "a component is another one", _ARRAYS,
        "        at = list(type.fields).index(name)\n", "        at = 0\n",
        "array['z'] of vectors is x",
        ("tests/heap/test_arrays.py::test_components",),
    ),
    Mutation(
        "the second counter is the first", "sharedoa/random_numbers.py",
        "first, second = counters[k : k + 2]", "first = second = counters[k]",
        "random numbers of several counters are not those of kernels",
        ("tests/runtime/test_random_numbers.py",),
    ),
    Mutation(
        "arrays of vectors have no inner length", "sharedoa/frontend/subscripts.py",
        "        lengths += [constant(each, weak_int, location) for each in element.shape]\n",
        "        pass\n",
        "shape is in kernels not what it is in CPython",
        ("tests/runtime/test_vectors.py::test_arrays_of_vectors",),
    ),
    Mutation(
        "records of units that are no more stay theirs", "sharedoa/runtime/launch.py",
        "                release_left(heap.backend)\n", "",
        "each cell of a notebook that runs again takes memory",
        ("tests/runtime/test_left_behind.py::test_records_are_used_again",),
    ),
    Mutation(
        "units that are no more are not noted", "sharedoa/runtime/unit.py",
        "records.left.append, self._loaded", "str, self._loaded",
        "each cell of a notebook that runs again takes memory",
        ("tests/runtime/test_left_behind.py::test_records_are_used_again",),
    ),
    Mutation(
        "forward references keep classes", "sharedoa/model/annotations.py",
        "WeakValueDictionary[tuple[str, str], type] = WeakValueDictionary()",
        "dict[tuple[str, str], type] = {}",
        "modules that programs write and drop stay in memory, and all that was compiled of them",
        ("tests/runtime/test_left_behind.py::test_modules_that_are_no_more",),
    ),
    Mutation(
        "sizes of launches are remembered by what they equal", "sharedoa/runtime/kernel.py",
        "        and item[0].__class__ is int and item[1].__class__ is int\n", "",
        "kernel[True, 1] is refused the first time alone",
        ("tests/runtime/test_geometry.py::test_sizes_that_are_remembered_are_ints",),
    ),
)  # fmt: skip
