"""Python source to typed trees: see ``tree`` for what comes out and ``program`` for the way there."""

from .program import Translation, kernel_signature, translate_kernel

__all__ = ["Translation", "kernel_signature", "translate_kernel"]
