"""The ray tracer of the paper's artifact: spheres above a plane, mirror bounces, one light."""
