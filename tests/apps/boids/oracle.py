"""Boids in NumPy on f32, every bird compared with every other one; written from the rules alone, it
shares nothing with the program and is equal to it to the last bit."""

from __future__ import annotations

import numpy as np

from ..space import Array, Cells, F, length, numbered, share


class Flock:
    def __init__(self, count: int, sight: float, seed: int) -> None:
        places, velocities = [], []
        for bird in range(count):
            numbers = [share(bird, purpose, seed) for purpose in range(7)]
            direction = np.array(numbers[3:6]) * F(2) - F(1)
            speed = F(0.1) + numbers[6] * F(0.9)
            places.append(np.array(numbers[:3]))
            velocities.append(direction * (speed / length(direction)))
        self.places = np.array(numbered(places, sight))
        self.velocities = np.array(velocities)
        self.cells = Cells(1, sight)
        self.in_sight = 0

    def step(self) -> None:
        near = self.cells.near(self.places)
        self.in_sight = sum(map(len, near)) - len(near)
        self.velocities = np.array([self.turned(k, others) for k, others in enumerate(near)])
        self.places = np.clip(self.places + self.velocities * F(0.0005), F(0), F(1))

    def turned(self, bird: int, near: list[int]) -> Array:
        place, velocity = self.places[bird], self.velocities[bird]
        middle, flight, wish = np.zeros((3, 3), F)
        for other in near:
            if other == bird:
                continue
            middle = middle + self.places[other]
            flight = flight + self.velocities[other]
            apart = length(place - self.places[other])
            if apart < F(0.01):
                missing = F(1) - apart / F(0.01)
                wish = wish + (place - self.places[other]) * (F(10) * missing * missing)
        if len(near) > 1:
            part = F(1) / F(len(near) - 1)
            wish = wish + (middle * part - place) * F(0.055)
            wish = wish + (flight * (part * F(0.015)) - velocity)
        velocity = velocity + wish * F(0.15)
        speed = length(velocity)
        if speed > 1 or 0 < speed < F(0.5):
            velocity = velocity * (F(1 if speed > 1 else 0.5) / speed)
        low, high = place < F(0.1), F(1) - place < F(0.1)
        return velocity + (np.where(low, F(0.05), F(0)) - np.where(high, F(0.05), F(0)))
