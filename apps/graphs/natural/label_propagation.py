"""Communities by label propagation: everybody takes the label that most of the neighbours have.
Directions, loops and repeated edges do not count."""

from __future__ import annotations

from typing import Any

import numpy as np

import sharedoa as oa
from sharedoa import i32

from ...common.graph import Graph
from ...interface import RunOptions, RunResult
from ..program import run_workload
from ..results import community_counts, component_bars
from .classes import Edge, Sender
from .reference import Labels
from .simulation import SEND, UPDATE, NaturalWorkload, senders


@oa.func
def sink(heap: oa.Array[i32], place: i32, count: i32) -> None:
    """Let a number sink below the larger ones, in a heap of the first ``count``."""
    value = heap[place]
    child = 2 * place + 1
    while child < count:
        if child + 1 < count and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = value


@oa.func
def sort(values: oa.Array[i32]) -> None:
    """In place, and with many neighbours, too, in n log n steps: heapsort."""
    count = i32(len(values))
    for k in range(count // 2):
        sink(values, count // 2 - 1 - k, count)
    for k in range(count - 1):
        last = count - 1 - k
        largest = values[0]
        values[0] = values[last]
        values[last] = largest
        sink(values, 0, last)


@oa.func
def most_frequent(values: oa.Array[i32]) -> i32:
    """The lowest of those that occur most often, of sorted ones."""
    best = values[0]
    most = 0
    first = 0
    for k in range(1, len(values) + 1):
        if k == len(values) or values[k] != values[first]:
            if k - first > most:
                most = k - first
                best = values[first]
            first = k
    return best


class Letter(Edge):
    """Brings its source's label, which stays until another one comes."""

    label: i32

    def carry(self, message: i32) -> None:
        self.label = message
        self.target.receive(message)


class Neighbour(Sender, unordered=("has_mail",)):
    """``value`` is its label, ``mail`` what neighbours have sent, one letter each; ``votes`` has
    room for their labels. All who send write the same to ``has_mail``."""

    mail: oa.Array[Letter]
    votes: oa.Array[i32]
    has_mail: bool

    def receive(self, message: i32) -> None:
        self.has_mail = True

    def update(self) -> None:
        label = self.value
        if self.has_mail:
            mail = self.mail
            votes = self.votes
            for k in range(len(mail)):
                votes[k] = mail[k].label
            sort(votes)
            label = most_frequent(votes)
        self.has_mail = False
        self.has_changed = label != self.value
        self.value = label


def _make(heap: Any, graph: Graph) -> Any:
    """Everybody's label is its number, which all neighbours have heard of."""
    letters = heap.new(Letter, graph.edges, label=graph.source)
    degree = graph.in_degree()
    return senders(
        heap,
        graph,
        Neighbour,
        letters,
        value=np.arange(graph.vertices, dtype=np.int32),
        mail=oa.split(letters[graph.by_target()], degree),
        votes=oa.split(heap.zeros(graph.edges, i32), degree),
        has_mail=degree > 0,
    )


LABEL_PROPAGATION = NaturalWorkload(
    title="Label propagation",
    make=_make,
    phases=(UPDATE, SEND),
    ends=False,
    reference=Labels,
    counts=community_counts,
    bars_title="communities by number of vertices",
    bars=component_bars,
    is_simple=True,
)


def run(options: RunOptions) -> RunResult:
    """Run ``steps`` sweeps: labels need not settle, as two neighbours may swap theirs forever."""
    return run_workload(LABEL_PROPAGATION, options)
