"""Faults in what the front end remembers of the world."""

from .mutation import Mutation

_DEPENDENCIES = "sharedoa/frontend/dependencies.py"

MUTATIONS = (
    # ------------------------------------------------------------ dependencies
    Mutation(
        "methods that are overridden later", _DEPENDENCIES,
        "        return self == ResolutionDependency.of(self.cls, self.name)",
        "        return True",
        "a subclass that is defined later is called by the old code",
        ("tests/frontend/test_dependencies.py",),
    ),
    Mutation(
        "subclasses that are defined later", _DEPENDENCIES,
        "        return tuple(self.cls.concrete()) == self.concrete", "        return True",
        "isinstance does not know them", ("tests/frontend/test_dependencies.py",),
    ),
    Mutation(
        "equal constants of another type", _DEPENDENCIES,
        "        return type(now) is type(self.value) and isinstance(now, plain) and repr(now)",
        "        return isinstance(now, plain) and str(now == self.value and self.text)",
        "1, True and 1.0, or 0.0 and -0.0, are taken for the same",
        ("tests/runtime/test_constants.py",),
    ),
)  # fmt: skip
