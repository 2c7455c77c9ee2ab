"""Faults in how often steps are planned and kernels compiled: what is computed stays right."""

from .mutation import Mutation

_TESTS = "tests/runtime/test_first_launches.py"
_SEQUENCE = "sharedoa/runtime/population_sequence.py"
_LAUNCHES = "sharedoa/runtime/launch_sequence.py"
_CLUSTERING = "sharedoa/runtime/clustering.py"
_PLANNED = "sharedoa/runtime/planned_clusters.py"
_CONSTANTS = "sharedoa/runtime/specialisation.py"
_BACKGROUND = "sharedoa/runtime/background.py"
_LOOKED_AT = (f"{_TESTS}::test_a_step_is_looked_at_before_any_of_it_is_compiled",)
_CODE = (f"{_TESTS}::test_other_code_is_bound_and_other_places_are_planned",)
_VARIANTS = (f"{_TESTS}::test_a_step_has_variants_for_all_of_its_launches_or_none",)
_NUMBERS = (f"{_TESTS}::test_which_numbers_differ",)
_URGENT = (f"{_TESTS}::test_what_is_urgent_is_done_first",)
_MEANWHILE = (f"{_TESTS}::test_another_thread_rearranges_meanwhile",)
_STILL = (f"{_TESTS}::test_what_nothing_changes_is_watched_no_longer",)
_OWN = ("tests/runtime/test_code_cache.py::test_the_text_of_an_own_kernel_is_not_made_again",)
_GONE = (f"{_TESTS}::test_no_launch_waits_for_constants_of_code_that_launches_have_left",)

