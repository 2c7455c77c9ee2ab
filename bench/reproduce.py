"""The paper's evaluation: its eleven workloads in its five modes and in ours.

"Judging a Type by Its Pointer", figures 6 and 10 and table 2, and the natural ports mode by mode
(figure 12 is ``virtual_call``). Faithful ports at the artifact's sizes. All of it takes longer than
an hour where objects are placed one by one: ``python -m bench.reproduction measure`` runs a part,
``python -m bench.reproduction merge`` puts records together.

``SHAREDOA_DATA`` is the folder of the paper's inputs: the board of GOL and the graph. Without it
they run on generated ones of about the same size.

Expected before running, on an H200, where the second-level cache holds most of these heaps:
typepointer and sharedoa within 10 % of each other (the artifact: geometric mean 1.025), coal
behind sharedoa (0.859) where calls are many and fields few; cuda 0.6 to 0.8; range+switch and
bits+switch ahead of every mode of the paper, as bodies are inlined: 1.2 to 2 times sharedoa.
Events, which time all benchmarks of one process, add about 3 us to each launch, which hides
differences where kernels are short (traffic); ``measure`` takes the kernels' own times by CUPTI.
"""

from __future__ import annotations

from bench.harness import Options, Result, main, show
from bench.reproduction.measure import Selection, measure
from bench.reproduction.records import Record
from bench.reproduction.tables import tables


def run(options: Options) -> Result:
    """All workloads in every mode, the sweep of region sizes, and the natural ports."""
    result = measure(options, Selection())
    head = {"settings": result.settings, "machine": {"backend": result.backend}}
    for table in tables(Record(head, result.rows)):
        show(table.title, table.headings, table.rows)
    return result


if __name__ == "__main__":
    main(run, __doc__)
