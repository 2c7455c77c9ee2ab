"""Models that workers import by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import sharedoa as oa
from sharedoa import f32
from sharedoa.cores import worker_count


class Car(oa.Object):
    speed: f32

    def step(self, dawdle: f32) -> None:
        self.speed += 1.0 - dawdle


def cars(count: int, dawdle: float, seed: int) -> dict[str, Any]:
    oa.new(Car, count, speed=seed % 5)
    for _ in range(3):
        oa.all(Car).step(dawdle)
    speeds = oa.all(Car).speed.numpy()
    mine = {"place": where(), "cores": worker_count()}
    return {"cars": len(speeds), "speed": float(speeds.sum()), **mine}


def where() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "") or str(sorted(os.sched_getaffinity(0)))


def place(a: int) -> dict[str, Any]:
    return {"pid": os.getpid(), "place": where()}


def noted(folder: str, a: int, seed: int, lasts: float = 0.0) -> dict[str, Any]:
    """Leaves a line for each call."""
    with (Path(folder) / "calls").open("a") as opened:
        opened.write(f"{a} {seed} {os.getpid()}\n")
    time.sleep(lasts)
    return {"square": a * a}


def deadly(folder: str, a: int, seed: int) -> dict[str, Any]:
    """Run 1 takes its worker along once, run 2 always, run 3 raises."""
    noted(folder, a, seed)
    fell = Path(folder) / f"fell {a}"
    if a == 2 or (a == 1 and not fell.exists()):
        fell.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if a == 3:
        raise ValueError("three is too many")
    return {"square": a * a}
