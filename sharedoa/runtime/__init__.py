"""Kernel objects, argument packing, launches, the code cache and the configuration."""
