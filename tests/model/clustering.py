"""Any clusters that a layout allows, for hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from sharedoa.model.classes import ClassType
from sharedoa.model.clusters import Clusters
from sharedoa.model.layout import Layout


@st.composite
def clusters(
    draw: Callable[[st.SearchStrategy], int], layout: Layout, classes: Sequence[ClassType]
) -> Clusters:
    """Of some fields of ``classes``."""
    found = Clusters()
    for cls in classes:
        names, groups, first = list(cls.own_fields), [], 0
        while first < len(names):
            count = draw(st.integers(1, len(names) - first))
            group = tuple(names[first : first + count])
            if draw(st.booleans()) and layout.can_cluster(cls, group):
                groups.append(group)
            first += count
        found = found.replace(cls, groups)
    return found
