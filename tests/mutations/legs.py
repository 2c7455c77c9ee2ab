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
        "        memory.last_launch = object()\n",
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
        "the last leg copies nothing at its end",
        "sharedoa/runtime/legs.py",
        "        made.after = copies\n",
        "",
        "what happens to memory after a block makes a difference",
        (f"{_LEGS}::test_the_last_leg_copies_what_is_left",),
    ),
    Mutation(
        "all legs copy what is left in the end",
        _FOLLOWING,
        "end = self.course.end if steps[-1] is self._steps[-1] else None",
        "end = self.course.end",
        "what is left in the end is taken for copied when a leg begins",
        (f"{_LEGS}::test_the_last_leg_copies_what_is_left",),
    ),
    Mutation(
        "a tape takes launches after its block",
        "sharedoa/runtime/tape.py",
        "        if following is None or block is None or not block.is_open:\n",
        "        if following is None or block is None:\n",
        "launches wait that nobody asks for any more",
        (f"{_LEGS}::test_a_block_that_was_left_unseen",),
    ),
    Mutation(
        "a leg that was left begins in the middle",
        _FOLLOWING,
        "        if self._legs is None or leg[0] != self.taken or memory.",
        "        if self._legs is None or memory.",
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
