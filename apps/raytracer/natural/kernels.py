"""One path of light through each pixel, followed from the camera backwards."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32, u64

from ...common.space import Vec3
from ..rays import Camera, Ray
from .sampling import numbers_of_path
from .shapes import FAR, Shape


@oa.value
class Sky:
    """The light that comes from where nothing is, blended from the horizon to the zenith."""

    horizon: Vec3
    zenith: Vec3

    def light(self, direction: Vec3) -> Vec3:
        share = 0.5 * (direction.y + 1.0)
        return self.horizon * (1.0 - share) + self.zenith * share


@oa.kernel
def add_path(
    shapes: oa.Array[Shape],
    camera: Camera,
    sky: Sky,
    surfaces: i32,
    seed: u64,
    path: i32,
    light: oa.Array[Vec3],
    rays: oa.Array[i32],
) -> None:
    """A thread for each pixel, row 0 at the bottom: adds the light of the path with that number to
    ``light``, and the number of rays that it consists of to ``rays``. A path that meets more than
    ``surfaces`` surfaces brings no light."""
    x, y = oa.grid(2)
    width, height = oa.gridsize(2)
    pixel = y * width + x
    numbers = numbers_of_path(seed, pixel, path)
    ray = camera.ray(
        f32(x) + numbers.number(0) - f32(width) * 0.5,
        f32(y) + numbers.number(1) - f32(height) * 0.5,
    )
    share = Vec3(1.0, 1.0, 1.0)
    for _ in range(surfaces + 1):
        rays[pixel] += 1
        nearest = FAR
        seen = None
        for j in range(len(shapes)):
            distance = shapes[j].hit(ray)
            if distance < nearest:
                nearest = distance
                seen = shapes[j]
        if seen is None:
            light[pixel] = light[pixel] + share.times(sky.light(ray.direction))
            break
        point = ray.at(nearest)
        numbers = numbers.for_next_surface()
        scattered = seen.material.scatter(ray.direction, point, seen.normal(point), numbers)
        share = share.times(scattered.share)
        if share.x + share.y + share.z == 0.0:
            break
        ray = Ray(point, scattered.direction)
