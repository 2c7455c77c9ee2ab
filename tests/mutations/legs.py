"""Faults in launches of a block that wait for those of their leg."""

from .mutation import Mutation

_FOLLOWING = "sharedoa/runtime/following.py"
_LEGS = "tests/gradients/test_legs.py"
_WITHIN = (f"{_LEGS}::test_what_comes_within_a_leg",)
_WAITS = (f"{_LEGS}::test_launches_wait_for_their_leg",)

MUTATIONS = (
    Mutation(
        "nobody is told that launches wait",
        _FOLLOWING,
        "                memory.last_launch = object()\n",
        "",
        "fields are read before launches that came first",
        (f"{_LEGS}::test_who_looks_while_the_first_launch_waits",),
    ),
    Mutation(
        "a block that leaves its course forgets what waits",
        "sharedoa/runtime/tape.py",
        "            following.launch()\n            following.leave(",
        "            following.leave(",
        "what they leave is not copied before it changes",
        (f"{_LEGS}::test_what_others_give_after_a_leg_has_begun",),
    ),
    Mutation(
        "legs copy nothing",
        "sharedoa/runtime/legs.py",
        "                copies += event.copies()\n",
        "",
        "the way back loads what a later launch of the leg has changed",
        _WITHIN,
    ),
    Mutation(
        "a leg that was left begins in the middle",
        _FOLLOWING,
        "            waits = step.leg[0] == self.taken and memory.deferred is None",
        "            waits = memory.deferred is None",
        "launches are taken for the first ones of their leg",
        _WITHIN,
    ),
    Mutation(
        "a block that has ended keeps its events",
        _FOLLOWING,
        "        self._events = []  # which",
        "        pass  # which",
        "tapes and their memory wait for the collector",
        (f"{_LEGS}::test_tapes_go_without_the_collector",),
    ),
    Mutation(
        "a leg is recorded again in each block",
        _FOLLOWING,
        "        leg = legs.get(self.taken)\n",
        "        leg = None\n",
        "each block takes longer than if launches did not wait",
        _WAITS,
    ),
    Mutation(
        "launches are asked for while another thread launches what waits",
        _FOLLOWING,
        "        with self._lock:\n            step = self._next(program)\n"
        "            if step is None or not is_seen(",
        "        if True:\n            step = self._next(program)\n"
        "            if step is None or not is_seen(",
        "a block takes one step for another",
        (f"{_LEGS}::test_another_thread_launches_what_waits",),
    ),
    Mutation(
        "methods change before what waits has begun",
        "sharedoa/heap/recording.py",
        "World.before_change.append(launch_all_deferred)\n",
        "",
        "launches wait while what they rest on changes",
        (f"{_LEGS}::test_methods_that_change_while_launches_wait",),
    ),
)
