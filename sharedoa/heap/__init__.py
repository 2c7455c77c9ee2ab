"""Where objects and arrays live: memory, regions by type, views of it, files of it."""
