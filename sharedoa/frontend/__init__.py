"""Python source to typed trees: ``tree`` is what comes out, ``program`` the way there."""

from .program import Translation, kernel_signature, translate_kernel

__all__ = ["Translation", "kernel_signature", "translate_kernel"]
