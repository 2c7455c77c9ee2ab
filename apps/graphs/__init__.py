"""GraphChi's programs on objects: breadth-first levels, connected components, PageRank, and more.

Each program is a module with a function ``run``: ``ve.bfs``, ``ve.cc`` and ``ve.pagerank`` with
virtual edges, the same in ``ven`` with virtual edges and vertices, and those of ``natural``.
"""
