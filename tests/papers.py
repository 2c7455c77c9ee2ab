"""What three papers ask for, row by row: which tests or records show it, and what is missing.

PROTEUS: Georgakoudis et al., Proteus: Portable Runtime Optimization of GPU Kernel Execution with
Just-in-Time Compilation, CGO 2025. FUSER: Al Awar et al., Dynamically Fusing Python HPC Kernels,
ISSTA 2025. ENZYME: Moses et al., Reverse-Mode Automatic Differentiation and Optimization of GPU
Kernels via Enzyme, SC 2021. A row that names neither test nor record is missing; so is what
``missing`` says of the others. ``python -m tests.papers`` prints the table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """``tests``: files, or functions in them; ``records``: in ``bench/results``."""

    number: str
    what: str
    tests: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    missing: str = ""


_STEPS = "tests/runtime/test_specialisation.py"
_LAUNCHES = "tests/runtime/test_specialised_launches.py"
_POPULATION = "tests/runtime/test_population.py"
_CACHE = "tests/runtime/test_code_cache"
_FUSION = "tests/runtime/test_fusion.py"
_BLOCKS = "tests/runtime/test_fused_blocks.py"

PROTEUS = (
    Row(
        "P-1", "numbers that are constants give what variables give, and are not loaded",
        (
            f"{_LAUNCHES}::test_results_are_those_of_variables",
            f"{_LAUNCHES}::test_each_launch_sees_its_own_numbers",
            f"{_STEPS}::test_numbers_that_compare_equal",
            f"{_STEPS}::test_what_is_decided_is_gone",
            "tests/runtime/test_known_structs.py",
        ),
        ("specialised-cpu-emeraldrapids-2026-11-26.json",),
    ),
    Row(
        "P-2", "blocks and their bounds are known to the code",
        (f"{_STEPS}::test_blocks_are_known", f"{_STEPS}::test_blocks_alone_are_no_reason"),
        missing="no .maxntid: with .maxnreg beside it the same machine code (ptxas 13.5)",
    ),
    Row(
        "P-3", "bounds of ranges in the code: regions may touch, no load before the choice",
        (
            "tests/dispatch/test_bounds.py::test_every_place_gets_its_type",
            "tests/structure/test_dispatch_path.py::test_loads_and_calls_of_a_divergent_call",
            f"{_POPULATION}::test_ranges_are_told_apart_without_loads",
        ),
    ),
    Row(
        "P-4", "new regions are seen; objects in room that there is compile nothing",
        (
            f"{_POPULATION}::test_results_hold_whatever_the_population_becomes",
            f"{_POPULATION}::test_objects_within_the_room_that_there_is_compile_nothing",
            "tests/runtime/test_windows.py::test_a_class_that_grows_in_its_window_compiles_nothing_new",
        ),
    ),
    Row(
        "P-5", "classes that get and lose all objects: right results, two compilations",
        (f"{_POPULATION}::test_classes_come_and_go_with_two_compilations",),
    ),
    Row(
        "P-6", "each part of the key alone misses; nothing else does; a second process hits",
        (
            f"{_CACHE}_keys.py::test_each_component_alone_makes_another_key_and_nothing_else_does",
            f"{_CACHE}_keys.py::test_a_second_process_launches_without_compiling",
            f"{_CACHE}.py::test_two_hundred_random_mutations_of_a_key_miss_and_repeats_hit",
            "tests/runtime/test_descriptions.py::test_each_answer_alone_changes_it",
        ),
    ),
    Row(
        "P-7", "damaged and colliding entries of the cache are made again",
        (
            f"{_CACHE}.py::test_a_damaged_entry_is_made_again",
            f"{_CACHE}.py::test_keys_whose_digests_collide_do_not_share_code",
        ),
    ),
    Row(
        "P-8", "the cache stays within its limit, in order of use; only whole files",
        (
            f"{_CACHE}_folder.py::test_a_thousand_entries_stay_within_the_limit_and_the_last_ones_remain",
            f"{_CACHE}_folder.py::test_what_was_used_longest_ago_goes_first",
            f"{_CACHE}_folder.py::test_eight_processes_at_once_leave_only_whole_files",
        ),
    ),
    Row(
        "P-9", "code that is replaced amid a loop leads to the same end",
        (
            f"{_LAUNCHES}::test_compiled_beside_the_launches",
            f"{_LAUNCHES}::test_random_histories",
            "tests/runtime/test_background.py::test_kernels_go_on_and_change_when_there_is_code",
        ),
    ),
    Row(
        "P-10", "the microbenchmark in every way of dispatch, on a GPU",
        records=(
            "virtual-call-nvidia-h200-2026-11-21.json", "dispatch-grid-nvidia-h200-2026-11-22.json",
        ),
        missing="1 to 32 Mi objects of 4 types in one record with each technique alone",
    ),
    Row(
        "P-11", "all programs from end to end, cold and warm, with and without",
        records=(
            "reproduction-before-flat-loops-cupti-nvidia-h200-2026-11-26.json",
            "reproduction-flat-loops-and-variants-cupti-nvidia-h200-2026-11-26.json",
        ),
        missing="sums of kernels, warm; from end to end, cold and warm, there is no record",
    ),
    Row(
        "P-12", "the ray tracer with 8, 64 and 1000 frozen objects",
        (
            "tests/runtime/test_frozen.py::test_results_are_those_of_what_is_read",
            "tests/runtime/test_frozen.py::test_large_objects_are_read",
        ),
        missing="arrays, and so scenes, are not folded: at most 4 % of the ray tracer are loads",
    ),
    Row(
        "P-13", "variants are few; numbers that always change cost nothing",
        (
            f"{_LAUNCHES}::test_variants_are_few",
            f"{_LAUNCHES}::test_numbers_that_always_change_cost_nothing",
            f"{_STEPS}::test_a_few_variants_then_what_all_run",
        ),
    ),
)  # fmt: skip

FUSER = (
    Row("F-1", "chains of 2, 5 and 50 are one", (f"{_FUSION}::test_own_chains_are_one",)),
    Row(
        "F-2", "a neighbour is read after an own write: refused",
        (f"{_FUSION}::test_what_others_see_is_not",),
    ),
    Row(
        "F-3", "a neighbour is written after an own read, or before it: refused",
        (
            f"{_FUSION}::test_what_others_see_is_not",
            "tests/runtime/test_distinct_fields.py::test_changes_in_between_are_seen",
        ),
    ),
    Row(
        "F-4", "one of eight overrides reaches a neighbour: refused while it has objects",
        (f"{_FUSION}::test_a_class_that_reaches_others_forbids_it",),
    ),
    Row("F-5", "the six adversarial traces", (f"{_FUSION}::test_adversarial_traces",)),
    Row("F-6", "the host writes between launches", (f"{_FUSION}::test_a_host_write_after_a_read",)),
    Row(
        "F-7", "objects are made and deleted between launches",
        (f"{_BLOCKS}::test_creation_and_deletion_come_between",),
    ),
    Row(
        "F-8", "one lookup an object; own stores are forwarded",
        (f"{_BLOCKS}::test_one_lookup_an_object", f"{_BLOCKS}::test_fields_stay_in_registers"),
    ),
    Row(
        "F-9", "without alias facts there is a reload, with them none",
        (f"{_BLOCKS}::test_fields_stay_in_registers",),
    ),
    Row(
        "F-10", "a loop is planned once, memory stays flat",
        (
            f"{_BLOCKS}::test_plans_are_made_once", f"{_BLOCKS}::test_remembered_calls_cost_little",
        ),
    ),
    Row(
        "F-11", "speed as one and apart",
        records=(
            "chain-cpu-emeraldrapids-2026-11-26.json", "chain-nvidia-h200-2026-11-26.json",
            "programs-without-fusion-nvidia-h200-2026-11-26.json",
            "programs-with-fusion-nvidia-h200-2026-11-26.json",
        ),
        missing="the second of the two ran with filled caches: least times can be compared alone;"
        " loops over one list stay two (F4): no program has such launches, 3 % where memory counts",
    ),
    Row(
        "F-12", "what spills, leaves room for fewer threads or takes longer as one is refused",
        (
            "tests/runtime/test_fusion_trials.py::test_a_device_is_asked_what_its_code_uses",
            "tests/runtime/test_fusion_trials.py::test_a_processor_is_timed",
        ),
        missing="devices and clocks are pretended; no record of a pair that a GPU refuses",
    ),
    Row(
        "F-13", "tracing and planning take at most 5 % of traffic",
        ("tests/apps/test_fusion_share.py",),
        missing="blocks in each step of a small network take more; no record on a GPU",
    ),
)  # fmt: skip

_RULES = "tests/gradients/test_rules.py"
_PTX = "tests/gradients/test_ptx.py"
_ATOMICS = "tests/gradients/test_atomics.py"
_RANDOM = "tests/gradients/test_random_programs.py"
_UNTOUCHED = "tests/gradients/test_untouched.py"

ENZYME = (
    Row(
        "E-1", "loads and stores of oneself and of neighbours that are oneself, in f64",
        (
            f"{_RULES}::test_everything_in_two_classes_and_two_steps",
            f"{_RULES}::test_a_neighbour_that_is_oneself",
            f"{_RULES}::test_a_store_by_another_name",
            "tests/gradients/test_oracle.py::test_gradients_of_programs_are_differences",
        ),
    ),
    Row(
        "E-2", "2 to 8 classes, overrides of different activity, every mode, against dual numbers",
        (f"{_RANDOM}::test_gradients_agree", f"{_RANDOM}::test_each_program_agrees_in_every_mode"),
        ("random-gradients-cpu-2026-11-26.json", "random-gradients-nvidia-h100-2026-11-26.json"),
        missing="10,000 programs in one run: 2,418 on processors, 612 on a GPU",
    ),
    Row(
        "E-3", "springs, pages and rays at small size against central differences",
        ("tests/gradients/test_targets.py::test_gradients_are_differences",),
    ),
    Row(
        "E-4", "no atomic on adjoints of own fields, and those that are expected on neighbours'",
        (
            f"{_ATOMICS}::test_atomics_of_ways_back", f"{_PTX}::test_who_adds_to_adjoints",
            f"{_ATOMICS}::test_who_has_elements_of_arrays",
        ),
    ),
    Row(
        "E-5", "ten launches reversed; a population that changes in between is refused",
        (
            f"{_RULES}::test_ten_launches_and_scalars_of_each",
            f"{_RULES}::test_other_objects_in_the_block",
            "tests/gradients/test_repeats.py::test_what_is_left_differs",
        ),
        ("long-tape-nvidia-h200-2026-11-27.json",),
    ),
    Row(
        "E-6", "adjoints grow with what they mirror, and are zero there",
        (f"{_RULES}::test_adjoints_of_what_is_made_between_tapes",),
    ),
    Row(
        "E-7", "one message with its line for each thing that has no adjoint",
        (
            f"{_RULES}::test_what_has_no_adjoint",
            "tests/gradients/test_checkpoints.py::test_what_has_no_adjoint_is_refused_in_the_block",
        ),
    ),
    Row("E-8", "registers and spills of ways back", (f"{_PTX}::test_registers",)),
    Row(
        "E-9", "the three programs at full size, on a GPU, against JAX",
        records=("gradients-nvidia-h200-2026-11-26.json", "gradients-nvidia-h200-2026-11-27.json"),
        missing="in f64, to 1e-7; not in f32",
    ),
    Row(
        "E-10", "gradient and primal at most ten times the primal, at four sizes, on an H200",
        records=("gradients-again-nvidia-h200-2026-11-27.json",),
    ),
    Row(
        "E-11", "with atomics everywhere, without sums of warps, before our own optimisation",
        (f"{_PTX}::test_sums_of_warps",),
        missing="no record of each by itself",
    ),
    Row(
        "E-12", "what changes no floats costs what it costs without a tape",
        (f"{_UNTOUCHED}::test_launches_that_change_no_floats",),
        missing="it is launched as ever; the host's part has no record",
    ),
)  # fmt: skip

TABLE = PROTEUS + FUSER + ENZYME


def main() -> None:
    for row in TABLE:
        shown = [*row.tests, *row.records]
        print(f"{row.number:5} {row.what}")
        for each in shown:
            print(f"      {each}")
        if row.missing:
            print(f"      missing: {row.missing}")


if __name__ == "__main__":
    main()
