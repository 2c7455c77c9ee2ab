"""Which line of the user's source each instruction comes from, as LLVM's debug information.

Of it LLVM makes the line tables of object files, which debuggers of processors read, and the
directives ``.file`` and ``.loc`` of PTX, which NVIDIA's profilers and checkers show. There are no
types and no variables in it. It changes no instruction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..location import Location
from .types import I32

_VERSIONS = (2, "Debug Info Version", 3), (7, "Dwarf Version", 4)
"""How LLVM merges each when modules are linked, its name and value."""


class LineTable:
    """The places of one module."""

    def __init__(self, module: ir.Module, is_device: bool, file: str) -> None:
        """``file`` is the one that the module is mainly made from."""
        self._module = module
        self._files: dict[str, ir.DIValue] = {}
        self._locations: dict[tuple[int, str, int, int], ir.DIValue] = {}
        self._file_of: dict[int, str] = {}
        # PTX with more than directives is code for a debugger, which ptxas does not optimise.
        kind = "DebugDirectivesOnly" if is_device else "LineTablesOnly"
        self._type = self._node("DISubroutineType", types=module.add_metadata([None]))
        self._unit = self._node(
            "DICompileUnit",
            language=ir.DIToken("DW_LANG_Python"),
            file=self._file(file),
            producer="sharedoa",
            isOptimized=True,
            runtimeVersion=0,
            emissionKind=ir.DIToken(kind),
        )
        module.add_named_metadata("llvm.dbg.cu", self._unit)
        for behaviour, name, version in _VERSIONS:
            flag = module.add_metadata([I32(behaviour), name, I32(version)])
            module.add_named_metadata("llvm.module.flags", flag)

    def subprogram(self, name: str, location: Location) -> ir.DIValue:
        """A function of the user's that begins at ``location``; another one at each call."""
        file = self._file(location.file)
        made = self._node(
            "DISubprogram",
            name=name,
            scope=file,
            file=file,
            line=location.line,
            scopeLine=location.line,
            type=self._type,
            unit=self._unit,
            spFlags=ir.DIToken("DISPFlagLocalToUnit | DISPFlagDefinition"),
        )
        self._file_of[id(made)] = location.file
        return made

    def location(self, subprogram: ir.DIValue, location: Location) -> ir.DIValue:
        """A place in ``subprogram``, which may hold code of other files."""
        key = id(subprogram), location.file, location.line, location.column
        found = self._locations.get(key)
        if found is None:
            scope = subprogram
            if location.file != self._file_of[id(subprogram)]:
                file = self._file(location.file)
                given = {"scope": subprogram, "file": file, "discriminator": 0}
                scope = self._module.add_debug_info("DILexicalBlockFile", given)
            given = {"line": location.line, "column": location.column + 1, "scope": scope}
            found = self._locations[key] = self._module.add_debug_info("DILocation", given)
        return found

    def describe(self, entry: ir.Function, name: str, location: Location) -> None:
        """Of a function that a target wrote: all that it does is done at ``location``."""
        subprogram = self.subprogram(name, location)
        entry.set_metadata("dbg", subprogram)
        at = self.location(subprogram, location)
        for block in entry.blocks:
            for instruction in block.instructions:
                instruction.set_metadata("dbg", at)

    def _file(self, name: str) -> ir.DIValue:
        found = self._files.get(name)
        if found is None:
            given = {"filename": name, "directory": ""}
            found = self._files[name] = self._module.add_debug_info("DIFile", given)
        return found

    def _node(self, kind: str, **operands: Any) -> ir.DIValue:
        """One of its own: llvmlite would give the same one for the same operands."""
        number = str(len(self._module.metadata))
        return ir.DIValue(self._module, True, kind, tuple(operands.items()), number)
