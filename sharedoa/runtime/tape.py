"""``oa.tape()``: a record of launches, and of what is computed of what they leave, in reverse.

    with oa.tape() as tape:
        for _ in range(100):
            oa.all(Spring).pull()
            oa.all(Node).move(dt)
        loss = (oa.all(Node).pos - target).square().sum()
    tape.backward(loss)
    nodes.grad.pos

Launches in the block run at once, and keep on a tape of words what their way back needs
(``gradients``): so whatever happens to memory after the block makes no difference. With
``oa.tape(checkpoints=k)`` they keep nothing, and are launched again (``checkpoints``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import numpy as np

from ..errors import ArgumentError, HeapError
from ..heap.adjoints import AdjointFields, adjoints_of, refuse_foreign
from ..heap.alone import alone
from ..heap.arrays import Array, FieldView
from ..heap.blocks import Block, exit_of_block
from ..heap.heap import Heap, current_heap
from ..heap.objects import ManyObjects
from ..heap.population import Population
from ..heap.recording import Recorder, note_outside, own, recorder, recording, taping
from ..model.object import Object
from ..model.world import World
from .heap_state import Saved
from .legs import LegEvents, one_by_one
from .loss_gradients import add_to_adjoints, gradient_of_loss
from .planned_clusters import remind
from .tape_words import TapeWords
from .traced import Read, Traced
from .untouched import Untouched
from .vectorised import PlannedLaunch, geometry_of, planned_again

if TYPE_CHECKING:
    from .courses import Before, Done
    from .following import Following
    from .geometry import Geometry
    from .gradients import Gradient, TapedLaunch, Way
    from .launch import Program


class Tape(Recorder):
    """What ``oa.tape()`` gives: a context manager that records the launches of its block on the
    current heap, and runs them in reverse."""

    made_by, known_as = "oa.tape()", "a tape"
    executes = True

    def __init__(self, heap: Heap, checkpoints: int | None = None) -> None:
        from .checkpoints import Checkpoints

        adjoints_of(heap)  # or it has none
        super().__init__(heap)
        heap.upkeep.held.add(id(self))  # nothing moves by itself
        self._checkpoints = None if checkpoints is None else Checkpoints(heap, checkpoints)
        self._words = TapeWords(heap)
        self._untouched = Untouched(heap, self._words)
        #: None: the next launch of the checkpoints.
        self._events: list[TapedLaunch | Read | Saved | LegEvents | None] = []
        self._population = self._now()
        self._gradients: dict[str, Gradient] = {}
        #: Of calls of all objects of a class.
        self._calls: dict[tuple[PlannedLaunch, ...], list[_Call]] = {}
        #: What the block has done, and how the heap was when it began; None: nobody can follow.
        self._done: list[Done] | None = None
        self._before: Before | None = None
        self._following: Following | None = None
        self._has_begun = False
        #: Whether others have launched within the block, or changed memory.
        self.is_disturbed = False

    def __del__(self) -> None:
        heap = getattr(self, "heap", None)
        if heap is not None:
            heap.upkeep.held.discard(id(self))
        taping.pop(id(self), None)

    def _now(self) -> tuple[int, int, int]:
        placement = self.heap.placement
        return placement.population_version, placement.moves, placement.deletions

    # ---------------------------------------------------------------- the block

    def _begins(self, outer: Recorder | None) -> bool:
        if outer is not None and not outer.is_lazy:
            raise HeapError(
                "oa.tape() inside a block of oa.tape() or oa.capture()",
                "end one block before the next; run captured steps inside a tape's block",
            )
        heap = self.heap
        if get_ident() != heap.upkeep.thread:
            heap.note_thread()  # or others would not be others
        heap.launch_deferred()
        self._population = self._now()
        # Tapes whose blocks are open at the same time do not know of each other's launches.
        self.is_disturbed = bool(taping) and note_outside(heap)
        return True

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            taping[id(self)] = ref(self)
            return self
        except BaseException:  # a signal, as in what it was
            self._end()
            raise

    def _end(self) -> None:
        super()._end()
        taping.pop(id(self), None)

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        self._end()
        following = self._following
        if following is not None and kind is None and following.is_complete:
            following.end(self._untouched)
            self._gradients = following.course.gradients
            return
        self._leave_course()
        self._untouched.end()
        if kind is None and self._done:
            from .courses import remember

            assert self._before is not None
            end = self._untouched.copy_of_end
            remember(self.heap, self._before, self._done, end, self._gradients)

    # ---------------------------------------------------------------- as before

    def _begin(self, program: Program) -> None:
        """The first launch is one of the program: the block may be one that there was."""
        if self._has_begun:
            return
        self._has_begun = True
        if self._checkpoints is None and self.heap.backend.copies is not None:
            from .courses import Before
            from .following import follow

            self._done, self._before = [], Before.of(self.heap)
            self._following = follow(self.heap, program, self._events)

    def _leave_course(self) -> None:
        """What comes was not in the block that this one follows, if it does."""
        following, self._following = self._following, None
        if following is not None:
            following.launch()
            following.leave(self._untouched)
            self._done = following.done()
            self._gradients = {**following.course.gradients}

    def _follow(self, take: Callable[..., bool], *given: Any) -> bool:
        """Whether the next steps of the course were taken."""
        around = recording.get()
        try:
            recording.set(own)
            return take(*given)
        finally:
            recording.set(around)

    def _note(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        saved: Saved | None,
        taped: TapedLaunch | None,
        is_usual: bool,
    ) -> None:
        """A launch was recorded; ``is_usual``: another one of it would be so, too."""
        if self._done is None:
            return
        if not is_usual:
            self._done = None
            return
        from .courses import Done
        from .same_arguments import words_of

        words, _ = words_of(program, arguments)
        left = self._untouched.now_left()
        self._done.append(Done(program, geometry, words, saved, taped, left))

    # ---------------------------------------------------------------- recording

    def record(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
    ) -> None:
        """Launch, and remember how to reverse it."""
        heap = self.heap
        self._begin(program)
        following = self._following
        if following is not None:
            if mode is debug is None:
                if following.take_seen(program, geometry, arguments):
                    return
                if self._follow(following.take, program, geometry, arguments):
                    return
            self._leave_course()
        if not program.plan.lie_in(heap, arguments):
            with program.lock:  # or they are no arguments of it
                found = program.plan.pack(program.slots, arguments) or current_heap()
            if found is not heap:
                raise HeapError(
                    f"{program.source.name} is launched on another heap than that of the tape",
                    "enter the block of oa.tape() within that of the heap: with heap: ...",
                )
        self._refuse_others()
        around = recording.get()
        try:
            recording.set(own)
            if self._checkpoints is not None:
                self._checkpoints.launch(program, geometry, arguments, mode, debug)
                self._events.append(None)
            else:
                self._launch(program, geometry, arguments, mode, debug)
        finally:
            recording.set(around)

    def _launch(
        self,
        program: Program,
        geometry: Geometry,
        arguments: tuple[Any, ...],
        mode: Any = None,
        debug: Any = None,
        way: Way | None = None,
    ) -> None:
        """Launch what arguments of this heap are known to suit, and keep what that takes. ``way``:
        that of the same launch before."""
        from .gradients import launch_taped, way_of

        heap, untouched, events = self.heap, self._untouched, self._events
        how = program, heap, geometry, arguments
        way = way or way_of(*how, debug, loads_again=True)
        is_plain = mode is None and debug is None
        now = untouched.now(way)
        step = untouched.known(now)
        if step is not None:
            saved = untouched.again(step)
            if saved is not None:
                events.append(saved)
            taped = step.way.record(arguments, arguments, mode, debug, self._words)
            events.append(taped)
            self._note(program, geometry, arguments, saved, taped, is_plain)
            return
        saved = untouched.before(way.gradient.original, arguments)
        if saved is not None:
            events.append(saved)
        found = launch_taped(*how, mode, debug, untouched.leave, self._words, way)
        is_usual = True
        if found is not None:
            events.append(found)
            self._gradients[program.source.name] = found.gradient
            is_debug = heap.debug if debug is None else bool(debug)
            is_usual = found.arguments is arguments and found.way.room is not None
            is_usual = is_usual and (way.is_safe or is_debug)
            if is_usual:
                untouched.note(now, found.way, saved)
        self._note(program, geometry, arguments, saved, found, is_usual and is_plain)

    def follow(self, program: Program, geometry: Geometry, arguments: tuple[Any, ...]) -> bool:
        """See ``Recorder``: where it is the next step of a course."""
        following, block = self._following, self._block
        if following is None or block is None or not block.is_open:
            return False
        return following.take_seen(program, geometry, arguments)

    def call_again(self, objects: Population, name: str, arguments: tuple[Any, ...]) -> bool:
        """Launch a method of all objects of a class, if its launches are those of the call before;
        False if it has to be looked at."""
        heap = self.heap
        if self._checkpoints is not None or objects._heap is not heap or not self.is_recording:
            return False
        launches = planned_again(objects, name)
        if launches is None:
            return False
        if not launches:
            self._refuse_others()
            return True
        self._begin(launches[0].program)
        following = self._following
        if following is not None:
            return self._follow(following.take_call, launches, arguments)
        calls = self._calls.get(launches)
        if calls is None:
            calls = self._calls[launches] = [_Call(each, heap) for each in launches]
        given = [(*each.first, *arguments) for each in calls]
        if arguments:
            for each, values in zip(calls, given, strict=True):
                if not each.program.plan.lie_in(heap, values):
                    return False
        self._refuse_others()
        around = recording.get()
        try:
            recording.set(own)
            for each, values in zip(calls, given, strict=True):
                self._launch(each.program, each.geometry, values, way=each.way_of(heap, values))
        finally:
            recording.set(around)
        return True

    def record_population_call(self, objects: Any, method: Any, given: tuple[Any, ...]) -> None:
        raise NotImplementedError  # a capture's alone

    def record_call(self, call: Callable[[], Any]) -> None:
        call()

    def _refuse_others(self) -> None:
        if self._now() != self._population:
            raise HeapError(
                "objects were made or deleted, or have moved, since the block of oa.tape() began",
                "do it before the block: a tape goes back through launches of the same objects",
            )

    def read(self, source: FieldView | Array, values: np.ndarray[Any, Any]) -> Traced:
        """The values of a field or an array as they are now, which a loss may be computed of."""
        if not self.is_recording:
            raise ArgumentError(
                "a field or array is combined with numbers of a tape after its block",
                "compute the loss in the block, or take view.numpy() where it is constant",
            )
        if isinstance(source, Array):
            refuse_foreign(source)
        found = Traced.leaf(self, values)
        self._events.append(Read(source, found))
        return found

    @property
    def bytes(self) -> int:
        """What the launches have kept, and copies of what they have left; with checkpoints, a copy
        of what they found."""
        if self._following is not None:
            self._following.launch()
        kept = self._untouched.bytes if self._checkpoints is None else self._checkpoints.bytes
        launches = (e for e in self._events if e is not None and not isinstance(e, Read))
        return kept + sum(each.bytes for each in launches)

    @property
    def state_bytes(self) -> int:
        """Of one of the states of checkpoints: all memory that launches write to."""
        return 0 if self._checkpoints is None else self._checkpoints.state_bytes

    def explain(self) -> str:
        """What launches keep for their way back and what that loads again, a line for each program
        that has one; and the places where which way a thread goes depends on floats with adjoints,
        whose derivative is that of the way that was taken."""
        known = self._gradients if self._checkpoints is None else self._checkpoints.gradients
        lines = [line for name, each in sorted(known.items()) for line in each.explain(name)]
        return "\n".join(lines) or "no launch has a way back"

    # ---------------------------------------------------------------- backwards

    def backward(self, loss: Any, gradient: Any = None) -> None:
        """Add to all adjoints those of ``loss``: what was computed in the block of fields and
        arrays, or an array of one element. Of several numbers ``gradient`` has theirs.

        Raises ArgumentError for what does not come from this tape, HeapError if objects were
        deleted or have moved since. Where memory is put back meanwhile, other threads that use the
        heap get a HeapError.
        """
        taker = recorder()
        if self.is_recording or (taker is not None and taker.executes):
            raise HeapError("tape.backward() inside the block of a tape", "call it after the block")
        if self.is_disturbed and (self._checkpoints is not None or self._untouched.leaves):
            raise HeapError(
                "another thread or task of Python launched within the block of oa.tape(), or "
                "changed memory, of which the tape has no record",
                "let it do so before or after the block; without checkpoints also within, if it "
                "has used the heap before, as launches then keep what they load",
            )
        now, then = self._now(), self._population
        if now[1:] != then[1:]:
            raise HeapError(
                "objects were deleted or have moved since the tape was recorded",
                "call tape.backward before, or record it again",
            )
        if self._checkpoints is not None and now != then:
            raise HeapError(
                "objects were made since the tape was recorded, whose checkpoints launch again",
                "call tape.backward before, or record it again",
            )
        heap, adjoints = self.heap, adjoints_of(self.heap)
        if self._following is None:
            heap.synchronize()
        else:  # the device need not stand still until the way back comes
            heap.launch_deferred()
            adjoints.begin_early()
        seeds = self._seeds(loss, gradient)
        with adjoints.from_zero():  # what there is, of other tapes, too, is no seed of this one
            if isinstance(loss, Array) and loss.dtype.kind == "f":
                seeds[None] = np.ascontiguousarray(seeds[None], loss.dtype)
                if not adjoints.begin_with(loss, seeds[None]):
                    add_to_adjoints(loss, seeds[None])
            elif isinstance(loss, (Array, FieldView)):
                add_to_adjoints(loss, seeds[None])
            if not self._goes_back_as_one(seeds, adjoints.distance):
                heap.synchronize()
                puts_back = self._checkpoints is not None or self._untouched.puts_back
                go_back = partial(self._untouched.as_it_was, partial(self._go_back, seeds))
                alone(heap, go_back) if puts_back else go_back()
            heap.synchronize()

    def _goes_back_as_one(self, seeds: dict[Any, np.ndarray[Any, Any]], distance: int) -> bool:
        """Go back as the block before did, whose course this one has followed; False if that cannot
        be."""
        following = self._following
        if following is None:
            return False
        launched: list[TapedLaunch | Saved | LegEvents] = []
        reads: list[Read] = []
        for event in self._events:
            if not isinstance(event, Read):
                assert event is not None
                launched.append(event)
                if reads:  # between launches
                    return False
            elif event.values in seeds:
                reads.append(event)
        back = following.way_back(launched, self._untouched, distance, is_whole=not reads)
        if back is None:
            return False
        if not reads:
            # Nobody comes between its copies: what others do is before it or after it.
            back.run_on(self.heap, launched, distance)
            return True

        def from_reads() -> None:
            for each in reversed(reads):
                self.heap.synchronize()
                add_to_adjoints(each.source, seeds[each.values])
            back.run_on(self.heap, launched, distance)

        go_back = partial(self._untouched.as_it_was, from_reads)
        alone(self.heap, go_back) if self._untouched.puts_back else go_back()
        return True

    def _go_back(self, seeds: dict[Any, np.ndarray[Any, Any]]) -> None:
        """Go back event by event."""
        heap, adjoints = self.heap, adjoints_of(self.heap)
        with closing(self._backwards()) as events:
            distance = adjoints.distance
            for event in events:
                if isinstance(event, Saved):
                    event.put_back()
                elif not isinstance(event, Read):
                    if self._checkpoints is not None:  # what was launched again may have made room
                        distance = adjoints.distance
                    event.reverse(distance)
                elif event.values in seeds:
                    heap.synchronize()
                    add_to_adjoints(event.source, seeds[event.values])
                del event  # with its tape, before the next launch is recorded

    def _backwards(self) -> Generator[TapedLaunch | Read | Saved]:
        """What has happened, newest first."""
        events = self._one_by_one()
        if self._checkpoints is None:
            yield from (each for each in reversed(events) if each is not None)
            return
        with closing(self._checkpoints.reversed()) as launches:
            for each in reversed(events):
                event = next(launches) if each is None else each
                if event is not None:
                    yield event
                del event

    def _one_by_one(self) -> list[TapedLaunch | Read | Saved | None]:
        """What has happened, launch by launch."""
        self._events[:] = found = one_by_one(self._events)
        return found

    def _seeds(self, loss: Any, gradient: Any) -> dict[Any, np.ndarray[Any, Any]]:
        if isinstance(loss, Traced):
            if loss.tape is not self:
                raise ArgumentError(
                    "the loss was computed in the block of another tape", "pass it to that one"
                )
            return loss.leaf_adjoints(gradient_of_loss(loss.shape, gradient))
        if isinstance(loss, (Array, FieldView)):
            self._refuse_elsewhere(loss)
            return {None: gradient_of_loss(loss.shape, gradient)}
        raise ArgumentError(
            f"tape.backward takes what was computed in the block, not {type(loss).__name__}",
            "compute the loss within the block of the tape, or let a kernel store it in an array "
            "of one element and pass that",
        )

    def _refuse_elsewhere(self, loss: Array | FieldView) -> None:
        """Raise ArgumentError for what has no adjoints, or none beside this heap's memory."""
        if loss.dtype.kind != "f":
            raise ArgumentError(
                f"the loss is {loss._description()}, whose elements are no floats",
                "pass floats that the launches of the block have stored",
            )
        if loss._heap is not self.heap:
            raise ArgumentError(
                "the loss lies on another heap than that of the tape",
                "pass what the launches of the block have stored",
            )
        if isinstance(loss, Array):
            refuse_foreign(loss)

    def zero(self) -> None:
        """Make all adjoints of the heap zero."""
        adjoints_of(self.heap).zero()
        remind(self.heap)


