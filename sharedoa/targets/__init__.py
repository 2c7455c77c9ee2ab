"""Machines that kernels are compiled for: host, nvptx, amdgpu."""
