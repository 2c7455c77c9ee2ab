"""Kernels of random modules: parts that call methods, each in one of the ways of ``KINDS``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .random_code import FIRST, NEXT, NOTHING, NUMBER, REFERENCE, SECOND, Code, Draw

if TYPE_CHECKING:
    from .random_modules import ModuleWriter


class KernelWriter:
    """Registers: ``acc`` collects results; ``receiver`` is the current object."""

    def __init__(self, writer: ModuleWriter, code: Code, draw: Draw) -> None:
        self._writer = writer
        self._code = code
        self._draw = draw
        self._local: set[str] = set()

    def write(self) -> str:
        code = self._code
        self._array, self._out = code.new("rd"), code.new("rd")
        self._n, self._i, self._acc = code.new("r"), code.new("r"), code.new("r")
        block, size = code.new("r"), code.new("r")
        stop, outside = "$done", code.new("p")
        self._labels = 0
        code.put(
            f"ld.param.u64 \t{self._array}, [references];",
            f"ld.param.u64 \t{self._out}, [out];",
            f"ld.param.u32 \t{self._n}, [n];",
            f"mov.u32 \t{block}, %ctaid.x;",
            f"mov.u32 \t{size}, %ntid.x;",
            f"mov.u32 \t{self._i}, %tid.x;",
            f"mad.lo.s32 \t{self._i}, {block}, {size}, {self._i};",
            f"setp.ge.u32 \t{outside}, {self._i}, {self._n};",
            f"@{outside} bra \t{stop};",
            f"mov.u32 \t{self._acc}, {self._i};",
        )
        self._receiver = code.new("rd")
        self._load_reference(self._receiver, self._i)
        for _ in range(self._draw.number(1, 4)):
            getattr(self, f"_{self._draw.choose(self._writer.kinds())}")()
        place = code.new("rd")
        code.put(
            f"mad.wide.u32 \t{place}, {self._i}, 4, {self._out};",
            f"st.global.u32 \t[{place}], {self._acc};",
        )
        code.label(stop)
        code.put("ret;")
        text = code.text()
        for name in sorted(self._local):
            text = f"\t.local .align 16 .b8 \t{name}[128];\n" + text
        return text

    # ------------------------------------------------------------ parts

    def _label(self) -> str:
        self._labels += 1
        return f"$way_{self._labels}"

    def _load_reference(self, register: str, index: str) -> None:
        place = self._code.new("rd")
        self._code.put(f"mad.wide.u32 \t{place}, {index}, 8, {self._array};")
        self._code.put(f"ld.global.u64 \t{register}, [{place}];")

    def _other(self) -> str:
        """Another object of the array, or the one that follows the current one."""
        found = self._code.new("rd")
        if self._draw.flag():
            self._code.put(f"ld.u64 \t{found}, [{self._receiver}+{NEXT}];")
        else:
            index = self._code.new("r")
            step = self._draw.number(1, 5)
            self._code.put(f"add.u32 \t{index}, {self._i}, {step};")
            self._code.put(f"rem.u32 \t{index}, {index}, {self._n};")
            self._load_reference(found, index)
        return found

    def _any_slot(self) -> int:
        return self._draw.number(0, len(self._writer.slots) - 1)

    def _condition(self) -> str:
        bit, test = self._code.new("r"), self._code.new("p")
        self._code.put(f"and.b32 \t{bit}, {self._acc}, {self._draw.number(1, 3)};")
        self._code.put(f"setp.ne.u32 \t{test}, {bit}, 0;")
        return test

    def _use(self, result: str) -> None:
        """A number goes into ``acc``; a reference is the next receiver, or only compared."""
        code = self._code
        if not result.startswith("%rd"):
            code.put(f"mad.lo.s32 \t{self._acc}, {self._acc}, 3, {result};")
            return
        test, one = code.new("p"), code.new("r")
        code.put(f"setp.eq.s64 \t{test}, {result}, {self._receiver};")
        code.put(f"selp.u32 \t{one}, 1, 2, {test};", f"add.s32 \t{self._acc}, {self._acc}, {one};")

    def _call(self, receiver: str | None = None, slot: int | None = None, **rest: str) -> str:
        slot = self._any_slot() if slot is None else slot
        found = self._writer.call(self._code, receiver or self._receiver, slot, self._acc, **rest)
        return found

    # ------------------------------------------------------------ kinds

    def _straight(self) -> None:
        self._use(self._call())

    def _several(self) -> None:
        """The table is read once for all."""
        table = self._code.new("rd")
        self._code.put(f"ld.u64 \t{table}, [{self._receiver}];")
        for _ in range(self._draw.number(2, 3)):
            self._use(self._call(vtable=table))

    def _chained(self) -> None:
        slot = self._writer.slot(REFERENCE)
        if slot is None:
            return self._straight()
        found = self._call(slot=slot)
        if self._draw.flag():
            self._code.put(f"mov.u64 \t{self._receiver}, {found};")
        self._use(self._call(found))
        return None

    def _conditional(self) -> None:
        test, end = self._condition(), self._label()
        self._code.put(f"@!{test} bra \t{end};")
        self._use(self._call())
        self._code.label(end)

    def _both_ways(self) -> None:
        test, other, end = self._condition(), self._label(), self._label()
        table = self._code.new("rd")
        shared = self._draw.flag()
        if shared:
            self._code.put(f"ld.u64 \t{table}, [{self._receiver}];")
        rest = {"vtable": table} if shared else {}
        self._code.put(f"@{test} bra \t{other};")
        self._use(self._call(**rest))
        self._code.put(f"bra.uni \t{end};")
        self._code.label(other)
        self._use(self._call(**rest))
        self._code.label(end)

    def _predicated(self) -> None:
        """The loads and the call hold under a predicate; so does the use of the result."""
        test, slot = self._condition(), self._writer.slot(NUMBER)
        if slot is None:
            self._call(slot=self._writer.slot(NOTHING) or 0, predicate=test)
            return
        found = self._call(slot=slot, predicate=test)
        self._code.put(f"@{test} add.s32 \t{self._acc}, {self._acc}, {found};")

    def _loop(self) -> None:
        code = self._code
        turn, test, start = code.new("r"), code.new("p"), self._label()
        receiver = self._receiver
        code.put(f"mov.u32 \t{turn}, 0;")
        changing = self._draw.flag()
        code.label(start)
        if changing:
            index, receiver = code.new("r"), code.new("rd")
            code.put(f"add.u32 \t{index}, {self._i}, {turn};")
            code.put(f"rem.u32 \t{index}, {index}, {self._n};")
            self._load_reference(receiver, index)
        self._use(self._call(receiver))
        code.put(
            f"add.s32 \t{turn}, {turn}, 1;",
            f"setp.lt.u32 \t{test}, {turn}, {self._draw.number(1, 3)};",
            f"@{test} bra \t{start};",
        )

    def _loop_with_table(self) -> None:
        """The table of one receiver is read before the loop, and again after each call."""
        code = self._code
        turn, test, start, table = code.new("r"), code.new("p"), self._label(), code.new("rd")
        code.put(f"mov.u32 \t{turn}, 0;", f"ld.u64 \t{table}, [{self._receiver}];")
        code.label(start)
        self._use(self._call(vtable=table))
        code.put(
            f"ld.u64 \t{table}, [{self._receiver}];",
            f"add.s32 \t{turn}, {turn}, 1;",
            f"setp.lt.u32 \t{test}, {turn}, 3;",
            f"@{test} bra \t{start};",
        )

    def _asks_for_space(self) -> None:
        """What reads an address without an access to memory."""
        test, one = self._code.new("p"), self._code.new("r")
        self._code.put(
            f"isspacep.global \t{test}, {self._receiver};",
            f"selp.u32 \t{one}, 5, 6, {test};",
            f"add.s32 \t{self._acc}, {self._acc}, {one};",
        )

    def _walk(self) -> None:
        """Each turn's result is the next turn's receiver."""
        slot = self._writer.slot(REFERENCE)
        if slot is None:
            return self._loop()
        code = self._code
        turn, test, start, walker = code.new("r"), code.new("p"), self._label(), code.new("rd")
        code.put(f"mov.u32 \t{turn}, 0;", f"mov.u64 \t{walker}, {self._receiver};")
        code.label(start)
        found = self._call(walker, slot)
        code.put(
            f"mov.u64 \t{walker}, {found};",
            f"add.s32 \t{turn}, {turn}, 1;",
            f"setp.lt.u32 \t{test}, {turn}, 3;",
            f"@{test} bra \t{start};",
        )
        self._use(self._call(walker))
        return None

    def _merged(self) -> None:
        """The receiver comes by two ways; its table or function is read before or after
        they join."""
        code = self._code
        other = self._other()
        test, joined = self._condition(), self._label()
        chosen, function = code.new("rd"), code.new("rd")
        early, slot = self._draw.choose(("", "vtable", "function")), self._any_slot()
        read = code.new("rd")
        for number, source in enumerate((self._receiver, other)):
            code.put(f"mov.u64 \t{chosen}, {source};")
            if early:
                code.put(f"ld.u64 \t{read}, [{source}];")
            if early == "function":
                code.put(f"ld.u64 \t{function}, [{read}+{8 * slot}];")
            if not number:
                code.put(f"@{test} bra \t{joined};")
        code.label(joined)
        known = {"vtable": read, "function": function}
        self._use(self._call(chosen, slot, **({early: known[early]} if early else {})))

    def _selected(self) -> None:
        other, test, chosen = self._other(), self._condition(), self._code.new("rd")
        self._code.put(f"selp.b64 \t{chosen}, {self._receiver}, {other}, {test};")
        self._use(self._call(chosen))

    def _spilled(self) -> None:
        """Receiver and table lie in local memory while another call runs; not where objects on the
        stack lie, whose address others get: of that memory nothing is known."""
        code = self._code
        self._local.add("spilled")
        self._writer.spills()
        base, table = code.new("rd"), code.new("rd")
        again, again_table = code.new("rd"), code.new("rd")
        code.put(
            f"mov.u64 \t{base}, spilled;",
            f"ld.u64 \t{table}, [{self._receiver}];",
            f"st.local.u64 \t[{base}+96], {self._receiver};",
            f"st.local.u64 \t[{base}+104], {table};",
        )
        self._use(self._call(self._other()))
        code.put(
            f"ld.local.u64 \t{again}, [{base}+96];",
            f"ld.local.u64 \t{again_table}, [{base}+104];",
        )
        self._use(self._call(again, vtable=again_table))

    def _uniform(self) -> None:
        block, receiver = self._code.new("r"), self._code.new("rd")
        self._code.put(f"mov.u32 \t{block}, %ctaid.x;", f"rem.u32 \t{block}, {block}, {self._n};")
        self._load_reference(receiver, block)
        self._use(self._call(receiver))

    def _on_the_stack(self) -> None:
        """An object in local memory, of a class that the thread chooses."""
        code = self._code
        self._local.add("frame")
        own, generic = code.new("rd"), code.new("rd")
        code.put(f"mov.u64 \t{own}, frame;", f"cvta.local.u64 \t{generic}, {own};")
        self._fill(generic, "st")
        self._use(self._call(generic))

    def _allocated(self) -> None:
        code = self._code
        made = code.new("rd")
        code.put(
            "{",
            ".param .b64 size;",
            "st.param.b64 \t[size], 40;",
            ".param .b64 given;",
            "call.uni (given), malloc, (size);",
            f"ld.param.b64 \t{made}, [given];",
            "}",
        )
        self._fill(made, "st")
        if self._draw.flag():
            test, chosen = self._condition(), code.new("rd")
            code.put(f"selp.b64 \t{chosen}, {self._receiver}, {made}, {test};")
            made = chosen
        self._use(self._call(made))

    def _fill(self, place: str, store: str) -> None:
        code = self._code
        self._writer.constructs()
        table, test = code.new("rd"), self._condition()
        one, other = (self._draw.choose(self._writer.concrete).table for _ in range(2))
        code.put(
            f"mov.u64 \t{table}, {one};",
            f"@{test} mov.u64 \t{table}, {other};",
            f"cvta.global.u64 \t{table}, {table};",
            f"add.s64 \t{table}, {table}, 16;",
            f"{store}.u64 \t[{place}], {table};",
            f"{store}.u32 \t[{place}+{FIRST}], {self._acc};",
            f"{store}.u32 \t[{place}+{SECOND}], {self._draw.number(0, 9)};",
            f"{store}.u64 \t[{place}+{NEXT}], {self._receiver};",
        )


MAKING = ("on_the_stack", "allocated")
KINDS = (
    "straight", "several", "chained", "conditional", "both_ways", "predicated", "loop",
    "loop_with_table", "asks_for_space", "walk",
    "merged", "selected", "spilled", "uniform", *MAKING,
)  # fmt: skip