class _Call:
    """A launch of a call of all objects of a class: its arguments, but for the method's."""

    def __init__(self, planned: PlannedLaunch, heap: Heap) -> None:
        self.program, self.geometry = planned.program, geometry_of(planned.threads)
        self.first = (*planned.arrays(heap), *planned.first_threads)
        self._way: tuple[int, Way] | None = None

    def way_of(self, heap: Heap, arguments: tuple[Any, ...]) -> Way:
        """How it is recorded, by what the program means now."""
        from .gradients import way_of

        known = self._way
        rest = arguments[len(self.first) :]
        if (
            known is not None
            and known[0] == World.epoch
            and all(e.__class__ is float for e in rest)
        ):
            return known[1]
        found = way_of(self.program, heap, self.geometry, arguments, None, loads_again=True)
        self._way = World.epoch, found
        return found


def tape(*, checkpoints: int | None = None) -> Tape:
    """A context manager that records the launches of its block on the current heap, and
    ``tape.backward(loss)``, which gives the adjoints of all fields and arrays of floats.

    ``checkpoints``: launches keep nothing; at most so many states of the memory that they change
    are kept on the way back, on which they are launched again in between (Griewank and Walther,
    ACM TOMS 26(1), 2000). One more copy is made of what is there then.

    Raises HeapError for a heap whose objects have none, ArgumentError for less than one state, and
    from the block for what cannot be reversed.
    """
    return Tape(current_heap(), checkpoints)


def grad(of: Any) -> Any:
    """The adjoints of an ``oa.Array``, as a NumPy array that is a copy; of objects or of one
    object, what has those of each field: ``oa.grad(node).pos``.

    Raises ArgumentError for anything else.
    """
    if isinstance(of, ManyObjects):
        return AdjointFields(of)
    if isinstance(of, Array):
        of._heap.wait()
        return adjoints_of(of._heap).of_array(of).copy()
    if isinstance(of, Object):
        return AdjointFields(of._heap.array(type(of), [of]))
    raise ArgumentError(
        f"oa.grad takes arrays and objects, not {type(of).__name__}", "pass an oa.Array"
    )
