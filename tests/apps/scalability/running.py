"""The microbenchmark as the registry names it."""

from __future__ import annotations

from apps.registry import AppInfo

SCALABILITY = AppInfo(
    name="scalability",
    title="one virtual call a thread on objects of several classes, beside a mere branch",
    module="apps.scalability",
    unit="objects",
    size=1 << 20,
    steps=10,
    seed=1,
    paper_size=32 << 20,
    paper_steps=1,
)
