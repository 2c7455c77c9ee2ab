"""The ray tracer as one would write it with classes: shapes that know where a ray meets them,
materials that know how light leaves them, and scenes that are read from files."""
