"""Launches that become one: ``legality`` says which may, ``grouping`` which do, ``program`` and
``runtime.chained_methods`` what runs then, ``trial`` whether it pays, ``block`` is ``oa.fuse()``.
"""
