"""Faults in what says, from process to process, when other clusters may be tried."""

from .mutation import Mutation

_ACCOUNTS, _CLUSTERING = "sharedoa/runtime/trial_accounts.py", "sharedoa/runtime/clustering.py"
_TESTS = "tests/runtime/comparing/test_trial_accounts.py"
_WAITING = ("tests/runtime/comparing/test_waiting_clusters.py",)
_ADD_UP = (f"{_TESTS}::test_short_processes_add_up",)
_PAID = (f"{_TESTS}::test_an_unfinished_trial_is_paid_for",)

MUTATIONS = (
    Mutation(
        "processes keep nothing of how long others were wanted",
        _ACCOUNTS,
        "        for account in _accounts.values():\n",
        "        for account in ():\n",
        "programs that are always shorter than a second keep rows",
        _ADD_UP,
    ),
    Mutation(
        "trials from an end of a short run to the next one",
        _ACCOUNTS,
        "return price - min(account.found, 0.0) - (perf_counter() - account.since)",
        "return price - account.found - (perf_counter() - account.since)",
        "trials begin when a run is nearly over, so that few of them see their end",
        (f"{_TESTS}::test_a_part_of_the_price_is_no_reason_to_try_at_a_run_s_end",),
    ),
    Mutation(
        "nothing is owed",
        _ACCOUNTS,
        "return price - min(account.found, 0.0) - (perf_counter() - account.since)",
        "return price - (perf_counter() - account.since)",
        "a process of a second and a half tries others each time, however long it takes",
        _PAID,
    ),
    Mutation(
        "trials whose process ends before them cost the price alone",
        _ACCOUNTS,
        "account.gains, account.has_tried = -rate, True",
        "account.has_tried = True",
        "short processes are half of their time with trials",
        _PAID,
    ),
    Mutation(
        "trials that never end",
        _ACCOUNTS,
        "            account.gains = 1.0\n",
        "            pass\n",
        "a long run owes a minute after a trial of a tenth of a second",
        (f"{_TESTS}::test_a_trial_that_has_ended_is_paid_for_what_it_took",),
    ),
    Mutation(
        "the end of a trial is not noted",
        _CLUSTERING,
        "if self.trial is not None and not planned_clusters.is_trying(heap):",
        "if False:",
        "trials follow one another",
        ("tests/runtime/comparing/test_tried_clusters.py::test_short_runs_try_nothing",),
    ),
    Mutation(
        "a trial ends when its code is there",
        "sharedoa/runtime/planned_clusters.py",
        "return is_planned or compared_clusters.of(heap) is not None",
        "return is_planned",
        "to compare costs nothing, so that it goes on for most of a short program's time",
        (f"{_TESTS}::test_a_trial_lasts_until_clusters_were_compared",),
    ),
    Mutation(
        "hours are gained ahead",
        _ACCOUNTS,
        "max(-_MOST_OWED, min(price, seconds))",
        "max(-_MOST_OWED, seconds)",
        "after a long run each short one tries others",
        (f"{_TESTS}::test_one_trial_is_paid_ahead_and_hours_are_not_owed",),
    ),
    Mutation(
        "hours are owed",
        _ACCOUNTS,
        "max(-_MOST_OWED, min(price, seconds))",
        "min(price, seconds)",
        "after a session in which nobody launched anything amid a trial, nothing is tried again",
        (f"{_TESTS}::test_one_trial_is_paid_ahead_and_hours_are_not_owed",),
    ),
    Mutation(
        "trials are paid for at the end",
        _ACCOUNTS,
        "        account.gains, account.has_tried = -rate, True\n        account.keep()\n",
        "        account.gains, account.has_tried = -rate, True\n",
        "processes that are killed each time try others each time",
        (f"{_TESTS}::test_who_is_killed_has_paid_the_price",),
    ),
    Mutation(
        "who ends last says what is kept",
        _ACCOUNTS,
        "self.file.read() + self.seconds - self.kept",
        "self.seconds",
        "of processes at once one forgets what the others' trials took",
        (f"{_TESTS}::test_processes_at_once",),
    ),
    Mutation(
        "each program has an account anew",
        _ACCOUNTS,
        "cls.python_class.__module__, cls.python_class.__qualname__, *cls.fields",
        "cls.python_class.__module__, cls.python_class.__qualname__",
        "a class with other fields is tried by what one of the same name has paid",
        (f"{_TESTS}::test_other_programs_of_a_class_go_on_with_its_account",),
    ),
    Mutation(
        "a class waits anew when others have what was certain",
        _CLUSTERING,
        "        looks.wants(max(waiting, key=lambda cls: spares[cls]))\n",
        "        pass\n",
        "of several runs in a process one more has objects in slower places",
        _WAITING,
    ),
    Mutation(
        "what waits for what is certain is forgotten",
        _CLUSTERING,
        "    if found is None:\n",
        "    if not found:\n",
        "a run compares clusters that are certain with rows, and not those that are wanted",
        _WAITING,
    ),
    Mutation(
        "accounts that threads make at the same moment",
        _ACCOUNTS,
        'until they may be tried, if any."""\n    with _lock:',
        'until they may be tried, if any."""\n    if True:',
        "what one of them has paid is forgotten",
        (f"{_TESTS}::test_threads_that_want_others_at_the_same_moment",),
    ),
    Mutation(
        "children of forks keep what their parents do",
        _ACCOUNTS,
        "call_in_child(_accounts.clear)\n",
        "",
        "what a process gained before it was forked counts for each of its children",
        (f"{_TESTS}::test_children_of_forks_keep_nothing_of_their_parents",),
    ),
)
