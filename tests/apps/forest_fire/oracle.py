"""Forest fire in plain Python, written from the rules alone; it shares nothing with the program."""

from __future__ import annotations

from ..philox import philox

NO_TREE, GREEN, BURNING, BURNT = range(4)


class Forest:
    """``states[y][x]`` of each cell."""

    def __init__(self, size: int, density: float, seed: int) -> None:
        self.size = size
        self.states = [[NO_TREE] * size for _ in range(size)]
        for cell in range(size * size):
            y, x = divmod(cell, size)
            if philox([cell, 0, 0, 0], [seed, 0])[0] < round(density * 2**32):
                self.states[y][x] = BURNING if x == 0 else GREEN

    def step(self) -> None:
        before = [list(row) for row in self.states]
        for y in range(self.size):
            for x in range(self.size):
                if before[y][x] == BURNING:
                    self.states[y][x] = BURNT
                elif before[y][x] == GREEN and BURNING in self.beside(before, x, y):
                    self.states[y][x] = BURNING

    def beside(self, states: list[list[int]], x: int, y: int) -> list[int]:
        sides = [(x - 1, y), (x, y - 1), (x + 1, y), (x, y + 1)]
        return [states[b][a] for a, b in sides if 0 <= a < self.size and 0 <= b < self.size]

    def counts(self) -> dict[str, int]:
        cells = [state for row in self.states for state in row]
        names = {"green": GREEN, "burning": BURNING, "burnt": BURNT}
        return {name: cells.count(state) for name, state in names.items()}
