"""Faults in code generation, in what the heap knows, and in what launches rest on."""

from .mutation import Mutation

_SHARED = "sharedoa/codegen/shared_loops.py"
_NEIGHBOURS = "sharedoa/codegen/neighbours.py"
_PIECES = "sharedoa/heap/pieces.py"
_RUNS = "sharedoa/heap/run_detection.py"
_STRETCHES = "sharedoa/runtime/stretches.py"
_REARRANGEMENT = "sharedoa/heap/rearrangement.py"
_ADDRESS = "sharedoa/model/field_address.py"
_EMITTED = "sharedoa/model/emitted.py"
_NAMES = "sharedoa/runtime/bound_names.py"
_WINDOWS = "dispatch/windows.py"
_BINDING = "sharedoa/runtime/binding.py"
_JOB = "sharedoa/ir/job.py"
_ANSWERS = "sharedoa/runtime/facts.py"
_OF_FACTS = ("tests/runtime/test_facts.py::test_what_changes_between_two_launches_is_seen",)
_OF_MEMBERS = ("tests/runtime/test_stretches.py::test_neighbours_are_objects_and_not_only_places",)
_OF_ADDRESSES = ("tests/model/test_field_address.py",)
_OF_STRETCHES = ("tests/runtime/test_stretches.py",)

_DEVICE = "sharedoa/backends/gpu_device.py"
_TWO_DEVICES = ("tests/backends/test_two_devices.py",)
_OF_HOSTS = ("tests/targets/test_host_code.py",)

_CUDA = "sharedoa/backends/cuda.py"
_OF_REGISTERS = (
    "tests/backends/test_cuda_bookkeeping.py"
    "::test_registers_are_bounded_where_next_to_nothing_spills",
)

