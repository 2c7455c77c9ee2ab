import threading

import numpy as np

import sharedoa as oa

from .shapes import Circle, Square


def test_allocation_from_many_threads(heap):
    made = []

    def work(number):
        python_class = (Circle, Square)[number % 2]
        mine = [heap.new(python_class, 5, number=number) for _ in range(20)]
        heap.delete(mine[3])
        heap.zeros(100, oa.f32)
        made.append(np.concatenate([a.references() for i, a in enumerate(mine) if i != 3]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    references = np.concatenate(made)
    assert len(np.unique(references)) == len(references) == 8 * 19 * 5
    assert len(heap.all(Circle)) == len(heap.all(Square)) == 380
    counts = np.bincount(np.concatenate([heap.all(c).number.numpy() for c in (Circle, Square)]))
    assert counts.tolist() == [95] * 8
