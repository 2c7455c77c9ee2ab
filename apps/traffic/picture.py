"""Pictures of a network with its vehicles (Pillow).

Roads are thin lines coloured by their limit, vehicles are marks coloured by their speed and shaped
by their kind. Traffic keeps to the right, so that the two directions of a street lie side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.colours import BACKGROUND
from .legend import draw_legend
from .mix import BUS, CAR, TRUCK
from .network import SLOWEST, Network
from .palette import GREEN_LIGHT, RED_LIGHT, limit_colours, speed_colours
from .snapshot import Snapshot

#: Pixels of the longer side of the map, of its margin, and of the legend below it.
PICTURE_SIDE, FILM_SIDE = 1600, 720
#: Drawn larger by this factor and scaled down, which smooths all edges.
SMOOTHING = 2
#: Networks with more lights than this are drawn without them: they would hide the roads.
MOST_LIGHTS = 300

Array = np.ndarray[Any, Any]


class Picture:
    """Draws snapshots of one network; the roads are drawn once."""

    def __init__(self, network: Network, title: str, side: int = PICTURE_SIDE) -> None:
        from PIL import Image, ImageDraw

        self._network, self._title = network, title
        self._side = side * SMOOTHING
        graph = network.graph
        low = np.array([graph.x.min(), graph.y.min()])
        extent = np.array([graph.x.max(), graph.y.max()]) - low
        self._margin = self._side // 40
        self._scale = (self._side - 2 * self._margin) / max(float(extent.max()), 1e-6)
        self._low = low
        size = np.ceil(extent * self._scale).astype(int) + 2 * self._margin
        self._width, self._map_height = self._side, int(max(size[1], self._side // 3))
        self._left = (self._width - int(size[0])) // 2 + self._margin
        self._road_of = np.repeat(
            np.arange(len(graph.origin)), network.last_cell - network.first_cell + 1
        )
        self._lane = self._lane_offsets()
        legend = self._side // 10
        self._base = Image.new("RGB", (self._width, self._map_height + legend), BACKGROUND)
        self._draw_roads(ImageDraw.Draw(self._base))

    def frame(self, snapshot: Snapshot) -> Any:
        """The image at one moment, as a ``PIL.Image``."""
        from PIL import Image, ImageDraw

        image = self._base.copy()
        draw = ImageDraw.Draw(image)
        if self._network.lights <= MOST_LIGHTS:
            self._draw_lights(draw, snapshot)
        self._draw_vehicles(draw, snapshot)
        draw_legend(draw, self._title, snapshot, (0, self._map_height), self._side)
        size = (image.width // SMOOTHING, image.height // SMOOTHING)
        return image.resize(size, Image.Resampling.BOX)

    def _place(self, x: Array, y: Array) -> Array:
        """Pixels of positions in the unit square, of shape (n, 2); y grows upwards."""
        across = (x - self._low[0]) * self._scale + self._left
        up = (y - self._low[1]) * self._scale + self._margin
        return np.stack([across, self._map_height - up], axis=1)

    def _lane_offsets(self) -> Array:
        """How far each road is drawn to the right of the line between its ends, in pixels."""
        graph = self._network.graph
        dx = graph.x[graph.target] - graph.x[graph.origin]
        dy = graph.y[graph.target] - graph.y[graph.origin]
        length = np.maximum(np.hypot(dx, dy), 1e-9)
        width = self._side / 1600
        # To the right of the direction of travel, with y pointing down on the image.
        return np.stack([dy / length, dx / length], axis=1) * width

    def _draw_roads(self, draw: Any) -> None:
        graph, network = self._network.graph, self._network
        starts = self._place(graph.x[graph.origin], graph.y[graph.origin]) + self._lane
        ends = self._place(graph.x[graph.target], graph.y[graph.target]) + self._lane
        limits = network.max_velocity[network.first_cell]
        colours = limit_colours()
        width = max(1, self._side // 1600)
        for start, end, limit in zip(starts.tolist(), ends.tolist(), limits, strict=True):
            draw.line([*start, *end], fill=colours[limit - SLOWEST], width=width)

    def _cell_places(self, cells: Array) -> Array:
        network = self._network
        road = self._road_of[cells]
        return self._place(network.x[cells], network.y[cells]) + self._lane[road]

    def _mark_radius(self) -> float:
        """Half the distance of two cells, within what the eye can tell apart."""
        graph = self._network.graph
        dx = graph.x[graph.target] - graph.x[graph.origin]
        dy = graph.y[graph.target] - graph.y[graph.origin]
        spacing = np.median(np.hypot(dx, dy) / np.maximum(graph.steps, 1)) * self._scale
        unit = self._side / 1600
        return float(np.clip(spacing / 2, 1.5 * unit, 4 * unit))

    def _draw_lights(self, draw: Any, snapshot: Snapshot) -> None:
        stops = np.flatnonzero(self._network.is_stop)
        radius = self._mark_radius() * 0.8
        places = self._cell_places(stops).tolist()
        for (x, y), limit in zip(places, snapshot.limit[stops], strict=True):
            box = [x - radius, y - radius, x + radius, y + radius]
            draw.rectangle(box, fill=GREEN_LIGHT if limit else RED_LIGHT)

    def _draw_vehicles(self, draw: Any, snapshot: Snapshot) -> None:
        colours = speed_colours()
        radius = self._mark_radius()
        places = self._cell_places(snapshot.cell)
        for kind in (CAR, TRUCK, BUS):
            chosen = snapshot.kind == kind
            rows = zip(places[chosen].tolist(), snapshot.velocity[chosen].tolist(), strict=True)
            for place, velocity in rows:
                draw_mark(draw, kind, place, radius, colours[velocity])


def draw_mark(draw: Any, kind: int, place: list[float], radius: float, colour: str) -> None:
    """A car is a disc, a truck a larger square, a bus a diamond with a light edge."""
    x, y = place
    if kind == CAR:
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)
    elif kind == TRUCK:
        half = radius * 1.25
        draw.rectangle([x - half, y - half, x + half, y + half], fill=colour, outline="#0b0e14")
    else:
        half = radius * 1.9
        corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
        draw.polygon(corners, fill=colour, outline="#ffffff")
