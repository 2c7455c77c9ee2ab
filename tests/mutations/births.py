"""Faults in what makes and ends objects in kernels."""

from .mutation import Mutation

_BIRTHS = "sharedoa/ir/births.py"
_NUMBER = "sharedoa/ir/passes/number_threads.py"
_CODE = "dispatch/births.py"
_REGIONS = "sharedoa/heap/regions.py"
_LAUNCH = "sharedoa/runtime/launch.py"
_STRETCHES = "sharedoa/runtime/stretches.py"
_OPERATIONS = "sharedoa/ir/operations.py"
_BOUNDS = ("tests/ir/test_births.py",)
_PROMISES = ("tests/runtime/test_births.py",)
_PROXIES = (
    "tests/runtime/test_population_sequence.py::test_no_proxy_becomes_that_of_who_got_the_place",
)
_RANDOM = ("tests/differential/test_births.py",)
_MOVING, _MOVED = "sharedoa/heap/moving.py", ("tests/heap/test_moving.py",)
_LEFT = ("tests/heap/test_moving.py::test_where_all_of_a_class_were_deleted_nothing_is_left",)
_AUTOMATIC = "sharedoa/heap/automatic.py"
_AUTOMATICALLY = ("tests/heap/test_automatic.py",)
_MOVE_CODE = "sharedoa/backends/move_code.py"
_KERNELS = "sharedoa/backends/slot_code.py"
_BYTES = "sharedoa/backends/slot_bytes_code.py"
_LISTS = "sharedoa/backends/slot_list_code.py"
_PLAN, _SEQUENCE = (
    "sharedoa/runtime/population_plan.py",
    "sharedoa/runtime/population_sequence.py",
)
_SEQUENCES = (
    "tests/runtime/test_population_sequence.py",
    "tests/runtime/test_population_room.py",
)

_ALL_FIT = (
    "tests/runtime/test_population_room.py::test_where_not_all_fit_no_region_is_made",
    "tests/runtime/test_population_room.py::test_there_is_room_for_the_lists_of_a_run_too",
)
_FEW = (
    "tests/runtime/test_population_room.py::test_few_that_double_are_no_reason_for_another_plan",
)
_AMID = ("tests/runtime/test_population_room.py::test_runs_that_report_amid_follow_each_other",)