MUTATIONS = (
    Mutation(
        "inline arrays that are stored as a whole are other memory", "sharedoa/codegen/memory.py",
        "_part(emitter, lvalue, ANY, item, place * size)",
        "_part(emitter, lvalue, place, item, place * size)",
        "LLVM moves reads of elements across the store of the value that has them",
        ("tests/codegen/test_whole_inline_arrays.py::test_the_same_everywhere",),
    ),
    Mutation(
        "roots of small floats on GPUs", "sharedoa/targets/nvptx_root.py",
        "builder.select(is_small, F32(_DOWN), one))", "one)",
        "roots of numbers below 2 ** -101 are 2 ** 32 times as large",
        ("tests/targets/test_roots.py::test_roots_are_those_of_numpy",),
    ),
    Mutation(
        "exponents of zero are negative", "sharedoa/codegen/checks.py",
        "icmp_signed(\">=\", exponent, exponent.type(0))",
        "icmp_signed(\">\", exponent, exponent.type(0))",
        "debug mode reports x ** 0",
        ("tests/codegen/test_checks.py::test_an_exponent_of_zero_gives_one_and_is_fine",),
    ),
    Mutation(
        "rounds without an element clear bits", _SHARED,
        '"and": -1,', '"and": 0,',
        "bits that all elements of a list have are lost",
        ("tests/codegen/test_shared_loops.py::test_reductions_of_one_warp",),
    ),
    *(
        Mutation(
            f"a race of {program}", f"apps/graphs/natural/{program}.py",
            f'oa.atomic_{name}(self, "{field}", {what})', f"self.{field} {operator}= {what}",
            "some of what neighbours say at once is lost on a GPU",
            ("tests/apps/test_debug_mode.py::test_programs_have_no_races",),
        )
        for program, name, field, operator, what in (
            ("kcore", "sub", "neighbours", "-", "1"),
            ("triangles", "add", "value", "+", "message"),
        )
    ),
    *(
        Mutation(
            f"a race of {program}", f"apps/{program}/{file}", old, new,
            "what threads do at once is lost, on a GPU and in debug mode",
            (f"tests/apps/{program}/{test}",),
        )
        for program, file, old, new, test in (
            (
                "structure", "natural/classes.py",
                'oa.atomic_add(self, "num_springs", 1)', "self.num_springs += 1",
                "test_natural.py::test_debug_mode_finds_nothing",
            ),
            (
                "barnes_hut", "classes.py",
                "oa.atomic_add(node.asked, quadrant, 1)", "node.asked[quadrant] += 1",
                "test_program.py::test_debug_mode",
            ),
            (
                "wolf_sheep", "classes.py",
                'oa.atomic_min(self.place, "grazer", self.id)',
                "self.place.grazer = min(self.place.grazer, self.id)",
                "test_program.py::test_debug_mode",
            ),
        )
    ),
    Mutation(
        "nodes at one place are nowhere after a step", "apps/structure/faithful/classes.py",
        "(self.pos_y - other.pos_y) / distance if distance > 0 else f32(0)",
        "(self.pos_y - other.pos_y) / distance",
        "0 / 0 of two nodes at one place makes their velocities NaN",
        ("tests/apps/structure/test_random_structures.py::test_nodes_at_one_place",),
    ),
    Mutation(
        "labels are settled where edges are where they begin", "apps/graphs/ve/cc.py",
        "if in_edges[k].get_value() != vertex.value:", "if in_edges[k].get_value() > vertex.value:",
        "sweeps end while labels have yet to come along an edge",
        ("tests/apps/graphs/test_workloads.py::test_paths_longer_than_the_sweeps[20-cc]",),
    ),
    Mutation(
        "labels are settled where edges are where they end", "apps/graphs/ve/cc.py",
        "if out_edges[k].get_value() != vertex.value:", "if False:",
        "sweeps end while labels have yet to go back along an edge",
        ("tests/apps/graphs/test_workloads.py::test_paths_longer_than_the_sweeps[20-cc]",),
    ),
    Mutation(
        "objects that are infinitely high are near", "sharedoa/model/grid_search.py",
        "    if not (x - x == 0.0 and y - y == 0.0 and z - z == 0.0):",
        "    if not (x - x == 0.0 and y - y == 0.0):",
        "with an infinite radius grid.near finds what has a position that is not finite",
        ("tests/runtime/test_hash_grid.py::test_what_is_not_finite_is_never_found",),
    ),
    Mutation(
        "agents of sugarscape do not die of age", "apps/sugarscape/classes.py",
        "self.age > self.traits.max_age or ", "",
        "a run of the program is not what DynaSOAr's is",
        ("tests/apps/sugarscape/test_program.py::test_old_and_equally_rich",),
    ),
    Mutation(
        "of equally rich suitors the last is accepted", "apps/sugarscape/classes.py",
        "return self.cell.is_before(other.cell)", "return other.cell.is_before(self.cell)",
        "a run of the program is not what DynaSOAr's is",
        ("tests/apps/sugarscape/test_program.py::test_old_and_equally_rich",),
    ),
    Mutation(
        "registers that nearly suffice", _CUDA,
        "if size <= fits:", "if size == 0:",
        "loads of a loop wait for one another, as a word of a thread is in memory",
        _OF_REGISTERS,
    ),
    Mutation(
        "arrays of threads take registers", _CUDA,
        "if size > _FEW_BYTES:", "if False:",
        "code is made three times that has memory of its own in any case",
        _OF_REGISTERS,
    ),
    Mutation(
        "launches that become long on one core", "sharedoa/backends/thread_pool.py",
        "total if spent < PIECE_SECONDS else int(total * PIECE_SECONDS / spent)", "total",
        "nobody can interrupt them after the first one",
        ("tests/backends/test_launch.py::test_on_one_core_short_launches_are_one_piece",),
    ),
    Mutation(
        "long launches that were stopped", "sharedoa/backends/thread_pool.py",
        "%told = select i1 %stopped, i64", "%told = select i1 false, i64",
        "a fault in one is not told, and threads that did not run are taken for done",
        ("tests/backends/test_kernel_faults.py",),
    ),
    # ------------------------------------------------------------ devices
    Mutation(
        "the device of the last call", _DEVICE,
        "if self.has_others or _current.device is not self:", "if _current.device is None:",
        "what is asked for goes to the device that is current", _TWO_DEVICES,
    ),
    Mutation(
        "wavefronts of RDNA", "sharedoa/targets/amdgpu.py",
        "_FIRST_OF_32_LANES = 10", "_FIRST_OF_32_LANES = 13",
        "threads of a wavefront are taken for others", ("tests/targets/test_code_objects.py",),
    ),
    Mutation(
        "frames as they are", "sharedoa/targets/host.py",
        '_FAULTS = (\'"probe-stack"="inline-asm"\', ', "_FAULTS = (",
        "a function with much room on its stack steps over the stack's end", _OF_HOSTS,
    ),
    Mutation(
        "nobody uses null", "sharedoa/targets/host.py", ', "null_pointer_is_valid")', ",)",
        "a store through None is left out, with what leads to it", _OF_HOSTS,
    ),
    Mutation(
        "calls of calls in place", "sharedoa/targets/gpu.py", "        limit_growth(module)\n", "",
        "a kernel of four classes is tens of thousands of instructions",
        ("tests/targets/test_inline_growth.py",),
    ),
    Mutation(
        "a launch hands over another list", "sharedoa/backends/gpu_launch.py",
        "pointers += [threads, threads + 8]", "pointers += [threads + 8, threads]",
        "a kernel is told its numbers of threads the wrong way round",
        ("tests/backends/test_hip.py",),
    ),
    Mutation(
        "finalizers change the device", _DEVICE,
        "        before.make_current()\n", "        pass\n",
        "a collection of garbage leaves another device current", _TWO_DEVICES,
    ),
    Mutation(
        "one backend a driver", "sharedoa/later_parts.py",
        "_opened.setdefault(opened.label, opened)", "_opened.setdefault(opened.name, opened)",
        "heaps on the second GPU are on the first", _TWO_DEVICES,
    ),
    # ------------------------------------------------------------ shared loops
    Mutation(
        "rounds of others", _SHARED,
        "has_some = builder.and_(builder.icmp_signed(\">\", behind, I32(0)), begun)",
        "has_some = builder.icmp_signed(\">\", behind, I32(0))",
        "a thread adds what a round had before its own iterations",
        ("tests/codegen/test_shared_loops.py::test_reductions",),
    ),
    Mutation(
        "sums beyond their owner", _SHARED,
        "is_same = builder.icmp_signed(\">=\", place, I32(distance))",
        "is_same = builder.icmp_signed(\">=\", self._lane, I32(distance))",
        "iterations of several owners are combined",
        ("tests/codegen/test_shared_loops.py::test_reductions",),
    ),
    Mutation(
        "half of a warp", _SHARED,
        "everyone = builder.icmp_unsigned(\"==\", warp.active(builder), I32(-1))",
        "everyone = builder.icmp_unsigned(\"!=\", warp.active(builder), I32(0))",
        "threads that are not there are waited for",
        ("tests/codegen/test_shared_loops.py::test_threads_that_are_not_together_run_loops_alone",),
    ),
    # ------------------------------------------------------ neighbours, stretches
    Mutation(
        "lanes are one", _NEIGHBOURS,
        "builder.add(first, integer(lane * WORD))", "builder.add(first, integer(WORD))",
        "every neighbour is the second one", _OF_MEMBERS,
    ),
    Mutation(
        "the last objects of a stretch", _STRETCHES,
        "counts = [sum(divmod(len(stretch.objects), self.each)) for stretch in self.stretches]",
        "counts = [len(stretch.objects) // self.each for stretch in self.stretches]",
        "objects beyond whole groups are left out", _OF_STRETCHES,
    ),
    Mutation(
        "groups that begin anywhere", _STRETCHES,
        "        and not (is_located and stretch.position % NEIGHBOURS)\n", "",
        "results of a group do not begin where the device can store them at once", _OF_STRETCHES,
    ),
    # -------------------------------------------------------------- pieces, runs
    Mutation(
        "one piece stands for all", _PIECES,
        "(offsets < self.size).all() and (ends <= self.size).all()", "(offsets < self.size).any()",
        "a field holds other arrays, too",
        ("tests/runtime/test_pieces.py::test_one_array_among_pieces_of_another_is_read_again",),
    ),
    Mutation(
        "a second whole", _PIECES,
        "        is_same = key not in self._fields or whole is before\n",
        "        is_same = True\n",
        "fields hold pieces of two arrays, and those of the first are forgotten",
        ("tests/runtime/test_pieces.py::test_one_array_among_pieces_of_another_is_read_again",),
    ),
    Mutation(
        "arrays that are written to", _PIECES,
        "{k: None if a in gone else a for k, a in self._fields.items()}", "dict(self._fields)",
        "the host stores other objects to an array whose elements are computed",
        (
            "tests/runtime/test_pieces.py::test_a_field_with_another_array_is_read_again",
            "tests/runtime/test_pieces.py::test_a_changed_array_is_read_again",
        ),
    ),
    Mutation(
        "Ctrl-C while arrays are freed", "sharedoa/heap/launches.py",
        "            with self.lock:\n                if memory.last_launch is last",
        "            with self.lock.plain:\n                if memory.last_launch is last",
        "launches look for pieces of an array that is no more",
        ("tests/runtime/test_pieces.py::test_ctrl_c_while_an_array_of_pieces_is_freed",),
    ),
    Mutation(
        "runs end with their region", _RUNS,
        "    most = min(len(addresses), ahead // abs(step) + 1)\n",
        "    most = len(addresses)\n",
        "a run goes on where its region has ended", ("tests/heap/test_run_detection.py",),
    ),
    Mutation(
        "runs go on", _RUNS,
        "            return count + int(np.argmax(differ))\n", "            return stop\n",
        "what differs within a chunk belongs to the run",
        ("tests/heap/test_run_detection.py",),
    ),
    # ------------------------------------------------------------- rearrangement
    Mutation(
        "the last tile", _REARRANGEMENT,
        "    tiles = -(-region.unused_from // LANES)\n",
        "    tiles = region.unused_from // LANES\n",
        "objects of a tile that is not full keep the old places", ("tests/heap/test_clusters.py",),
    ),
    Mutation(
        "values are moved in place", _REARRANGEMENT,
        "values = [source[first:stop].copy() for source in sources]",
        "values = [source[first:stop] for source in sources]",
        "a field is written before it is read", ("tests/heap/test_clusters.py",),
    ),
    Mutation(
        "clusters within clusters", _REARRANGEMENT,
        "        stop = max(stop, cluster.stop)\n", "        stop = cluster.stop\n",
        "a cluster that holds another one is moved in part", ("tests/heap/test_clusters.py",),
    ),
    # ----------------------------------------------------------------- addresses
    Mutation(
        "scalars below a word", _ADDRESS,
        "start + part if distance > 0 else start - part", "start + part",
        "scalars of one or two bytes lie beyond their row",
        ("tests/model/test_field_address.py::test_the_third_object_of_a_block",),
    ),
    Mutation(
        "where a cluster begins", _ADDRESS,
        "(self.lanes - 1) * self.cluster.offset", "self.lanes * self.cluster.offset",
        "a cluster lies where other scalars have rows",
        ("tests/model/test_field_address.py::test_the_third_object_of_a_block",),
    ),
    Mutation(
        "distances in a cluster", _ADDRESS,
        "return size if self.cluster is None else self.cluster.width", "return size",
        "NumPy's views take a cluster for a row", _OF_ADDRESSES,
    ),
    Mutation(
        "alignment of rows", _ADDRESS,
        "math.gcd(ROW_BYTES, size)", "math.gcd(ROW_BYTES, 2 * size)",
        "a device is promised more than there is",
        (
            "tests/model/test_field_address.py"
            "::test_scalars_are_aligned_as_their_object_and_cluster",
        ),
    ),
    Mutation(
        "emitted differences", _EMITTED,
        'self._of("sub", other)', 'self._of("add", other)',
        "generated code computes other addresses than the host", _OF_ADDRESSES,
    ),
    # -------------------------------------------------------------- names, windows
    Mutation(
        "functions are not looked at", _NAMES,
        "if isinstance(each, NameDependency))",
        "if isinstance(each, NameDependency) and not callable(each.value))",
        "a name that is bound to another function or class is not noticed",
        ("tests/runtime/test_constants.py::test_a_name_that_hides_one_of_pythons",),
    ),
    Mutation(
        "names of one module", _NAMES,
        "    if following is not None:\n", "    if False:\n",
        "names of the second module that a program takes names from are not looked at",
        ("tests/runtime/test_constants.py::test_cells_of_one_name_in_several_functions",),
    ),
    Mutation(
        "cells of one name", _NAMES,
        "        for group, cell in zip(groups, same, strict=False):\n",
        "        for group, cell in zip(groups, same[:1], strict=False):\n",
        "two closures have variables of one name, and one of them is looked at",
        ("tests/runtime/test_constants.py::test_cells_of_one_name_in_several_functions",),
    ),
    Mutation(
        "the last window of a range", _WINDOWS,
        "(last - begin) // size + 1):", "(last - begin) // size):",
        "objects at the end of a range belong to no class", ("tests/dispatch/test_windows.py",),
    ),
    Mutation(
        "windows of the largest difference", _WINDOWS,
        "        shift = min([span,", "        shift = max([span,",
        "a window holds objects of two classes", ("tests/dispatch/test_windows.py",),
    ),
    Mutation(
        "windows of few ranges", _WINDOWS,
        "min(MOST_WINDOWS, _MOST_EACH * len(ranges))", "MOST_WINDOWS",
        "a call of few classes has a table of hundreds of windows, other ones in each process",
        ("tests/dispatch/test_windows.py",),
    ),
    # ---------------------------------------------------------------- facts, bindings
    Mutation(
        "definitions", _BINDING,
        '"binding.epoch == World.epoch + heap.books.layout_epoch and',
        '"binding.epoch >= heap.books.layout_epoch and',
        "a method that was redefined is not noticed", _OF_FACTS,
    ),
    Mutation(
        "the heap's layout", _BINDING,
        '"binding.epoch == World.epoch + heap.books.layout_epoch and',
        '"binding.epoch >= World.epoch and',
        "new populations, pieces and clusters are not noticed", _OF_FACTS,
    ),
    Mutation(
        "names of quick launches", _BINDING,
        '" and binding.names.hold() and ', '" and ',
        "a global that is bound to something else is not noticed", _OF_FACTS,
    ),
    Mutation(
        "another heap's state block", _BINDING,
        " and binding.unit.state is binding.state", "",
        "a launch finds the tree of the heap that the code ran on last",
        ("tests/runtime/test_facts.py::test_a_launch_in_another_mode_leaves_the_usual_one_bound",),
    ),
    Mutation(
        "runs of another class", _BINDING,
        "            elif run.form is known.form or run.form == known.form:\n",
        "            elif run is not None:\n",
        "objects of another class are called as those of the run before", _OF_FACTS,
    ),
    Mutation(
        "arrays that were runs", _BINDING,
        "                if run is not known:\n", "                if False:\n",
        "an array that is no run any more is read as one", _OF_FACTS,
    ),
    Mutation(
        "runs of captured steps", "sharedoa/runtime/launch_sequence.py",
        "if array._run is not run:", "if run is array:",
        "a step does not notice that its array is no run any more", _OF_FACTS,
    ),
    Mutation(
        "answers are not compared", _JOB,
        "            answer(question) == known for question,",
        "            True or known for question,",
        "clusters that change while code is compiled are not those of the code",
        ("tests/runtime/test_facts.py::test_code_holds_as_long_as_all_answers_are_the_same",),
    ),
    *(
        Mutation(
            f"a question that is not recorded: {what}", _JOB,
            f'self._ask("{what}"{about})', f'self._answer(("{what}"{about},))',
            "code that rests on the answer is taken where it is another", tests,
        )
        for what, about, tests in (
            ("clusters", ", family", _OF_FACTS),
            ("populated", "", _OF_FACTS),
            ("ranges", "", ("tests/runtime/test_windows.py", "tests/runtime/test_population.py")),
            ("run", ", parameter", _OF_FACTS),
            ("pieces", ", owner, name", _OF_FACTS),
        )
    ),
    Mutation(
        "a population that stays", _ANSWERS,
        "        return frozenset(type_index for _, _, type_index in self._stretches) or None\n",
        "        return frozenset(list(self._uses.classes_met)[:1]) or None\n",
        "classes that have objects are not candidates", _OF_FACTS,
    ),
    # ------------------------------------------- what debuggers read
    Mutation(
        "an entry goes and its neighbour still names it", "sharedoa/backends/debugger.py",
        "            if entry.next:\n                _Entry",
        "            if False:\n                _Entry",
        "a debugger, or LLVM, goes to memory that is somebody else's by then",
        ("tests/backends/test_debugger.py::test_entries_leave_the_list_in_any_order",),
    ),
    Mutation(
        "a debugger is told where a symbol is as where its section begins",
        "sharedoa/backends/object_file.py",
        "addresses[each.name] - each.offset", "addresses[each.name]",
        "it finds each function somewhere else",
        ("tests/backends/test_debugger.py::test_entries_leave_the_list_in_any_order",),
    ),
    # ------------------------------------------- what a profile says of memory
    Mutation(
        "each round of a loop brings the same line again", "sharedoa/sampling/traffic.py",
        "np.minimum(weights, base) if stays else weights", "weights",
        "a kernel that reads one number is said to read as many as it has rounds",
        ("tests/sampling/test_traffic.py::test_loops",),
    ),
    Mutation(
        "each thread of a warp brings a line of its own", "sharedoa/sampling/traffic.py",
        "(pieces, often[lanes])], np.maximum)", "(pieces, often[lanes])], np.add)",
        "numbers side by side are said to cost a line each",
        ("tests/sampling/test_traffic.py::test_arrays",),
    ),
    Mutation(
        "threads beyond the launch", "sharedoa/targets/gpu.py",
        'builder.cbranch(builder.icmp_unsigned("<", x, nx), following, outside)',
        "builder.branch(following)",
        "a thread that is not of the launch stores",
        ("tests/targets/test_storing.py::test_each_thread_runs_once",),
    ),
    Mutation(
        "blocks that store what others do", "sharedoa/targets/gpu.py",
        "begin = builder.mul(number, builder.mul(width, I32(at_once - 1)))",
        "begin = builder.mul(number, builder.mul(width, I32(0)))",
        "some threads run several times, others never",
        ("tests/targets/test_storing.py::test_each_thread_runs_once",),
    ),
    Mutation(
        "threads that wait for memory", "sharedoa/ir/storing.py",
        "_STORING = Effects.WRITES | Effects.ASKS_THREAD",
        "_STORING = Effects.WRITES | Effects.READS | Effects.ASKS_THREAD",
        "fewer threads are left to hide what each waits for",
        ("tests/targets/test_storing.py::test_which_kernels",),
    ),
    Mutation(
        "more threads than numbers", "sharedoa/backends/gpu_launch.py",
        "if nx > _LARGEST_ROW or", "if nx > at_once * _LARGEST_ROW or",
        "launches of more than 32 bits count run a part of their threads",
        ("tests/targets/test_storing.py::test_the_grid_has_as_many_blocks",),
    ),
    Mutation(
        "blocks for all threads", "sharedoa/backends/gpu_launch.py",
        "-(-nx // (bx * at_once))", "-(-nx // bx)",
        "blocks are started that have nothing to do",
        ("tests/targets/test_storing.py::test_the_grid_has_as_many_blocks",),
    ),
)  # fmt: skip
