"""A catalogue of faults: what goes wrong in the programs of users, each in a process of its own.

``python -m tests.faults`` runs it; ``catalogue`` says how a case is written.
"""
