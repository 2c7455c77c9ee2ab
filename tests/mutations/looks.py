"""Faults in when programs are looked at, what is chosen by that, and what is kept of it."""

from .mutation import Mutation

_CLUSTERING = "sharedoa/runtime/clustering.py"
_TESTS = "tests/runtime/test_clustering.py"
_REMEMBERED = "sharedoa/runtime/remembered_looks.py"
_LOOKS = "tests/runtime/test_remembered_looks.py"
_STILL_SO = (f"{_LOOKS}::test_whether_it_is_still_so",)
_PART_OF_THE_TIME = (f"{_TESTS}::test_looks_take_a_part_of_the_time",)

MUTATIONS = (
    Mutation(
        "a step counts sixteen launches",
        _CLUSTERING,
        "    known.launches += 1\n",
        "    known.launches = min(known.launches + 1, LAUNCHES)\n",
        "what a step does forty times weighs as much as what it does once",
        (f"{_TESTS}::test_what_a_step_does_many_times_weighs_more",),
    ),
    Mutation(
        "launches that do nothing",
        _CLUSTERING,
        "if not touches.of_class and not known.was_idle:",
        "if False:",
        "captured steps whose populations have grown keep rows",
        (f"{_TESTS}::test_launches_that_do_nothing_say_nothing",),
    ),
    Mutation(
        "preparations count for good",
        _CLUSTERING,
        "used if LAUNCHES * known.launches > launches]",
        "used]",
        "objects stay as their first launch wanted them",
        (f"{_TESTS}::test_preparations_do_not_count_later",),
    ),
    Mutation(
        "looks as long as what they are for",
        _CLUSTERING,
        "elif known.is_new or not known.looks.are_too_many:",
        "elif True:",
        "each look of a short program is a fifth of what it takes",
        _PART_OF_THE_TIME,
    ),
    Mutation(
        "looks that were put off are forgotten",
        _CLUSTERING,
        "return self.is_put_off or self.looked_at < LAUNCHES",
        "return self.launches < LAUNCHES",
        "objects stay as the first launch wanted them",
        _PART_OF_THE_TIME,
    ),
    Mutation(
        "clusters that spare next to nothing",
        _CLUSTERING,
        "spared = _LEAST_PART * sum(costs.values())",
        "spared = 0.0",
        "all that uses a class is compiled anew for a thousandth of the time",
        (f"{_TESTS}::test_what_is_little_of_all_stays_as_it_is",),
    ),
    Mutation(
        "threads that come later",
        _CLUSTERING,
        " or threads >= 2 * self.threads",
        "",
        "a population that grows out of order keeps rows",
        (f"{_TESTS}::test_twice_as_many_threads_are_looked_at",),
    ),
    Mutation(
        "looks at other numbers of objects",
        _REMEMBERED,
        "objects.bit_length() // 4, threads.bit_length() // 4",
        "0, 0",
        "objects that grew large lie as few of them had better",
        (f"{_LOOKS}::test_other_circumstances",),
    ),
    Mutation(
        "looks that are not stored when the process ends",
        _REMEMBERED,
        "    for key in list(_unstored):\n",
        "    for key in []:\n",
        "the next process of a short program looks again",
        (f"{_LOOKS}::test_a_process_that_ends_before_the_background_is_idle",),
    ),
    Mutation(
        "looks at other code",
        _REMEMBERED,
        "repr(then), text)",
        "repr(then))",
        "objects lie as a method wanted that was changed since",
        (f"{_LOOKS}::test_a_class_that_changes",),
    ),
    Mutation(
        "what earlier runs saw holds for good",
        _CLUSTERING,
        "if known.may_recall and now != known.then:",
        "if known.may_recall:",
        "a program with other data goes on with objects that lie badly",
        _STILL_SO,
    ),
    Mutation(
        "earlier runs looked for nothing",
        _CLUSTERING,
        "self.looks.seconds += look.seconds *",
        "self.looks.seconds += 0 *",
        "each run looks as it begins, as if none had been before",
        _STILL_SO,
    ),
    Mutation(
        "earlier runs in other company",
        _CLUSTERING,
        "                if known.is_recalled:\n",
        "                if False:\n",
        "nothing is chosen where another program runs, too",
        (f"{_LOOKS}::test_programs_in_another_company",),
    ),
)
