"""How the programs of each tool are compiled, launched and timed: a module a tool.

``missing(backend)`` says why a tool cannot be measured here, or nothing; ``measure(case, backend,
repeat)`` gives its times in every variant; ``begin(cases)``, where there is one, is called once
before.
"""
