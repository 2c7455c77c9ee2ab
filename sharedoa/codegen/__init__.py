"""Optimised program to LLVM IR."""

from .abi import Leaf, leaves
from .lower import LoweredModule, lower

__all__ = ["Leaf", "LoweredModule", "leaves", "lower"]