MUTATIONS = (
    Mutation(
        "methods of captured calls whatever their types are now",
        "sharedoa/runtime/vectorised_code.py",
        "if found is None or _types(found) != types:", "if found is None:",
        "a step fails with a ValueError of ours, or calls with other arguments",
        (f"{_SEQUENCES[0]}::test_a_method_that_gets_other_types_is_told",),
    ),
    Mutation(
        "references to regions that went with their objects", _MOVING,
        "*former.values()], placement.places_left()", "*former.values()], []",
        "they stay, and lead to others that get the memory after oa.compact", _LEFT,
    ),
    Mutation(
        "who lies where others went", "sharedoa/heap/by_type.py",
        "regions[first : bisect_left(starts, end)]", "regions[:0]",
        "references to objects that live become null", _LEFT,
    ),
    Mutation(
        "what CPython makes in a kernel begins without defaults",
        "sharedoa/runtime/cpython_births.py",
        "field_values(self._heap, cls, {} if has_init(cls) else fields)",
        "{} if has_init(cls) else field_values(self._heap, cls, fields)",
        "where its class has an __init__ its fields are zero",
        ("tests/runtime/test_initialisers.py::test_arguments_defaults_and_bases",),
    ),
    Mutation(
        "what a run has yet to make when it reports", _SEQUENCE,
        "self._is_amid = not self._ends.popleft()",
        "self._is_amid = self._ends.popleft() < 0",
        "the next run has no room for all that live", _AMID,
    ),
    Mutation(
        "regions of a run that do not all fit", "sharedoa/heap/extents.py",
        "            else:\n                return False\n        return True",
        "        return True",
        "some are made, for which the memory is lacking elsewhere", _ALL_FIT,
    ),
    Mutation(
        "few that double", _SEQUENCE,
        "least_of = spare if growth > 1 and counts[cls] else 0", "least_of = 0",
        "a step in which few are made is planned anew each time that they double", _FEW,
    ),
    Mutation(
        "room for regions, but not for lists", _SEQUENCE,
        "make_room_for_all, wanted, lists)", "make_room_for_all, wanted, ())",
        "where memory is short regions double, and launches have no room for lists", _ALL_FIT,
    ),
    Mutation(
        "what of two regions lives that become one", "sharedoa/heap/regions.py",
        "self.live[: low.unused_from] = low.live[: low.unused_from]",
        "self.live[: low.used] = low.live[: low.used]",
        "the last objects behind free slots are gone", ("tests/heap/test_regions.py",),
    ),
    Mutation(
        "runs are never cut", _SEQUENCE,
        "if self._waited == _PATIENCE:", "if self._waited < 0:",
        "the device waits for the host after each run", _AMID,
    ),
    Mutation(
        "what is left of a run makes nothing", _PLAN,
        "for spans in (rest, *repeat(self._spans, runs)):",
        "for spans in repeat(self._spans, runs):",
        "the next run has no room for all that live", _AMID,
    ),
    Mutation(
        "lists of those that lived before", "sharedoa/runtime/vectorised.py",
        "    placement = heap.placement\n    return placement.population_version,",
        "    placement = heap.placement\n    return 0,",
        "a method is called on what was there at the call before",
        ("tests/runtime/test_population_room.py::test_calls_between_runs_take_who_lives_now",),
    ),
    Mutation(
        "empty regions that went for want of memory go again", _MOVING,
        "    if not any(leaving()):\n",
        "    once = leaving()\n    leaving = lambda: once\n    if not any(once):\n",
        "memory in which objects live is given out to others", _MOVED,
    ),
    Mutation(
        "references of a list that is not there", "sharedoa/heap/moving.py",
        "                self._list(cls, self._target_list)\n", "",
        "a device picks from what the list held before",
        ("tests/heap/test_moving.py::test_a_device_sorts_populations",),
    ),
    Mutation(
        "code for every number of runs", "sharedoa/heap/population.py",
        "        if left is None:\n            return True", "        return True",
        "a launch that ends objects is compiled anew whenever they are in more pieces",
        ("tests/heap/test_automatic.py::test_code_for_what_launches_change_is_made_once",),
    ),
    Mutation(
        "what has just moved together", "sharedoa/heap/population.py",
        "return is_whole and not left", "return is_whole",
        "code for one run is made whenever objects have moved",
        ("tests/heap/test_automatic.py::test_code_for_what_launches_change_is_made_once",),
    ),
    Mutation(
        "what is made one after the other is counted once", _BIRTHS,
        "        total += part", "        total |= part",
        "threads have fewer places than objects",
        _BOUNDS,
    ),
    Mutation(
        "rounds that nobody knows are none", _BIRTHS,
        "    if rounds is None or", "    if rounds is None:\n        return Counter()\n    if",
        "threads have fewer places than objects",
        _BOUNDS,
    ),
    Mutation(
        "who calls itself makes no more", _BIRTHS,
        "            return None  # it calls itself", "            return Counter()",
        "threads have fewer places than objects",
        _BOUNDS,
    ),
    Mutation(
        "rows of threads have the same numbers", _NUMBER,
        'emit("binary", row, emit("thread_index", axis=0), operator="add")',
        'emit("thread_index", axis=0)',
        "threads take each other's places",
        _PROMISES,
    ),
    Mutation(
        "what may be called instead has no number", _NUMBER,
        "found.update(called, [symbol])", "found.update([symbol])",
        "candidates of a call have several signatures",
        ("tests/ir/test_files.py",),
    ),
    Mutation(
        "a new object is nothing to anybody", _OPERATIONS,
        'declare(Kind("new", Effects.LIVES | Effects.ASKS_THREAD,', 'declare(Kind("new", PURE,',
        "objects whose references are not used are not made",
        _PROMISES,
    ),
    Mutation(
        "a thread's second object takes the first one's place", _CODE,
        "builder.select(within, builder.add(first, wide), I64(-1))",
        "builder.select(within, first, I64(-1))",
        "objects overlap",
        ("tests/dispatch/test_births.py::test_places_one_by_one",),
    ),
    Mutation(
        "everybody who deletes an object has deleted it", _CODE,
        'return builder.icmp_unsigned("==", builder.and_(before, bit), I32(0))',
        'return builder.icmp_unsigned("==", before, before)',
        "several threads get True",
        ("tests/dispatch/test_births.py::test_one_who_finds_it_alive_ends_it",),
    ),
    Mutation(
        "what was deleted in this launch is alive", _CODE,
        "return builder.and_(there, builder.not_(ended))", "return there",
        "the thread that deleted an object finds it alive",
        _PROMISES,
    ),
    Mutation(
        "what was born and ended in one launch stays", "sharedoa/heap/slots_on_host.py",
        "loan.slots[states & (BORN | ENDED) == BORN]", "loan.slots[states & BORN == BORN]",
        "objects that nobody knows live",
        _PROMISES,
    ),
    Mutation(
        "places that nobody took are lost", _REGIONS,
        "self.free_list.push(returned)", "self.free_list.push(returned[:0])",
        "memory grows with every launch",
        ("tests/heap/test_loans.py::test_what_was_never_used_still_is_not",),
    ),
    Mutation(
        "a region whose slots are lent is idle", _REGIONS,
        "self.used == self.withheld == self.lent == 0", "self.used == self.withheld == 0",
        "its memory is freed, and a launch makes objects there",
        ("tests/heap/test_loans.py::test_regions_with_lent_slots_stay",),
    ),
    Mutation(
        "the host takes slots that are lent", _REGIONS,
        "self.used - self.withheld - self.lent", "self.used - self.withheld",
        "two objects are in one place",
        ("tests/heap/test_loans.py::test_regions_with_lent_slots_stay",),
    ),
    Mutation(
        "memory for regions that become one", "sharedoa/heap/growing_regions.py",
        "if merges and regions:", "if False:",
        "a run is planned for whose lists there is no room once regions have become one",
        ("tests/heap/test_regions.py::test_what_has_room_with_all_else_gets_it",),
    ),
    Mutation(
        "regions that end amid a tile", "sharedoa/heap/growing_regions.py",
        "capacity = -(-capacity // lanes) * lanes", "capacity += 0",
        "the last objects of a region have no whole rows",
        ("tests/heap/test_regions.py::test_regions_end_where_tiles_do",),
    ),
    Mutation(
        "regions whose slots are lent become one", "sharedoa/heap/growing_regions.py",
        "if low.lent:", "if False:",
        "a launch notes objects in a region that is no more",
        ("tests/heap/test_loans.py::test_regions_with_lent_slots_stay",),
    ),
    Mutation(
        "slots that were never used count as used", _REGIONS,
        "unused_from = max(loan.unused_from, last + 1)", "pass",
        "populations are no slices any more",
        ("tests/heap/test_loans.py::test_what_was_never_used_still_is_not",),
    ),
    Mutation(
        "references to what is gone lead to where it was", _MOVE_CODE,
        "stays = builder.and_(keeps, is_none)", "stays = is_none",
        "an object is taken for one that was deleted",
        ("tests/heap/test_moving.py::test_what_was_deleted_is_null_afterwards",),
    ),
    Mutation(
        "arrays of references stay as they were", _MOVING,
        "for storage in heap.memory.arrays.all():", "for storage in ():",
        "threads find freed memory",
        ("tests/heap/test_moving.py::test_what_was_deleted_is_null_afterwards",),
    ),
    Mutation(
        "value structs have no references that follow", "sharedoa/heap/object_moves.py",
        "    elif isinstance(type, ValueType) and not type.shape:", "    elif False:",
        "threads find freed memory",
        ("tests/heap/test_moving.py::test_where_all_of_a_class_were_deleted_nothing_is_left",),
    ),
    Mutation(
        "only the first lanes of tiles follow", _MOVE_CODE,
        "lanes = builder.sub(builder.shl(I64(_LANE_STEP), shift), I64(1))", "lanes = I64(0)",
        "objects get the fields of their neighbours",
        ("tests/heap/test_moving.py::test_where_all_of_a_class_were_deleted_nothing_is_left",),
    ),
    Mutation(
        "objects move by themselves under a view of fields", _AUTOMATIC,
        "            or self.held\n", "",
        "a program that was right finds its view refused",
        _AUTOMATICALLY,
    ),
    Mutation(
        "objects move by themselves under NumPy's views", _AUTOMATIC,
        "            or any(region.is_viewed for region in regions)\n", "",
        "what is written to the view is lost",
        _AUTOMATICALLY,
    ),
    Mutation(
        "views of regions that have become one do not count", _REGIONS,
        "        for region, base in self._former:", "        for region, base in ():",
        "what is written to the view is lost",
        _AUTOMATICALLY,
    ),
    Mutation(
        "objects move at each launch that needs little", _AUTOMATIC,
        "_PATIENCE = 8", "_PATIENCE = 1",
        "objects move in each step",
        _AUTOMATICALLY,
    ),
    Mutation(
        "objects move while launches go on", _MOVING,
        "    heap.memory.stand_still()\n", "",
        "what a launch writes meanwhile is lost",
        ("tests/heap/test_moving.py::test_launches_of_another_thread_have_ended",),
    ),
    Mutation(
        "an object may be sorted twice", _MOVING,
        "            if has_repeated(references):\n"
        "                raise repeated_reference(\"sort\")\n",
        "",
        "an object has two places",
        ("tests/heap/test_moving.py::test_refused",),
    ),
    Mutation(
        "arguments are packed once", "sharedoa/runtime/launch.py",
        "        self.plan.pack(slots, arguments)\n        planned", "        planned",
        "an array that is no run any more has the address of its first object",
        ("tests/heap/test_moving.py::test_launches_of_another_thread_have_ended",),
    ),
    Mutation(
        "runs stay runs when objects move", _MOVING,
        "        heap.note_reference_writes()", "        pass",
        "kernels take other objects for those of an array",
        ("tests/heap/test_moving.py::test_a_device_sorts_populations",),
    ),
    Mutation(
        "proxies stay where they were", "sharedoa/heap/proxies.py",
        "                proxy._reference = new\n", "                pass\n",
        "Python finds freed memory",
        ("tests/heap/test_moving.py::test_what_was_deleted_is_null_afterwards",),
    ),
    Mutation(
        "classes move in whatever order sets have", _MOVING,
        "in sorted(given, key=lambda each: each.type_index):", "in given:",
        "the same program lays objects out otherwise the next time",
        ("tests/heap/test_moving.py::test_new_places_are_the_same_every_time",),
    ),
    Mutation(
        "views of fields stay when objects move", "sharedoa/heap/field_view.py",
        "if moves != self._moves:", "if moves < self._moves:",
        "somebody else's fields are read",
        ("tests/heap/test_moving.py::test_views_of_fields_are_taken_again",),
    ),
    Mutation(
        "tests of several parts are used twice", "sharedoa/codegen/branches.py",
        "uses[test.result] == 1", "uses[test.result]",
        "a value that nobody made is used",
        ("tests/codegen/test_branches.py::test_a_truth_that_is_used_twice_is_a_value",),
    ),
    Mutation(
        "not is forgotten in a test of several parts", "sharedoa/codegen/branches.py",
        "_decide(emitter, made.operands[0], otherwise, then)",
        "_decide(emitter, made.operands[0], then, otherwise)",
        "the other arm runs",
        ("tests/codegen/test_branches.py::test_they_decide_as_python_does[counted]",),
    ),
    Mutation(
        "such launches go the quick way", _LAUNCH,
        " and not self.uses().births", "",
        "nobody notes what a launch made",
        _PROMISES,
    ),
    Mutation(
        "each class is a launch of its own", _STRETCHES,
        "return any(cost_of(stretch.cls, stretch.method).changes for stretch in stretches)",
        "return False",
        "a launch deletes what another one of the same call works on",
        _RANDOM,
    ),
    Mutation(
        "what is born is not there in debug mode", "dispatch/check.py",
        "byte.type(LIVED | BORN)", "byte.type(LIVED)",
        "new objects are reported as deleted",
        _PROMISES,
    ),
    Mutation(
        "a device forgets who was ended in the launch that made it", _KERNELS,
        "builder.and_(builder.or_(lived, born), builder.not_(ended))",
        "builder.or_(lived, builder.and_(born, builder.not_(ended)))",
        "ended objects live",
        _SEQUENCES,
    ),
    Mutation(
        "chunks before a thread's own count one less", _LISTS,
        'is_one = builder.icmp_unsigned("<", at, stop)',
        'is_one = builder.icmp_unsigned("<", builder.add(at, I64(1)), stop)',
        "two objects have one place",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[together-pretended-50]",
        ),
    ),
    Mutation(
        "regions before a thread's own count one less", _BYTES,
        'is_one = builder.icmp_unsigned("<", own, stop)',
        'is_one = builder.icmp_unsigned("<", builder.add(own, I64(1)), stop)',
        "two objects have one place",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[together-pretended-50]",
        ),
    ),
    Mutation(
        "slots behind the last one are free", _LISTS,
        "there = builder.select(is_one, there, I32(0))", "there = I32(-1)",
        "an object has a place where there is none",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[apart-pretended-None]",
        ),
    ),
    Mutation(
        "chunks in which nobody lives have no free slots either", _LISTS,
        "some = builder.trunc(of(here, counted, others), I32)",
        "some = builder.trunc(counted, I32)",
        "objects have no place although there is room",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[apart-pretended-None]",
        ),
    ),
    Mutation(
        "chunks in which nobody has lived stay as they are", _KERNELS,
        "_is_none(builder, builder.or_(counts, makes))", "_is_none(builder, counts)",
        "objects that were made do not live",
        ("tests/runtime/test_population_room.py::test_there_is_room_for_the_lists_of_a_run_too",),
    ),
    Mutation(
        "launches are taken to make nothing", "sharedoa/heap/slots_on_device.py",
        "is_made = region.cls in makes", "is_made = False",
        "objects that were made do not live",
        ("tests/runtime/test_population_room.py::test_there_is_room_for_the_lists_of_a_run_too",),
    ),
    Mutation(
        "only the first vector of a chunk is stored", _BYTES,
        "enumerate(self._loaded):", "enumerate(self._loaded[:1]):",
        "objects that were made do not live",
        ("tests/heap/test_slots_on_device.py::test_what_lives_after_launches[pretended-1-40]",),
    ),
    Mutation(
        "chunks that nobody has touched are not counted either", _KERNELS,
        "builder.or_(is_touched, is_any(builder, counts))", "is_touched",
        "nobody lives where the host has made all objects",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[together-pretended-50]",
        ),
    ),
    Mutation(
        "objects move by themselves or the deletion fails", _AUTOMATIC,
        "with suppress(HeapError, MemoryError):", "with suppress(HeapError):",
        "oa.delete raises where there is no memory for code that moves objects",
        ("tests/heap/test_automatic.py::test_without_memory_they_stay",),
    ),
    Mutation(
        "captured steps in CPython move objects", "sharedoa/runtime/launch_sequence.py",
        "with self.heap.upkeep.still():", "if True:",
        "objects are in another order than where runs are compiled",
        ("tests/heap/test_automatic.py::test_captured_steps_move_nothing[python-aos]",),
    ),
    Mutation(
        "a failed step keeps objects where they are", "sharedoa/heap/automatic.py",
        "        try:\n            yield\n        finally:\n            self.held.discard(mark)\n",
        "        yield\n        self.held.discard(mark)\n",
        "objects never move again after an assertion that failed in a captured step",
        ("tests/heap/test_automatic.py::test_nothing_is_held_after_a_step_that_failed[launch]",),
    ),
    Mutation(
        "code for which there is no memory is a fault of ours",
        "sharedoa/backends/native_code.py",
        "    except OSError:\n        return True", "    except OSError:\n        return False",
        "users are asked to report what a limit of theirs forbids",
        ("tests/backends/test_native_code.py::test_code_that_cannot_be_loaded",),
    ),
    Mutation(
        "what a device lists may be a run as soon as it has moved", "sharedoa/heap/population.py",
        "stays = heap.runs_of_classes.stays(cls, runs)",
        "stays = listed is None and heap.runs_of_classes.stays(cls, runs)",
        "code for a run is made for one launch",
        ("tests/heap/test_automatic.py::"
         "test_what_a_device_has_listed_is_a_list_when_it_has_moved",),
    ),
    Mutation(
        "a list is known to be a run", "sharedoa/heap/arrays.py",
        "        self._know_run(None)\n        return self", "        return self",
        "code for a run is made for one launch",
        ("tests/heap/test_automatic.py::"
         "test_what_a_device_has_listed_is_a_list_when_it_has_moved",),
    ),
    Mutation(
        "sums that were not right are not counted", "sharedoa/heap/slots_on_device.py",
        "not _are_summed(placement, each)}", "False}",
        "nobody lives where the host has made all objects",
        ("tests/runtime/test_several_steps.py",),
    ),
    Mutation(
        "a table is written over how many are listed", "sharedoa/backends/slot_kernels.py",
        "if place not in written)", ")",
        "an object has the place of another region",
        ("tests/heap/test_slots_on_device.py::test_a_table_beside_lists[together-pretended-0]",),
    ),
    Mutation(
        "a limit that is not there yet is none", "sharedoa/backends/slot_kernels.py",
        "limit_first, limit_stop = head(number), number + 1", "limit_first, limit_stop = 0, 0",
        "lists go on behind their end",
        ("tests/heap/test_slots_on_device.py::test_a_table_beside_lists[together-pretended-0]",),
    ),
    Mutation(
        "slots that were touched still count as never used", _KERNELS,
        'builder.atomic_rmw("umax", last_at, last, "monotonic")', "pass",
        "the host takes memory that is not zero for new objects",
        ("tests/heap/test_slots_on_device.py::test_what_lives_after_launches[pretended-1-40]",),
    ),
    Mutation(
        "the host makes objects before the device has looked who lives",
        "sharedoa/heap/memory.py",
        "        self.wait_for_lists()\n", "",
        "a launch meets objects that were made after it",
        ("tests/runtime/test_population_sequence.py",),
    ),
    Mutation(
        "threads make of all classes together what they make of one", _BIRTHS,
        'return Counter([operation["cls"], None])',
        'return Counter({operation["cls"]: 1, None: 0})',
        "lists have no room for all that live", _BOUNDS,
    ),
    Mutation(
        "lists of several classes get nobody who was made", _PLAN,
        "now[several] += launch.made_together(several, threads)", "pass",
        "lists have no room for all that live",
        ("tests/runtime/test_population_room.py::test_who_makes_one_class_makes_no_other",),
    ),
    Mutation(
        "births of a run are not counted for the next", _PLAN,
        "                        now[cls] += launch.most_made(cls, threads)",
        "                        pass",
        "there is no room for what threads make",
        _SEQUENCES,
    ),
    Mutation(
        "a list of who lives is kept though the launch ended some",
        "sharedoa/runtime/surroundings.py",
        "self._listed = {key for key in self._listed if changed.isdisjoint(key)}", "pass",
        "methods are called on objects that are gone",
        _SEQUENCES,
    ),
    Mutation(
        "sums above the next ones are not told of changes", _KERNELS,
        "for number, sums in enumerate(levels[1:], 1):\n            with",
        "for number, sums in enumerate(levels[1:2], 1):\n            with",
        "lists have other lengths than they say",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_what_lives_after_launches[pretended-655365-40]",
        ),
    ),
    Mutation(
        "threads are of a region that there is not", "sharedoa/backends/slot_kernels.py",
        "nobodys = [threads,", "nobodys = [0,",
        "of three regions nobody is listed",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[small ones together-pretended-10000]",
        ),
    ),
    Mutation(
        "all regions of a launch are of one list", "sharedoa/backends/slot_kernels.py",
        "        first, slots.slots,", "        0, slots.slots,",
        "two objects have one place",
        (
            "tests/heap/test_slots_on_device.py"
            "::test_lists_of_several_regions[together-pretended-50]",
        ),
    ),
    Mutation(
        "sums are kept though the host has changed what lives", "sharedoa/heap/slots_on_device.py",
        "region.summed == placement.class_version(region.cls)", "region.summed is not None",
        "lists have other lengths than they say",
        _SEQUENCES,
    ),
    Mutation(
        "runs look at the slots that were used when they were planned", _SEQUENCE,
        "if any(each.unused_from > s.slots for each, s in self._looks.items()):", "if False:",
        "objects that the host has made are in no list",
        _SEQUENCES,
    ),
    Mutation(
        "who got the place of a deleted object is that", "sharedoa/heap/region_index.py",
        "return bool(region.live[slot]) and not region.is_freed_after(slot, deletions)",
        "return bool(region.live[slot])",
        "a proxy of what a captured run has ended is that of what it made there",
        _PROXIES,
    ),
    Mutation(
        "proxies are told when somebody looks", "sharedoa/heap/memory.py",
        "                self.bury(deletions)\n", "                pass\n",
        "a proxy of what a captured run has ended is that of what the host made there",
        _PROXIES,
    ),
    Mutation(
        "code that lists more regions is made when the next plan needs it", _SEQUENCE,
        "if is_first and background.is_on():", "if False:",
        "a step of a first run waits 0.3 s for a compiler as its populations have grown",
        ("tests/runtime/test_population_sequence.py::test_code_for_more_regions_is_made_beside",),
    ),
)  # fmt: skip
