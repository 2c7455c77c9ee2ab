"""NVIDIA's CUPTI by its activity records: the library, buffers for records, times of kernels.
Why not by cupti-python: docs/releasing.md."""