MUTATIONS = (
    Mutation(
        "launches are looked at when each is compiled", _LAUNCHES,
        "looked = clustering.consider(self.heap, asked, self._looks_amid)",
        "looked = [None] * len(asked)",
        "fields lie as no launch of a step wants them", _LOOKED_AT,
    ),
    Mutation(
        "launches are looked at twice", _LAUNCHES, "e.bind(self.heap, [by])", "e.bind(self.heap)",
        "a launch of a step counts twice", _LOOKED_AT,
    ),
    Mutation(
        "a run counts launches that were bound for it", _SEQUENCE,
        "self._look_again(counts=not is_new)", "self._look_again(counts=True)",
        "a launch of a step counts twice", _LOOKED_AT,
    ),
    Mutation(
        "launches without work are looked at again at once", _CLUSTERING,
        "if known in looked_at or not known.is_due", "if not known.is_due",
        "a step that was just planned is taken for one that does nothing",
        (f"{_TESTS}::test_launches_that_have_nothing_to_do_yet_are_looked_at_once",),
    ),
    Mutation(
        "preparations are compiled for other clusters", _PLANNED,
        "            if program not in over\n", "",
        "code is compiled that nobody launches",
        (f"{_TESTS}::test_what_prepared_gets_no_code_for_other_clusters",),
    ),
    Mutation(
        "everything is over", _CLUSTERING,
        "if LAUNCHES * sum(known.launches for known in launched.values()) <= latest", "if latest",
        "launches wait for code for other clusters",
        (f"{_TESTS}::test_what_prepared_gets_no_code_for_other_clusters",),
    ),
    Mutation(
        "steps are planned anew for other code", _SEQUENCE,
        "return placement.layout_epoch - placement.code_epoch", "return placement.layout_epoch",
        "a plan is made in vain when a compilation ends", _CODE,
    ),
    Mutation(
        "steps are not planned anew for other places", _SEQUENCE,
        "return placement.layout_epoch - placement.code_epoch", "return 0",
        "a step uses addresses that something else has now", _CODE,
    ),
    Mutation(
        "clusters are taken for places", "sharedoa/heap/by_type.py",
        "self.change_code()  # who", "self.change_layout()  # who",
        "a plan is made in vain when fields change places", _CODE,
    ),
    Mutation(
        "whoever rearranges fields moves objects", "sharedoa/heap/memory.py",
        "self.stand_still(is_code=True)", "self.stand_still()",
        "a plan is made in vain when fields change places", _CODE,
    ),
    Mutation(
        "epochs of code and of places are raised one by one", "sharedoa/heap/by_type.py",
        "        self.code_epoch += 1\n        self.layout_epoch += 1\n",
        "        self.code_epoch += 1\n        self.change_layout()\n",
        "a step whose objects have moved takes its plan for one that holds",
        (f"{_TESTS}::test_amid_a_change_of_code_nobody_sees_other_places",),
    ),
    Mutation(
        "a run does not look whether its code still holds", _SEQUENCE,
        "if self._made_at != self._now() or not self._is_current():",
        "if self._made_at != self._now():",
        "code takes fields for others when another thread has rearranged them", _MEANWHILE,
    ),
    Mutation(
        "classes that other steps change while one is planned", _SEQUENCE,
        "known = dict(versions) if self._plan is None", "known = versions if self._plan is None",
        "a run raises RuntimeError: dictionary changed size during iteration",
        (f"{_TESTS}::test_another_thread_plans_meanwhile",),
    ),
    Mutation(
        "what other steps change is not known", _SEQUENCE,
        "known = dict(versions) if self._plan is None else self._plan.settled",
        "known = {} if self._plan is None else self._plan.settled",
        "each captured step finds out by itself, and is compiled twice",
        (f"{_TESTS}::test_what_other_steps_change_is_watched_from_the_first_plan",),
    ),
    Mutation(
        "all that other steps may change is watched", _SEQUENCE,
        "versions.setdefault(cls, placement.class_version(cls))",
        "versions.setdefault(cls, (-1, 0))",
        "steps have threads for objects that nobody makes",
        (f"{_TESTS}::test_what_other_steps_change_is_watched_from_the_first_plan",),
    ),
    Mutation(
        "what changed once is watched for ever", _SEQUENCE,
        "            self._watched -= found\n", "",
        "objects that nobody makes or ends are listed in each run", _STILL,
    ),
    Mutation(
        "what changes is no longer watched", _SEQUENCE,
        "if before.get(cls) == version and", "if",
        "steps are planned again and again", _STILL,
    ),
    Mutation(
        "what has to be watched is not", _SEQUENCE,
        "                        self._watched |= self._left_alone\n", "",
        "runs look at the heap one by one", (f"{_TESTS}::test_what_has_to_be_watched_stays_so",),
    ),
    Mutation(
        "some launches of a step have variants", _CONSTANTS,
        "for each in launches}) <= MOST_VARIANTS:", "for each in launches}) < 1000:",
        "the first launches of a step are compiled each by itself", _VARIANTS,
    ),
    Mutation(
        "no number of many launches is known", _CONSTANTS,
        "if any(each[p] != first[p] for each in launches)", "",
        "a step does not know what is always the same", _NUMBERS,
    ),
    Mutation(
        "constants of code that launches have left", _CONSTANTS,
        "return task.is_done and self.beside != beside and", "return False and",
        "a launch compiles what was to be compiled beside it", _GONE,
    ),
    Mutation(
        "work is done in its order", _BACKGROUND,
        "min(self._tasks, key=lambda each: each.urgency, default=None)",
        "next(iter(self._tasks), None)",
        "what is quicker comes behind what may be", _URGENT,
    ),
    Mutation(
        "work interrupts what is as urgent", _BACKGROUND, "first.urgency >= below", "False",
        "work waits for what comes after it", _URGENT,
    ),
    Mutation(
        "launches do the work", _BACKGROUND,
        "if threading.current_thread() is not self._thread:", "if not self._running:",
        "a launch compiles what was to be compiled beside it", _URGENT,
    ),
    Mutation(
        "own kernels of another version", "sharedoa/runtime/code_cache/own_code.py",
        "(_NAME, version, *made_for", "(_NAME, *made_for",
        "a new version runs the kernels of the one before", _OWN,
    ),
    Mutation(
        "two threads load the same own kernel", "sharedoa/backends/own_kernels.py",
        "                if not self.is_loaded(kernel):\n                    self._loaded",
        "                if True:\n                    self._loaded",
        "the launch of one thread has the arguments of another's",
        ("tests/runtime/test_code_cache.py::test_two_threads_need_the_same_own_kernel",),
    ),
    Mutation(
        "own kernels of another target", "sharedoa/runtime/code_cache/own_code.py",
        "made_for = kind.__module__, kind.__qualname__, target.name", "made_for = target.name",
        "a device runs the kernels of a processor", _OWN,
    ),
    Mutation(
        "own kernels for other numbers of threads", "sharedoa/runtime/code_cache/own_code.py",
        'threads = f"device {target.is_device} warp {width}"', 'threads = f"warp {width}"',
        "a thread of a device moves as many objects as one of a processor",
        ("tests/runtime/test_code_cache.py::"
         "test_the_text_of_an_own_kernel_follows_from_its_key",),
    ),
    Mutation(
        "own kernels whose code has gone", "sharedoa/runtime/code_cache/own_code.py",
        "if code is not None and code.key ==", "if code.key ==",
        "a cache that has been tidied ends the next program", _OWN,
    ),
)  # fmt: skip
