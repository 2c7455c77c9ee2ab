"""``rewrite``: every virtual call and type test of a module becomes what the mode says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir

from dispatch import check
from dispatch.identify import IDENTIFICATIONS, Identification
from dispatch.invoke import INVOCATIONS
from dispatch.mode import Mode
from dispatch.range_table import NO_TYPE

from .blocks import delete, replace_call, replace_uses
from .emitter import IrEmitter
from .sites import CallSite, Environment, SiteReport, TypeQuery
from .tables import FunctionTables
from .uniformity import uniform_receivers

TYPE_INDEX = "sharedoa_type_index"
_HEADER = "header"


@dataclass(frozen=True)
class _Candidate:
    """A class that a type test may meet."""

    type_index: int
    symbol: str = ""


@dataclass(frozen=True)
class _Decision:
    """What a call becomes. ``identify`` is None for a direct call."""

    identify: str | None
    text: str
    reason: str


def rewrite(
    module: ir.Module,
    sites: Sequence[CallSite],
    queries: Sequence[TypeQuery],
    mode: Mode,
    environment: Environment,
) -> list[SiteReport]:
    """Rewrite ``module`` in place; one report a site, in order.

    With ``environment.populated`` only these classes are candidates. Completes the function tables,
    and defines ``sharedoa_check_reference`` if it is declared. Raises RewriteError if a candidate's
    function or the kernel is missing.
    """
    known = [len(site.candidates) for site in sites]
    populated = environment.populated
    if populated is not None:
        sites = [_narrow(site, populated) for site in sites]
        queries = [
            replace(query, candidates=tuple(c for c in query.candidates if c[0] in populated))
            for query in queries
        ]
    uniform = (
        uniform_receivers(module, sites, queries, environment.kernel)
        if mode.spare_uniform and (sites or queries)
        else frozenset()
    )
    _Rewriter(module, sites, mode, environment, uniform).run(sites, queries)
    return [
        _report(site, mode, environment, site.call in uniform, classes)
        for site, classes in zip(sites, known, strict=True)
    ]


def _narrow(site: CallSite, populated: frozenset[int]) -> CallSite:
    """The site with those of its candidates that have objects."""
    kept = tuple(c for c in site.candidates if c.type_index in populated)
    return replace(site, candidates=kept)


class _Rewriter:
    def __init__(
        self,
        module: ir.Module,
        sites: Sequence[CallSite],
        mode: Mode,
        environment: Environment,
        uniform: frozenset[ir.CallInstr],
    ) -> None:
        self._module = module
        self._mode = mode
        self._environment = environment
        self._uniform = uniform
        self._tables = FunctionTables(module, sites, environment.object_space)
        self._results: dict[ir.Function, dict[Any, Any]] = {}

    def run(self, sites: Sequence[CallSite], queries: Sequence[TypeQuery]) -> None:
        for site in sites:
            self._replace(site, self._emit_call)
            delete(site.chain)
        for query in queries:
            self._replace(query, self._emit_type_index)
        for function, results in self._results.items():
            replace_uses(function, results)
        self._tables.complete()
        self._module.globals.pop(TYPE_INDEX, None)
        if check.CHECK_REFERENCE in self._module.globals:
            check.define_check_reference(
                self._module,
                self._mode.placement,
                self._environment.object_space,
                self._environment.constant_space,
            )

    def _replace(self, site: CallSite | TypeQuery, emit: Any) -> None:
        def emit_at(builder: ir.IRBuilder) -> Any:
            emitter = IrEmitter(builder, site, self._mode, self._environment, self._tables)
            return emitter.finish(emit(emitter, site))

        results = self._results.setdefault(site.call.function, {})
        results[site.call] = replace_call(site.call, emit_at)

    def _emit_call(self, emitter: IrEmitter, site: CallSite) -> Any:
        if not site.candidates:
            return emitter.refuse()
        decision = _decide(site, self._mode, site.call in self._uniform)
        if decision.identify is None:
            if emitter.debug:
                strategy = IDENTIFICATIONS[self._mode.identify]
                type_index = strategy.emit_type_index(emitter, site.receiver, site.candidates)
                emitter.require_type(type_index, site.candidates)
            return emitter.call_directly(site.candidates[0].symbol)
        return INVOCATIONS[self._mode.invoke].emit_call(
            emitter,
            IDENTIFICATIONS[decision.identify],
            site.receiver,
            site.slot,
            site.candidates,
        )

    def _emit_type_index(self, emitter: IrEmitter, query: TypeQuery) -> Any:
        candidates = [_Candidate(type_index) for type_index, _ in query.candidates]
        if self._mode.closed_world and len(candidates) <= 1 and not emitter.debug:
            return query.call.type(candidates[0].type_index if candidates else NO_TYPE)
        return self._identification(query).emit_type_index(emitter, query.receiver, candidates)

    def _identification(self, query: TypeQuery) -> Identification:
        spared = query.call in self._uniform
        return IDENTIFICATIONS[_HEADER if spared else self._mode.identify]


def _decide(site: CallSite, mode: Mode, uniform: bool) -> _Decision:
    classes = len(site.candidates)
    methods = len({candidate.symbol for candidate in site.candidates})
    if not site.candidates:
        return _Decision(None, "none", "no class with objects is known")
    if mode.closed_world and methods == 1:
        symbol = site.candidates[0].symbol
        return _Decision(None, "direct", f"the only possible target is {symbol}")
    counted = f"{classes} class{'es' * (classes > 1)}, {methods} method{'s' * (methods > 1)}"
    if uniform:
        text = f"{_HEADER} + {mode.invoke} (uniform receiver)"
        reason = f"{counted}; one receiver for the whole warp, so one load of its header"
        return _Decision(_HEADER, text, reason)
    text = f"{mode.identify} + {mode.invoke}"
    remark = IDENTIFICATIONS[mode.identify].remark(site.candidates)
    reason = "; ".join(filter(None, [counted, f"mode {mode.name}", remark]))
    return _Decision(mode.identify, text, reason)


def _report(
    site: CallSite, mode: Mode, environment: Environment, uniform: bool, classes: int
) -> SiteReport:
    """``classes``: how many could be met if all had objects."""
    decision = _decide(site, mode, uniform)
    reason = decision.reason
    if decision.identify is not None and not environment.debug:
        types, windows = environment.ranges()
        if windows is not None:
            reason += f"; told by {len(windows.types)} windows of equal size"
        elif types:
            reason += f"; {len(types)} ranges in the code"
    if classes > len(site.candidates):
        reason += f"; {len(site.candidates)} of {classes} classes have objects"
    return SiteReport(
        number=site.number,
        method=site.method,
        static_class=site.static_class,
        location=site.location,
        candidates=tuple(candidate.class_name for candidate in site.candidates),
        uniform=uniform,
        decision=decision.text,
        reason=reason,
    )
