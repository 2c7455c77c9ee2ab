"""Faults in what is computed of all elements, in arrays of two dimensions and shared memory."""

from .mutation import Mutation

_BITS = ("tests/many/test_many.py::test_the_same_bits_everywhere",)
_PLANS = ("tests/many/test_many.py::test_a_call_within_a_call",)
_RECORDED = ("tests/many/test_many.py::test_scans_and_sorts_in_a_recorded_step",)
_AT_HAND = ("tests/heap/test_memory_at_hand.py",)
_COUNTS = ("tests/codegen/test_warp_counts.py",)
_AT_FULL_SIZE = ("tests/many/test_many.py::test_blocks_of_a_gpu_on_a_processor",)
_FEW = ("tests/many/test_few.py::test_amid_launches_that_wait_or_are_recorded",)
_FEW_GONE = ("tests/many/test_few.py::test_views_of_objects_that_went_or_moved",)
_FEW_WAITS = ("tests/many/test_few.py::test_what_another_thread_launches",)
_TREE = ("tests/many/test_on_host.py::test_sums_of_floats_follow_the_tree",)
_FULL = ("tests/many/test_on_host.py::test_sums_of_floats_at_full_size",)
_UNUSUAL = ("tests/many/test_on_host.py::test_sorts_of_unusual_floats",)
_TILES = ("tests/runtime/test_prefix_sum.py::test_which_on_a_device",)
_FUNCTIONS = ("tests/many/test_many.py::test_functions_of_the_user",)

