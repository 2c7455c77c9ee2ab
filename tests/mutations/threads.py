"""Faults between two threads, each found by what the other one does at one line."""

from .mutation import Mutation

_TESTS = "tests/runtime/test_interleavings.py"
_GRIDS = "tests/runtime/test_grid_interleavings.py"

_MOVES = "tests/runtime/test_moves_meanwhile.py"
_STILL = "tests/runtime/test_standing_still.py"
_SIGNALS = (
    "tests/runtime/test_interrupted_launches.py::test_ctrl_c_leaves_nothing_for_which_others_wait["
)
_OTHERS = (f"{_STILL}::test_objects_that_another_thread_deletes",)

MUTATIONS = (
    Mutation(
        "who is alone with a heap notes not what it lists", "sharedoa/runtime/vectorised.py",
        "        upkeep.listed = books.deletions + books.moves + upkeep.births  # ``changes_of``\n",
        "",
        "methods run on objects that a thread which is new to the heap has moved",
        (f"{_TESTS}::test_a_thread_that_is_new_to_the_heap",),
    ),
    Mutation(
        "what launches make is no change", "sharedoa/runtime/populations.py",
        "heap.upkeep.births += births.changes", "pass",
        "a method of all objects leaves some out that lived when it began",
        (f"{_TESTS}::test_objects_that_a_launch_makes_meanwhile",),
    ),
    Mutation(
        "launches that only ask who lives are changes", "sharedoa/runtime/populations.py",
        "heap.upkeep.births += births.changes", "heap.upkeep.births += 1",
        "a call on objects of several classes is refused as if another thread had changed them",
        ("tests/runtime/test_births.py::test_objects_of_several_classes_ask",),
    ),
    Mutation(
        "calls of several launches begin again amid them", "sharedoa/runtime/vectorised.py",
        "            launch.launch(*launch.arrays(heap), *launch.first_threads, *given)\n"
        "            has_begun = True\n",
        "            launch.launch(*launch.arrays(heap), *launch.first_threads, *given)\n",
        "a method is called twice on the objects of the first launch",
        (f"{_TESTS}::test_several_launches_of_a_call",),
    ),
    Mutation(
        "code that was made meanwhile asks for no other runs", "sharedoa/runtime/launch.py",
        "(run := runs.get(place)) is not None", "(run := runs[place]) is not None",
        "a launch raises KeyError",
        (f"{_TESTS}::test_a_program_that_comes_to_index_an_array_only",),
    ),
    Mutation(
        "arrays are looked up while there come to be others", "sharedoa/heap/array_memory.py",
        '''        with self._lock:
            index = self._blocks.bisect_right(address) - 1
''',
        '''        if True:
            index = self._blocks.bisect_right(address) - 1
''',
        "a field holds an array that is taken for none",
        (f"{_TESTS}::test_an_array_that_is_looked_up_beside_others_that_are_made",),
    ),
    Mutation(
        "arrays in fields may go before somebody holds them", "sharedoa/heap/heap.py",
        "        with self.holding_still():\n"
        "            raw = self.placement.read_one(self._address(instance), _path(name))\n"
        "            return",
        "        if True:\n"
        "            raw = self.placement.read_one(self._address(instance), _path(name))\n"
        "            return",
        "a field holds memory that was given to another array",
        (f"{_TESTS}::test_an_array_that_goes_while_a_field_is_read",),
    ),
    Mutation(
        "objects move while one is read or written", "sharedoa/heap/launches.py",
        "        return nullcontext() if is_part else self.lock.plain\n",
        "        return nullcontext()\n",
        "a field of another object is read or written",
        (f"{_MOVES}::test_one_object_that_moves_meanwhile",),
    ),
    Mutation(
        "objects move while an array is given to one", "sharedoa/heap/heap.py",
        "        with self.holding_still():\n            raw = raw_value(type, value",
        "        if True:\n            raw = raw_value(type, value",
        "a field of another object is written",
        (f"{_MOVES}::test_one_object_that_moves_meanwhile",),
    ),
    Mutation(
        "objects move while what a field refers to is looked up", "sharedoa/heap/one_field.py",
        "                if placement.moves == moves:\n                    return result\n",
        "                return result\n",
        "a field refers to another object", (f"{_MOVES}::test_another_one_that_lies_where_it_was",),
    ),
    Mutation(
        "objects move while elements are read or written", "sharedoa/heap/arrays.py",
        "        if not holds_references(element):\n            return to_host(element, element_at",
        "        if True:\n            return to_host(element, element_at",
        "an element refers to another object", (f"{_MOVES}::test_one_object_that_moves_meanwhile",),
    ),
    Mutation(
        "threads of a launch wait for who reads fields", "sharedoa/heap/launches.py",
        "        return nullcontext() if is_part else self.lock.plain\n",
        "        return self.lock.plain\n",
        "threads of a block wait for the one that waits for them",
        (f"{_TESTS}::test_threads_of_a_launch_read_arrays_in_fields",),
    ),
    Mutation(
        "launches that were one stay so whatever is redefined",
        "sharedoa/runtime/launch_sequence.py",
        "self.may_be_one if is_new or heap.upkeep.is_shared else None", "None",
        "threads read what others of the same launch have not yet written",
        (f"{_TESTS}::test_launches_that_come_to_be_several",),
    ),
    Mutation(
        "launches as one are those of any grouping", "sharedoa/runtime/fusion/steps.py",
        "        if known is None or known[0] is not grouping:\n", "        if known is None:\n",
        "a step that two threads run is one launch where it must be two",
        (f"{_TESTS}::test_a_step_that_another_thread_groups_anew",),
    ),
    Mutation(
        "an error drops what other threads have asked for", "sharedoa/runtime/fusion/block.py",
        "[each for each in every if each[3] is not block]", "[]",
        "launches of a block never run, and nobody is told",
        (f"{_TESTS}::test_launches_that_wait_behind_one_that_fails",),
    ),
    Mutation(
        "moves forget proxies that were made meanwhile", "sharedoa/heap/proxies.py",
        "            for old, _, _ in moved:\n                self._known.pop(old, None)\n",
        "            self._known.clear()\n",
        "an object has two proxies, of which one is not told that it is deleted",
        (f"{_TESTS}::test_proxies_of_others_while_objects_move",),
    ),
    Mutation(
        "fields may be written between two steps of a move", "sharedoa/heap/moving.py",
        "                heap.memory.free_work(move.extent)\n",
        "                placement.access.release()\n"
        "                heap.memory.free_work(move.extent)\n"
        "                placement.access.acquire()\n",
        "references that another thread stores meanwhile lead to where nobody lives",
        (f"{_TESTS}::test_references_that_are_stored_while_objects_move",),
    ),
    Mutation(
        "views are lost when objects of other classes move", "sharedoa/heap/field_view.py",
        "if placement.have_moved(self._cls, self._moves):", "if True:",
        "a thread that reads fields fails when another one has objects of its own move",
        ("tests/heap/test_moving.py::test_views_of_classes_that_did_not_move",),
    ),
    Mutation(
        "views overlook objects of subclasses that move", "sharedoa/heap/by_type.py",
        "self._last_move.get(each, 0) > since for each in cls.descendants()",
        "self._last_move.get(each, 0) > since for each in [cls]",
        "a view shows memory of nobody",
        ("tests/heap/test_moving.py::test_views_of_classes_that_did_not_move",),
    ),
    Mutation(
        "launches in CPython end objects while others go on",
        "sharedoa/runtime/cpython_launches.py",
        "is_alone = heap.upkeep.is_shared", "pass",
        "another thread's launch in CPython comes to objects that were deleted",
        ("tests/runtime/test_cpython.py::test_a_launch_that_ends_objects_waits_for_others",),
    ),
    Mutation(
        "what cannot be compiled ends nothing",
        "sharedoa/runtime/cpython_launches.py",
        "if births is None or births.changes:", "if births is not None and births.changes:",
        "another thread's launch in CPython comes to objects that were deleted",
        ("tests/runtime/test_cpython.py::test_a_captured_step_that_ends_objects_waits_for_others",),
    ),
    Mutation(
        "runs of steps in CPython end objects while others go on",
        "sharedoa/runtime/launch_sequence.py",
        "run_noted(self.heap, launches,", "run_noted(self.heap, [],",
        "another thread's launch in CPython comes to objects that were deleted",
        ("tests/runtime/test_cpython.py::test_a_captured_step_that_ends_objects_waits_for_others",),
    ),
    Mutation(
        "elements that were deleted are refused in CPython", "sharedoa/heap/arrays.py",
        "            if hooks.kernel_objects() is not None:\n", "            if False:\n",
        "oa.is_alive(objects[i]) fails there, and is false where kernels are compiled",
        ("tests/runtime/test_cpython.py::test_what_was_deleted_may_be_asked_about_in_arrays",),
    ),
    Mutation(
        "CPython takes others for elements that were deleted", "sharedoa/heap/arrays.py",
        "                heap.placement.refuse_replaced(references, deletions)\n"
        "                return\n", "                return\n",
        "a kernel goes on with whoever was made in the place of an element",
        ("tests/runtime/test_cpython.py::test_whose_place_another_has_is_refused",),
    ),
    Mutation(
        "launches in CPython leave room as it is", "sharedoa/runtime/cpython_launches.py",
        "geometry in changing:", "geometry in changing[:0]:",
        "the room of a class of which most have gone stays",
        ("tests/runtime/test_cpython.py::test_each_run_of_a_captured_step_looks_after_room",),
    ),
    Mutation(
        "launches in CPython are noted before what undoes it",
        "sharedoa/runtime/cpython_launches.py",
        "            try:\n"
        "                memory.begin_in_cpython(this, cpython.part_of_launch())\n",
        "            memory.begin_in_cpython(this, cpython.part_of_launch())\n"
        "            try:\n",
        "after Ctrl-C other threads wait for a launch for ever", (f"{_SIGNALS}python-end]",),
    ),
    Mutation(
        "what is listed is noted before what undoes it", "sharedoa/heap/recording.py",
        "    try:\n        recording.set(Listed(heap, changes_of(heap)))\n",
        "    recording.set(Listed(heap, changes_of(heap)))\n    try:\n",
        "after Ctrl-C launches are refused for what another thread has deleted since",
        (f"{_SIGNALS}python-end_all]",),
    ),
    Mutation(
        "books stay with a launch in CPython that Ctrl-C has ended",
        "sharedoa/runtime/cpython_launches.py",
        "            objects.close()  # a signal may", "            pass  # a signal may",
        "after Ctrl-C other threads wait for the heap's books for ever",
        (f"{_SIGNALS}python-end]",),
    ),
    Mutation(
        "after Ctrl-C the host is taken for a thread of a kernel", "sharedoa/runtime/cpython.py",
        "    try:\n        current_thread.set(thread)\n",
        "    current_thread.set(thread)\n    try:\n",
        "what only the host may do is refused", (f"{_SIGNALS}python-launch]",),
    ),
    Mutation(
        "the host deletes objects while CPython goes through them", "sharedoa/heap/heap.py",
        "with self.memory.no_launch_in_cpython():\n"
        "            self.memory.finish_in_cpython()\n            with self.lock:\n",
        "if True:\n            with self.lock:\n",
        "another thread's launch in CPython comes to objects that were deleted",
        ("tests/runtime/test_cpython.py::test_a_deletion_waits_for_launches_of_others",),
    ),
    Mutation(
        "one object is deleted while CPython goes through all", "sharedoa/heap/one_object.py",
        'if heap.upkeep.is_shared and heap.backend.name == "python":', "if False:",
        "another thread's launch in CPython comes to an object that was deleted",
        ("tests/runtime/test_cpython.py::test_a_deletion_waits_for_launches_of_others",),
    ),
    Mutation(
        "who moves by themselves is decided before the lock", "sharedoa/heap/automatic.py",
        '''        with heap.lock:  # under which another thread that begins to use the heap says so
            if not self._may_move(heap, regions):
                return
''',
        '''        if not self._may_move(heap, regions):
            return
        if True:
''',
        "views that another thread has just made show memory of nobody",
        (f"{_TESTS}::test_views_of_a_new_thread_before_objects_move_by_themselves",),
    ),
    Mutation(
        "views know of deletions from when they are there", "sharedoa/heap/objects.py",
        "        since, selection = changes_now(self._heap), self._selection()\n",
        "        selection, since = self._selection(), changes_now(self._heap)\n",
        "a view shows what has come to the place of a deleted object",
        (f"{_TESTS}::test_who_is_deleted_while_a_view_is_made",),
    ),
    Mutation(
        "grids are built by two threads at once", "sharedoa/runtime/hash_grid.py",
        '''        with self._building:
            with_listed(objects._heap, lambda: self._build_listed(objects, field))
''',
        '''        if True:
            with_listed(objects._heap, lambda: self._build_listed(objects, field))
''',
        "objects are counted twice, and stored behind the end of the grid's arrays",
        (f"{_GRIDS}::test_two_threads_that_build_a_grid",),
    ),
    Mutation(
        "who is deleted while a grid is built is in it", "sharedoa/runtime/hash_grid.py",
        "            with_listed(objects._heap, lambda: self._build_listed(objects, field))\n",
        "            self._build_listed(objects, field)\n",
        "near finds deleted objects",
        (f"{_GRIDS}::test_who_is_deleted_while_a_grid_is_built",),
    ),
    Mutation(
        "kernels wait for who builds the grid that they search in", "sharedoa/runtime/hash_grid.py",
        "        if not may_wait:\n", "        if False:\n",
        "a kernel that makes objects and a thread that builds a grid wait for each other",
        (f"{_GRIDS}::test_a_kernel_that_searches_in_a_grid_that_is_built_anew",),
    ),
    Mutation(
        "grids are built before what was asked for earlier runs", "sharedoa/runtime/hash_grid.py",
        "        objects._heap.launch_deferred()\n", "",
        "launches that wait find a grid of which a part is built",
        (f"{_GRIDS}::test_a_grid_that_is_built_while_launches_that_use_it_wait",),
    ),
    Mutation(
        "a dump beside launches", "sharedoa/heap/heap.py",
        "                self.memory.stand_still(self._waited_for)\n                dump(",
        "                dump(",
        "half of another thread's launch is in a dump", (f"{_STILL}::test_a_dump",),
    ),
    Mutation(
        "a dump beside launches in CPython", "sharedoa/heap/heap.py",
        "with self.memory.no_launch_in_cpython():\n"
        "            self.memory.finish_in_cpython()\n            with self.lock.plain:",
        "if True:\n            with self.lock.plain:",
        "half of another thread's launch is in a dump", (f"{_STILL}::test_a_dump",),
    ),
    Mutation(
        "objects move beside launches in CPython", "sharedoa/heap/moving.py",
        "{*shared_type(python_class).descendants()}\n"
        "    with heap.memory.no_launch_in_cpython():\n"
        "        heap.memory.finish_in_cpython()\n",
        "{*shared_type(python_class).descendants()}\n    if True:\n",
        "what another thread's kernel stores is lost", (f"{_STILL}::test_moving_objects",),
    ),
    Mutation(
        "a search for arrays beside launches", "sharedoa/heap/memory.py",
        "        self.stand_still()\n        if self._settings",
        "        if self._settings",
        "an array that a kernel takes to another field is given away",
        (f"{_STILL}::test_a_search_for_arrays_that_nobody_holds",),
    ),
    Mutation(
        "deletion beside launches", "sharedoa/heap/heap.py",
        "                self.wait_for_others()\n                self.memory.wait_for_lists()\n",
        "                self.memory.wait_for_lists()\n",
        "a kernel is still running on objects whose memory others have",
        (f"{_STILL}::test_deletion_waits_for_launches_that_have_just_begun",),
    ),
    Mutation(
        "deletion of one beside launches", "sharedoa/heap/one_object.py",
        "        heap.wait_for_others()\n", "",
        "a kernel is still running on an object whose memory others have",
        (f"{_STILL}::test_deletion_waits_for_launches_that_have_just_begun",),
    ),
    Mutation(
        "what was listed before others were deleted", "sharedoa/heap/recording.py",
        "if known is not None and known != changes_of(heap):", "if known == -1:",
        "a method is called on what has come to the place of a deleted object", _OTHERS,
    ),
    Mutation(
        "a captured run launches before it has the books",
        "sharedoa/runtime/population_sequence.py",
        "        with heap.lock:\n            # Not before: who",
        "        launching[this] = is_part\n        with heap.lock:\n            # Not before: who",
        "two threads wait for each other",
        (
            "tests/runtime/test_population_sequence.py::"
            "test_a_run_launches_when_nobody_else_has_the_books",
        ),
    ),
    Mutation(
        "a thread that has no memory to begin is waited for", "sharedoa/own_threads.py",
        "super().wait(PATIENCE_SECONDS)", "super().wait(timeout)",
        "the program hangs where memory runs out",
        (
            "tests/backends/test_barrier.py::test_a_thread_without_memory_to_begin",
            "tests/runtime/test_background.py::test_a_thread_without_memory_to_begin",
        ),
    ),
    Mutation(
        "each run of a sweep waits for a thread that never comes", "sharedoa/sweeps/processes.py",
        "            self._places = self._places[: len(self._threads)]\n", "",
        "a sweep of a thousand runs waits ten seconds for each",
        ("tests/sweeps/test_processes.py::test_without_memory_for_a_thread_those_there_are_do_all",),
    ),
    Mutation(
        "a sweep's thread that was given up works", "sharedoa/sweeps/processes.py",
        "if threading.current_thread() not in self._threads:", "if False:",
        "a sweep never ends, as two threads wait for one word to end",
        ("tests/sweeps/test_processes.py::test_a_thread_that_was_given_up_works_no_more",),
    ),
    Mutation(
        "a thread that never began counts", "sharedoa/own_threads.py",
        "if not self._started.is_set():", "if False:",
        "what was submitted is never done", 
        ("tests/runtime/test_background.py::test_a_thread_without_memory_to_begin",),
    ),
    Mutation(
        "a thread that begins late works beside another", "sharedoa/runtime/background.py",
        "if self._thread is not threading.current_thread():", "if False:",
        "two threads compile, of which nobody waits for one",
        ("tests/runtime/test_background.py::test_a_thread_that_was_given_up_works_no_more",),
    ),
    Mutation(
        "a step of changing populations is planned amid another thread's run",
        "sharedoa/runtime/population_sequence.py",
        "            with self._turn:\n                self._run_once()\n",
        "            self._run_once()\n",
        "a run binds some launches of one plan and replays those of another",
        (
            "tests/runtime/test_steps_of_several_threads.py"
            "::test_nobody_plans_amid_anothers_run",
        ),
    ),
    Mutation(
        "a step is planned by books that another thread's run has left behind",
        "sharedoa/runtime/population_sequence.py",
        "            heap.settle()  # another thread's step may have run since, "
        "and regions may change below\n            counts = {cls:",
        "            counts = {cls:",
        "regions become one with bytes of a launch that has not run",
        (
            "tests/runtime/test_steps_of_several_threads.py"
            "::test_what_ends_before_the_books_are_locked[plan]",
        ),
    ),
    Mutation(
        "objects are put together by books that another thread's run has left behind",
        "sharedoa/heap/moving.py",
        "            heap.settle()  # another thread's step may have run since\n"
        "            classes = [cls for",
        "            classes = [cls for",
        "what the run ends is moved and lives on",
        (
            "tests/runtime/test_steps_of_several_threads.py"
            "::test_what_ends_before_the_books_are_locked[compact]",
        ),
    ),
    Mutation(
        "quick launches amid others of their thread", "sharedoa/runtime/launch_code.py",
        "or debug is not None or is_mine():", "or debug is not None:",
        "a launch amid which a signal came runs with its handler's arguments",
        ("tests/runtime/test_launches_in_handlers.py::test_each_has_its_own_arguments[quick]",),
    ),
    Mutation(
        "arguments of launches amid others stay", "sharedoa/runtime/launch.py",
        "                self.slots[:] = before\n", "                pass\n",
        "a launch amid which a signal came runs with its handler's arguments",
        ("tests/runtime/test_launches_in_handlers.py::test_each_has_its_own_arguments[first]",),
    ),
)  # fmt: skip
