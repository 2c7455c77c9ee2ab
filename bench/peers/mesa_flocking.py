"""``apps/flocking`` as one writes it with Mesa 3: the same birds and rules. Its space compares each
bird with all others, in NumPy; there is no grid of cells for positions."""

from __future__ import annotations

import math

import numpy as np
from mesa import Model
from mesa.experimental.continuous_space import ContinuousSpace, ContinuousSpaceAgent

SIGHT, TOO_NEAR = 5.0, 1.0
COHESION, ALIGNMENT, SEPARATION = 0.03, 0.05, 0.015


class Bird(ContinuousSpaceAgent):
    def __init__(self, model, space, position, velocity):
        super().__init__(space, model)
        self.position = position
        self.velocity = velocity
        self.turned = velocity
        self.seen = 0

    def turn(self):
        others, distances = self.get_neighbors_in_radius(SIGHT)
        velocity = self.velocity
        self.seen = len(others)
        if others:
            offsets = self.space.calculate_difference_vector(self.position, others)
            crowd = offsets[distances < TOO_NEAR].sum(axis=0)
            flight = np.array([other.velocity for other in others]).sum(axis=0)
            wish = offsets.sum(axis=0) * COHESION - crowd * SEPARATION + flight * ALIGNMENT
            velocity = velocity + wish / len(others)
        self.turned = velocity / math.hypot(*velocity)

    def fly(self):
        self.velocity = self.turned
        self.position = self.position + self.turned


class Simulation(Model):
    """``agents`` birds, with an area of 50 each."""

    def __init__(self, agents, seed):
        super().__init__(seed=seed)
        side = math.sqrt(50 * agents)
        self.space = ContinuousSpace(
            [[0, side], [0, side]], torus=True, random=self.random, n_agents=agents
        )
        positions = self.rng.random((agents, 2)) * side
        velocities = self.rng.uniform(-1, 1, (agents, 2))
        Bird.create_agents(self, agents, self.space, positions, velocities)

    def step(self):
        self.agents.do("turn")
        self.agents.do("fly")

    def counts(self):
        """As the program's."""
        mean = np.mean([bird.velocity for bird in self.agents], axis=0)
        return {
            "birds": len(self.agents),
            "in sight": sum(bird.seen for bird in self.agents),
            "order in millionths": round(math.hypot(*mean) * 10**6),
        }