MUTATIONS = (
    Mutation(
        "rows are sorted in the processor's order", "sharedoa/many/calls.py",
        'options = {**options, "kind": "stable"}', "pass",
        "argsort of an array of two dimensions differs from machine to machine",
        ("tests/many/test_few.py::test_equal_elements_of_rows_stay_as_they_were",),
    ),
    Mutation(
        "a kind of sorting and whether it is stable", "sharedoa/many/calls.py",
        'options.pop("stable", None)', "pass",
        "array.argsort(stable=True) is an error of NumPy's, which takes one of the two",
        ("tests/many/test_few.py::test_equal_elements_of_rows_stay_as_they_were",),
    ),
    Mutation(
        "another order of a tree on GPUs", "sharedoa/many/reduction_plan.py",
        "            for row in range(first + LANES, length, GROUP * LANES):",
        "            for row in range(first + LANES, length - LANES, GROUP * LANES):",
        "elements of the last rows are left out", _BITS,
    ),
    Mutation(
        "a plan that two calls have", "sharedoa/many/plans.py",
        "    plan = plans.pop(key, None)", "    plan = plans.get(key)",
        "a call within a call, as of a signal, writes where the first one reads",
        _PLANS,
    ),
    Mutation(
        "the first part of several", "sharedoa/many/fields.py",
        "return parts[0][0] if len(parts) == 1 else None", "return parts[0][0] if parts else None",
        "objects of one class are taken for those of all", _BITS,
    ),
    Mutation(
        "a plan of another length", "sharedoa/many/plans.py",
        "    return name, element.name, length", "    return name, element.name, length | 127",
        "longer arrays are taken for as long as the first one", _PLANS,
    ),
    Mutation(
        "numbers that are read again", "sharedoa/many/reduction_plan.py",
        "                    if row + k * LANES < length:", "                    if True:",
        "the last number of an array is counted several times", _BITS,
    ),
    Mutation(
        "a place that was found last", "sharedoa/many/reduction_plan.py",
        "                if is_sought(of_piece[k], sought):\n"
        "                    place = min(place, row + k * LANES)",
        "                if is_sought(of_piece[k], sought):\n"
        "                    place = row + k * LANES",
        "argmin gives another one than the first of several", _BITS,
    ),
    Mutation(
        "what is ready, whoever records", "sharedoa/many/plans.py",
        "    if recording.get() is not None or taping:", "    if taping:",
        "what a step computes between is overwritten by calls of another thread", _RECORDED,
    ),
    Mutation(
        "what is ready, beside another's tape", "sharedoa/many/plans.py",
        "    if recording.get() is not None or taping:", "    if recording.get() is not None:",
        "who sums up within the block of another's tape disturbs it",
        ("tests/gradients/test_many.py::test_what_a_task_computes_within_the_block",),
    ),
    Mutation(
        "what is ready for values of another name", "sharedoa/many/plans.py",
        "    if not isinstance(element, ScalarType):\n        return NotImplemented\n", "",
        "a sum of what are no numbers is computed of their bits",
        ("tests/many/test_many.py::test_what_is_ready_is_for_numbers_alone",),
    ),
    Mutation(
        "a scan that combines the wrong way round", "sharedoa/many/scan.py",
        "            total = combine(before[chunk - 1], total)",
        "            total = combine(total, before[chunk - 1])",
        "functions that are not commutative give something else", _FUNCTIONS,
    ),
    Mutation(
        "another edge of a block", "sharedoa/many/block_scan.py",
        "                    for k in range(1, CHUNK - 1):",
        "                    for k in range(1, CHUNK):",
        "the last part of the block before is counted twice", _BITS,
    ),
    Mutation(
        "what lies before a block without the last one", "sharedoa/many/block_scan.py",
        "                for k in range(1, place % CHUNK + 1):",
        "                for k in range(1, place % CHUNK):",
        "blocks go on from less than what lies before them", _BITS,
    ),
    Mutation(
        "an edge that the next block is not told", "sharedoa/many/block_scan.py",
        "            if way != _DOWNWARDS and lane >= THREADS - CHUNK:",
        "            if way == _UPWARDS and lane >= THREADS - CHUNK:",
        "blocks that scan in one launch go on from what lay in memory", _BITS,
    ),
    Mutation(
        "keys that are equal change places", "sharedoa/many/block_sort.py",
        "            for k in reversed(range(EACH)):",
        "            for k in range(EACH):",
        "a thread puts its keys of a digit elsewhere", _AT_FULL_SIZE,
    ),
    Mutation(
        "runs that begin elsewhere", "sharedoa/many/block_sort.py",
        "                if place > 0 and i32((",
        "                if place > 1 and i32((",
        "a run that begins with the second key goes elsewhere",
        ("tests/many/test_many.py::test_a_sort_leaves_zeros_for_the_next[i8]",),
    ),
    Mutation(
        "a tile that is heard once for all", "sharedoa/many/sort_parts.py",
        "                at -= u32(1)", "                at = u32(0)",
        "tiles that have said no more than what they have themselves end the way back",
        ("tests/many/test_many.py::test_a_tile_looks_back[False]",),
    ),
    Mutation(
        "what was said in the pass before", "sharedoa/many/block_sort.py",
        "                cleared[tile * DIGITS + digit] = S(0)", "                pass",
        "a pass takes what tiles said in the last one but one for this one",
        ("tests/many/test_many.py::test_a_tile_looks_back[False]",),
    ),
    Mutation(
        "counts of the sort before", "sharedoa/many/block_sort.py",
        "                    totals[turn * DIGITS + digit] = S(0)", "                    pass",
        "the second sort of a plan puts keys behind those of the first one",
        ("tests/many/test_many.py::test_a_sort_leaves_zeros_for_the_next[i8]",),
    ),
    Mutation(
        "counts of the sort before in a warp", "sharedoa/many/warp_sort.py",
        "                    totals[first_turn * DIGITS + some * THREADS + lane] = S(0)",
        "                    pass",
        "the second sort of a plan puts keys behind those of the first one", _BITS,
    ),
    Mutation(
        "words of the sort before", "sharedoa/many/sort_plan.py",
        "        self._is_clean, self._is_turned = True, self._is_turned != bool(self._passes % 2)",
        "        self._is_clean = True",
        "tiles of a sort in one pass hear what those of the last sort have said",
        ("tests/many/test_many.py::test_a_sort_leaves_zeros_for_the_next[i8]",),
    ),
    Mutation(
        "a recorded step with the memory of others", "sharedoa/many/plans.py",
        "    if is_recorded(heap):", "    if False:",
        "what a step computes between is overwritten by calls of another thread", _RECORDED,
    ),
    Mutation(
        "sorting with its numbers as constants", "sharedoa/runtime/kernel.py",
        "                is_general=self.is_general,", "                is_general=False,",
        "recorded steps that sort compile long kernels for each of their passes", _RECORDED,
    ),
    Mutation(
        "plans that fill a heap", "sharedoa/many/plans.py",
        "    if plan.size <= most:", "    if plan.size <= _MOST_BYTES:",
        "what is kept for the next call leaves no room for arrays",
        ("tests/many/test_many.py::test_plans_leave_room",),
    ),
    Mutation(
        "zeros with a sign in argsort", "sharedoa/many/sorting.py",
        "negative_zero = sign - 1, sign if infinity and not tells_zeros else 0",
        "negative_zero = sign - 1, 0",
        "-0.0 comes before 0.0 although they are equal", _BITS,
    ),
    Mutation(
        "a warp's threads in another order", "sharedoa/codegen/warp_counts.py",
        "    number = builder.ctpop(builder.and_(alike, warp.up_to_this(builder)))",
        "    number = builder.ctpop(alike)",
        "threads of a warp that count together get the same number", _COUNTS,
    ),
    Mutation(
        "a bit of places that is not asked for", "sharedoa/codegen/warp_counts.py",
        "    alike = warp.alike_in_bits(builder, address, _FIRST_BIT, COUNTED.bit_length() - 1)",
        "    alike = warp.alike_in_bits(builder, address, _FIRST_BIT, COUNTED.bit_length() - 2)",
        "digits half of all apart are counted as one", _COUNTS,
    ),
    Mutation(
        "a fence that only compilers of ours see", "sharedoa/codegen/statements.py",
        '    emitter.builder.fence("acq_rel", emitter.program.target.device_scope)', "    pass",
        "a block takes what others have told it to look for as it was before",
        ("tests/codegen/test_fences.py",),
    ),
    Mutation(
        "errors of a kernel that is the last one loaded", "sharedoa/runtime/device_errors.py",
        "        self._claimed[slab] = max(self._claimed[slab], index + 1)",
        "        self._claimed[slab] = max(self._claimed[slab], index)",
        "nobody looks at the record of the kernel that was loaded last",
        ("tests/runtime/test_device_errors.py::test_a_record_that_is_being_filled_is_left_until_it_is",),
    ),
    Mutation(
        "a warp without those before it", "sharedoa/many/warp_sort.py",
        "                    before[some * WARPS + warp] = total",
        "                    before[some * WARPS + warp] = u32(0)",
        "keys of two warps get the same places", _BITS,
    ),
    Mutation(
        "NaNs that differ in argsort", "sharedoa/many/sorting.py",
        "    of_nan = sign if tells_zeros else (1 << U.bits) - 1", "    of_nan = sign",
        "NaNs with other bits come in another order on a GPU", _BITS,
    ),
    Mutation(
        "a chunk that goes on from its own level", "sharedoa/many/scan.py",
        "                        before[level] = combine(before[level + 1], total)",
        "                        before[level] = combine(before[level], total)",
        "what one thread scans is combined in another order than by many",
        ("tests/many/test_many.py::test_the_same_bits_on_a_processor_at_full_size",),
    ),
    Mutation(
        "signals come while zeros are put right", "sharedoa/many/on_host.py",
        "    with uninterrupted:  # until they are the same numbers again\n", "    if True:\n",
        "a sort that is interrupted changes the signs of zeros",
        ("tests/many/test_on_host.py::test_an_interrupted_sort_leaves_the_same_numbers",),
    ),
    Mutation(
        "an index within a piece", "sharedoa/many/on_host.py",
        "        return np.int64(sum(map(len, pieces[:first])) + found[first])",
        "        return np.int64(found[first])",
        "threads of a processor find an element elsewhere",
        ("tests/many/test_on_host.py::test_in_pieces[(3, 2)-2]",),
    ),
    Mutation(
        "wide NaNs that differ", "sharedoa/many/on_host.py",
        "        is_new[1:] &= ~np.isnan(ordered[:-1])", "        pass",
        "NaNs of 64 bits are not in the order of their indices",
        ("tests/many/test_on_host.py::test_in_pieces[(1, 1073741824)-300]",),
    ),
    Mutation(
        "zeros as NumPy leaves them", "sharedoa/many/on_host.py",
        "    values[first : first + negative], values[first + negative : end] = -0.0, 0.0",
        "    pass",
        "-0.0 comes behind 0.0 in what a processor sorts",
        ("tests/many/test_on_host.py::test_in_pieces[(1, 1073741824)-5000]",),
    ),
    Mutation(
        "pieces for which there is no thread", "sharedoa/heap/parallel.py",
        "        with suppress(RuntimeError, MemoryError):\n            for _ in pieces[1:]:",
        "        if True:\n            for _ in pieces[1:]:",
        "where the system gives no threads, nothing is sorted or made",
        (
            "tests/many/test_on_host.py::test_where_the_system_gives_no_threads",
            "tests/heap/test_parallel.py::test_where_the_system_gives_fewer_threads",
        ),
    ),
    Mutation(
        "threads for which there is no memory", "sharedoa/heap/parallel.py",
        "suppress(RuntimeError, MemoryError)", "suppress(RuntimeError)",
        "an error is raised while threads still work on pieces",
        ("tests/heap/test_parallel.py::test_where_the_system_gives_fewer_threads",),
    ),
    Mutation(
        "what a thread raises", "sharedoa/heap/parallel.py",
        "    if errors:\n        raise errors[0]\n", "",
        "a piece that could not be computed is None",
        ("tests/many/test_on_host.py::test_what_a_thread_raises",),
    ),
    Mutation(
        "the first piece of numbers that are converted", "sharedoa/many/on_host.py",
        "totals[place * each : (place + 1) * each])", "totals[: each])",
        "a mean of integers is of the last 64 Ki alone, and of what lay in memory",
        ("tests/many/test_on_host.py::test_sums_of_integers_as_floats",),
    ),
    Mutation(
        "choices of another heap", "sharedoa/many/selection.py",
        " or (heap or each._heap) is not each._heap:", ":",
        "a device is given memory of another one",
        ("tests/many/test_few.py::test_choices_on_two_heaps",),
    ),
    Mutation(
        "one number for another", "sharedoa/many/selection.py",
        "            operands += (each, 0) if is_array else (first, each)",
        "            operands += (each, 0) if is_array else (first, given[1])",
        "oa.where gives a number of the wrong operand",
        ("tests/many/test_few.py::test_choices_of_arrays_and_numbers",),
    ),
    Mutation(
        "a number that is taken for an array", "sharedoa/many/selection.py",
        "from_dtype(each.dtype), is_array]", "from_dtype(each.dtype), True]",
        "oa.where chooses elements of the first array instead of a number",
        ("tests/many/test_few.py::test_choices_of_arrays_and_numbers",),
    ),
    Mutation(
        "native sums without the last row", "sharedoa/many/float_sums.py",
        "  %last = urem i64 %size, {lanes}", "  %last = and i64 %size, {lanes}",
        "numbers of a row that is not whole are not in a sum of floats", _TREE,
    ),
    Mutation(
        "native sums of neighbours", "sharedoa/many/float_sums.py",
        "  %right_at = add i64 %left_at, %half", "  %right_at = add i64 %left_at, {wide}",
        "columns are added up in another order, or twice", _FULL,
    ),
    Mutation(
        "few numbers amid what is recorded", "sharedoa/many/few.py",
        "    return None if recording.get() is not None else values._at_hand()",
        "    return values._at_hand()",
        "a loss that is computed within the block of a tape is a number", _FEW,
    ),
    Mutation(
        "numbers without a type are chosen", "sharedoa/many/few.py",
        "(isinstance(each, int) and each in _WORDS)", "isinstance(each, int)",
        "oa.where raises OverflowError, or takes an integer for a float",
        ("tests/many/test_few.py::test_numbers_that_have_no_type",),
    ),
    Mutation(
        "numbers of objects that went", "sharedoa/heap/field_view.py",
        "        return np.ascontiguousarray(self._selection.read(self.path))",
        "        return np.ascontiguousarray(self._selected.read(self.path))",
        "a sum of a view has what lies in the place of deleted objects", _FEW_GONE,
    ),
    Mutation(
        "few numbers before launches have ended", "sharedoa/heap/arrays.py",
        "        if found is not None:\n            self._heap.wait()\n            return found",
        "        if found is not None:\n            return found",
        "a second sum is of what the array was before a launch that still runs", _FEW_WAITS,
    ),
    Mutation(
        "zeros without a look for signs", "sharedoa/many/on_host.py",
        "    return bool(largest != largest or least == _LEAST[bits.itemsize])",
        "    return bool(largest != largest)",
        "-0.0 comes behind 0.0 in what a processor sorts", _UNUSUAL,
    ),
    Mutation(
        "NaNs without a look", "sharedoa/many/on_host.py",
        "    return bool(largest != largest or least == _LEAST[bits.itemsize])",
        "    return bool(least == _LEAST[bits.itemsize])",
        "NaNs are others than they were in what a processor sorts", _UNUSUAL,
    ),
    Mutation(
        "the first element of a matrix", "sharedoa/many/scratch.py",
        "    return elements_in(words.view(np.uint8)[: dtype.itemsize], dtype)[0]",
        "    return words.view(dtype)[0]",
        "oa.reduce of matrices on a GPU raises what NumPy says",
        ("tests/many/test_many.py::test_the_first_element_for_the_host",),
    ),
    Mutation(
        "keys of zeros with their signs", "sharedoa/many/on_host.py",
        "    plain = values + values.dtype.type(0)  # a zero has no sign", "    plain = values",
        "-0.0 comes before 0.0 in argsort of a processor",
        ("tests/many/test_on_host.py::test_in_pieces[(1, 1073741824)-300]",),
    ),
    Mutation(
        "memory that fields hold", "sharedoa/heap/memory.py",
        "        return not self._holding[1]\n", "        return True\n",
        "an array that a field has is overwritten by a later result",
        ("tests/heap/test_memory_at_hand.py::test_a_class_that_holds_arrays_comes_later",),
    ),
    Mutation(
        "classes that came later", "sharedoa/heap/memory.py",
        "        if self._holding[0] != placement.layout_epoch:",
        "        if self._holding[0] < 0:",
        "an array that a field of a new class has is overwritten by a later result",
        ("tests/heap/test_memory_at_hand.py::test_a_class_that_holds_arrays_comes_later",),
    ),
    Mutation(
        "memory that others use", "sharedoa/heap/array_memory.py",
        "        return isinstance(self.element, ScalarType) and not self.storage.is_exported",
        "        return isinstance(self.element, ScalarType)",
        "another library reads a later result in its stream",
        ("tests/heap/test_memory_at_hand.py::test_what_was_exported_and_seen_again_is_not",),
    ),
    Mutation(
        "a signal while memory is looked for", "sharedoa/heap/array_memory.py",
        "                    storage, reference = self._storage_anew(block)\n",
        "                    del self._unheld[address]\n"
        "                    storage, reference = self._storage_anew(block)\n"
        "                    self._unheld[address] = block\n",
        "memory that nobody has and nobody frees",
        ("tests/heap/test_memory_at_hand.py::test_ctrl_c_while_memory_is_used_again",),
    ),
    Mutation(
        "a signal while what was dropped is noted", "sharedoa/heap/array_memory.py",
        "        for reference in [*self._dropped]:\n",
        "        while self._dropped:\n"
        "            reference = self._dropped.popleft()\n",
        "memory that nobody has and nobody frees",
        ("tests/heap/test_memory_at_hand.py::test_ctrl_c_while_memory_is_used_again",),
    ),
    Mutation(
        "memory that a signal's handler has taken", "sharedoa/heap/array_memory.py",
        "                    if self._unheld.pop(address, None) is block:\n",
        "                    self._unheld.pop(address, None)\n"
        "                    if True:\n",
        "results of a signal's handler and of what it interrupted lie in the same memory",
        (f"{_AT_HAND[0]}::test_a_signals_handler_uses_memory_again_meanwhile",),
    ),
    Mutation(
        "what a signal's handler has noted", "sharedoa/heap/array_memory.py",
        "            with suppress(ValueError):\n"
        "                self._dropped.remove(reference)\n",
        "            self._dropped.popleft()\n",
        "memory that nobody has and nobody frees where a signal's handler computes",
        (f"{_AT_HAND[0]}::test_a_signals_handler_uses_memory_again_meanwhile",),
    ),
    Mutation(
        "memory that is left counts as used", "sharedoa/heap/array_memory.py",
        "            return size - free", "            return size",
        "a heap says that arrays need what they do not",
        (
            "tests/heap/test_memory_at_hand.py"
            "::test_what_is_dropped_before_a_wait_is_left_for_the_next[cpu]",
        ),
    ),
    Mutation(
        "memory that was left and is used since", "sharedoa/heap/array_memory.py",
        "            self._left.discard(address)  # somebody had it since\n", "",
        "a new array lies where a launch that is under way writes",
        ("tests/heap/test_memory_at_hand.py::test_what_is_left_and_used_since_is_not_free",),
    ),
    Mutation(
        "memory of many arrays is left", "sharedoa/heap/array_memory.py",
        "            if len(blocks) > _AT_HAND or not all(", "            if not all(",
        "arrays that nobody holds are never freed",
        (
            "tests/heap/test_memory_at_hand.py"
            "::test_many_that_are_dropped_before_a_wait_are_freed[cpu]",
        ),
    ),
    Mutation(
        "memory that others use and somebody has seen", "sharedoa/heap/array_memory.py",
        "        reference.is_exported = block.storage.is_exported\n", "",
        "another library reads a later result in its stream",
        ("tests/heap/test_memory_at_hand.py::test_what_was_exported_and_seen_again_is_not",),
    ),
    Mutation(
        "memory that another thread's launch uses", "sharedoa/many/calls.py",
        "out=result._values()", "out=result._raw(0, len(result))",
        "a launch writes over a result of the host",
        ("tests/heap/test_memory_at_hand.py::test_the_host_waits_for_who_had_it",),
    ),
    Mutation(
        "memory with adjoints", "sharedoa/heap/memory.py",
        " or self.extents.given is not None:", ":",
        "a new array has the adjoints of what was there",
        ("tests/heap/test_memory_at_hand.py::test_debug_mode_and_adjoints_use_nothing_again",),
    ),
    Mutation(
        "rows that there are not", "sharedoa/codegen/lvalues.py",
        "        columns = emitter.builder.select(valid, columns, integer(0))", "        pass",
        "debug mode touches what lies behind the array",
        ("tests/heap/test_array2.py::test_mistakes",),
    ),
    Mutation(
        "races between blocks", "sharedoa/codegen/races.py",
        "    return lvalue.space is None and lvalue.stack is None and not",
        "    return lvalue.stack is None and not",
        "shared memory of two blocks is taken for the same",
        ("tests/codegen/test_tiles.py::test_blocks_have_their_own[True-cpu]",),
    ),
    Mutation(
        "what lies before a tile", "sharedoa/runtime/prefix_sum.py",
        "        before += earlier_fans[k]", "        before += 0 * earlier_fans[k]",
        "each tile's sums begin with 0", _TILES,
    ),
    Mutation(
        "sums of a tile are read as they are written", "sharedoa/runtime/prefix_sum.py",
        "    syncthreads()\n    for k in range(GROUP):\n        place = u32(k) * BLOCK + thread\n"
        "        if first",
        "    for k in range(GROUP):\n        place = u32(k) * BLOCK + thread\n        if first",
        "threads write what others have not staged yet", _TILES,
    ),
    Mutation(
        "elements of a tile are read as they come", "sharedoa/runtime/prefix_sum.py",
        "    syncthreads()\n    loaded = [staged", "    loaded = [staged",
        "threads add up what others have not staged yet", _TILES,
    ),
    Mutation(
        "more blocks than run at once", "sharedoa/runtime/prefix_sum.py",
        "    if length <= PIECE * min(backend.blocks_at_once, BLOCK):",
        "    if length <= PIECE * BLOCK:",
        "blocks wait for others that have no room to begin", _TILES,
    ),
    Mutation(
        "atomics of 1 are reads", "sharedoa/codegen/atomics.py",
        "value.constant == 0", "value.constant in (0, 1)",
        "what is counted stays as it was",
        ("tests/codegen/test_atomics.py::test_gpus_read_where_nothing_changes",),
    ),
)  # fmt: skip
