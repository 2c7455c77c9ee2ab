"""Arrays whose elements are objects side by side: references are computed instead of loaded.

A parameter of the kernel is such a *run* where the runtime says so: its value then is not where
references lie but what the first object's reference is computed from
(``ReferenceEncoding.origin``), with the number of objects. The arrays that a field holds may be
pieces of one array whose objects are a run (``heap.pieces``): their values are those of any array,
and where one lies in the whole tells where its objects do. What comes out of a run is of a class
that is known, so calls through it have one candidate. Functions that are called with runs, or with
members of a group of neighbours, are copied for what is known of their parameters.

    %p = element %objects, %i; %o = load %p        ->     %o = run_element %objects, %i <form = ...>
    call_virtual %o <candidates = [A, B]>          ->     call_virtual %o <candidates = [A]>
"""

from __future__ import annotations

from collections.abc import Mapping

from dispatch.dataclass import replace

from ...model.run_form import RunForm
from ..core import (
    Function,
    Lane,
    Operation,
    ParameterFact,
    Program,
    Value,
    operations_in,
    unconverted,
)
from ..job import Job
from ..rewrite import copy_function

Known = Mapping[int, ParameterFact]


def use_runs(program: Program, job: Job) -> None:
    numbers = range(len(program.kernel.parameters))
    runs = {number: form for number in numbers if (form := job.facts.run(number)) is not None}
    copies = _Copies(program, job)
    program.kernel.known = runs
    copies.pending.append(program.kernel)
    while copies.pending:
        copies.rewrite(copies.pending.pop())


class _Copies:
    def __init__(self, program: Program, job: Job) -> None:
        self._program, self._job = program, job
        self._made: dict[tuple[str, tuple[tuple[int, ParameterFact], ...]], str] = {}
        #: What functions are copied from: code that was not looked at yet.
        self._originals = {
            symbol: copy_function(function, symbol)
            for symbol, function in program.functions.items()
            if function is not program.kernel
        }
        self.pending: list[Function] = []

    def rewrite(self, function: Function) -> None:
        forms = {
            function.parameters[number]: form
            for number, form in function.known.items()
            if isinstance(form, RunForm)
        }
        for operation in operations_in(function):
            if operation.kind == "load":
                self._load(operation, forms)
            elif operation.kind == "call":
                self._call(operation, forms, function)
            elif operation.kind == "call_virtual":
                self._call_virtual(operation)

    def _form(self, array: Value, forms: Mapping[Value, RunForm]) -> RunForm | None:
        """What is known of the objects of an array if it is a run, or a piece of one."""
        found = forms.get(array)
        if found is not None or array.source is None or array.source.kind != "load":
            return found
        field = array.source.operands[0].source
        if field is None or field.kind != "field":
            return None
        return self._job.facts.pieces(field["owner"], field["name"])

    def _load(self, load: Operation, forms: Mapping[Value, RunForm]) -> None:
        element = load.operands[0].source
        if element is None or element.kind != "element":
            return
        form = self._form(element.operands[0], forms)
        if form is None:
            return
        load.kind, load.operands = "run_element", [*element.operands]
        load.attributes = {"form": form, "may_be_negative": element["may_be_negative"]}
        if "neighbour" in element.attributes:
            load.attributes["lane"] = element["neighbour"]

    def _call(self, call: Operation, forms: Mapping[Value, RunForm], caller: Function) -> None:
        known: dict[int, ParameterFact] = {}
        for number, argument in enumerate(call.operands):
            fact = self._form(argument, forms) or self._lane(argument, caller)
            if fact is not None:
                known[number] = fact
        call.attributes["symbol"] = self._copy(call["symbol"], known)

    def _lane(self, argument: Value, caller: Function) -> Lane | None:
        source = unconverted(argument)
        for number, fact in caller.known.items():
            if isinstance(fact, Lane) and caller.parameters[number] is source:
                return fact
        made = source.source
        if made is None or made.kind != "run_element" or self._job.debug:
            return None
        form, lane = made["form"], made.attributes.get("lane")
        if lane is None or not form.near or not self._job.layout.is_tiled(form.cls):
            return None
        return Lane(lane)

    def _call_virtual(self, call: Operation) -> None:
        receiver = unconverted(call.operands[0]).source
        candidates = call["candidates"]
        if receiver is not None and receiver.kind == "run_element":
            cls = receiver["form"].cls
            candidates = tuple(each for each in candidates if each.cls is cls)
        call.attributes["candidates"] = tuple(
            replace(each, symbol=self._copy(each.symbol, {})) for each in candidates
        )

    def _copy(self, symbol: str, known: Known) -> str:
        """The symbol of the function for what is known of its parameters."""
        key = symbol, tuple(sorted(known.items()))
        found = self._made.get(key)
        if found is not None:
            return found
        if not known:
            self._made[key] = symbol
            self.pending.append(self._program.functions[symbol])
            return symbol
        are_runs = any(isinstance(fact, RunForm) for fact in known.values())
        name = f"{symbol}.{'runs' if are_runs else 'lane'}.{len(self._made)}"
        made = copy_function(self._originals[symbol], name)
        made.known = dict(known)
        self._program.functions[name] = made
        self._made[key] = name
        self.pending.append(made)
        return name
