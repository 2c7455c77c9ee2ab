"""Benchmarks: each measures one claim and records raw samples with the device and versions.

They never assert times. Each module's docstring says what was expected before it ran.
"""
