"""Typed tree to LLVM IR, every virtual call in one canonical, annotated form."""

from .abi import Leaf, leaves
from .lower import LoweredModule, lower

__all__ = ["Leaf", "LoweredModule", "leaves", "lower"]
