"""Threads of the host that end at their first test are passed over a group at a time.

A kernel that runs for every object and has something to do for few of them (``if cell.agent is not
None``) spends its time in that test. Here the loop over threads first answers it for a group,
without branches: so few instructions that the loads of many threads are under way at once. If
nobody of the group goes on, it is done; else a longer stretch is run thread by thread, so that
little is asked twice where many go on. As threads of a launch run in any order, all of a group may
be asked before the first of them goes on.

This works on the text of LLVM's optimised IR: only there it shows what is left of the test, and
that LLVM has not made vector code of the loop.
"""

from __future__ import annotations

import re

from .ir_blocks import NAME

THREAD_BLOCK = "thread"
"""What the entry of a kernel calls the block that each thread begins in, and no other block."""
GROUP, STRETCH = 16, 64
"""Threads that are asked at once, and how many are run if one of them goes on."""
_AHEAD = 512
"""How many threads ahead memory is prefetched: fields lie farther apart than elements of arrays,
and hardware prefetches too little of them. Nothing here says how far, so each thread's is."""
_MOST_INSTRUCTIONS, _MOST_LOADS = 16, 2
"""Of the test: what asks more is no longer cheap to answer twice."""

_NAME = f"%{NAME}"
_OPERATION = (
    r"(?:add|sub|mul|shl|lshr|ashr|and|or|xor|icmp|fcmp|select|freeze|zext|sext|trunc|inttoptr"
    r"|getelementptr|load(?! volatile| atomic)) .*"
)
_HEADER = re.compile(
    rf"^{THREAD_BLOCK}:.*\n"
    rf"  (?P<thread>{_NAME}) = phi i64 \[ (?P<first>\S+), (?P<before>{_NAME}) \],"
    rf" \[ (?P<following>{_NAME}), (?P<latch>{_NAME}) \]\n"
    rf"(?P<question>(?:  {_NAME} = {_OPERATION}\n){{1,{_MOST_INSTRUCTIONS}}})"
    rf"  br i1 (?P<answer>{_NAME}), label (?P<then>{_NAME}), label (?P<otherwise>{_NAME})\n",
    re.MULTILINE,
)
_DEFINED = re.compile(rf"^  ({_NAME}) =", re.MULTILINE)
_ADDRESS_AND_LOAD = re.compile(r"((?:.*\n)*?)  \S+ = load \w+, ptr ([^,]+),.*\n")
#: What an operation promises of its operands, which may not hold far ahead.
_PROMISE = re.compile(r" (?:nuw|nsw|nusw|inbounds|exact|disjoint|nneg|samesign)\b")
_TO_THREADS = re.compile(rf"label %{THREAD_BLOCK}(?![-\w$.])")
_PREFETCH = "\ndeclare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"


def pass_over_idle_threads(ir_text: str) -> str | None:
    """An optimised module with its loop over threads changed so; None where threads do not begin
    with a cheap test that ends some of them."""
    header = _HEADER.search(ir_text)
    if header is None or not 1 <= header["question"].count(" = load ") <= _MOST_LOADS:
        return None
    ends = header["then"], header["otherwise"]
    if ends.count(header["latch"]) != 1 or header["answer"] not in _defined(header):
        return None
    latch = _latch_pattern(header).search(ir_text, header.end())
    if latch is None or _outlives_the_loop(ir_text, header, latch):
        return None
    others = (
        ir_text[: header.start()],
        ir_text[header.end() : latch.start()],
        ir_text[latch.end() :],
    )
    before, between, after = (_TO_THREADS.sub("label %idle.ask", text) for text in others)
    blocks = _scan(header, latch), _thread_header(header), between, _thread_latch(header, latch)
    return "".join((before, *blocks, after, _PREFETCH))


def _defined(header: re.Match[str]) -> list[str]:
    found: list[str] = _DEFINED.findall(header["question"])
    return found


def _latch_pattern(header: re.Match[str]) -> re.Pattern[str]:
    following, thread = re.escape(header["following"]), re.escape(header["thread"])
    return re.compile(
        rf"^{re.escape(header['latch'][1:])}:.*\n"
        rf"  {following} = add (?:nuw )?(?:nsw )?i64 {thread}, 1\n"
        rf"  (?P<more>{_NAME}) = icmp ult i64 {following}, (?P<limit>{_NAME})\n"
        rf"  br i1 (?P=more), label %{THREAD_BLOCK}, label (?P<done>{_NAME})\n",
        re.MULTILINE,
    )


def _outlives_the_loop(ir_text: str, header: re.Match[str], latch: re.Match[str]) -> bool:
    """Whether something that a thread computes is used after the loop, which then has more ends
    than one."""
    done = re.compile(rf"^{re.escape(latch['done'][1:])}:(?:.*\n)+?(?:\n|\}})", re.MULTILINE)
    block = done.search(ir_text)
    own = {header["thread"], header["following"], latch["more"], *_defined(header)}
    own.add(header["latch"])
    # The first line says in a comment where control comes from.
    return block is None or not own.isdisjoint(re.findall(_NAME, block[0].partition("\n")[2]))


def _scan(header: re.Match[str], latch: re.Match[str]) -> str:
    """Blocks before that of a thread: they find the next stretch that is to be run."""
    limit, done = latch["limit"], latch["done"]
    goes_on = "false" if header["then"] == header["latch"] else "true"
    someone, questions = "false", _prefetches(header)
    for member in range(GROUP):
        name = f"%idle.{member}"
        answer = _copied(header["answer"], header, name)
        questions += (
            f"  {name} = add nuw i64 %idle.first, {member}\n"
            f"{_copied(header['question'], header, name)}"
            f"  {name}.goes = icmp eq i1 {answer}, {goes_on}\n"
            f"  {name}.any = or i1 {someone}, {name}.goes\n"
        )
        someone = f"{name}.any"
    return f"""\
idle.ask:
  %idle.first = phi i64 [ {header["first"]}, {header["before"]} ], [ %idle.next, %idle.pass ],
    [ {header["following"]}, %idle.again ]
  %idle.left = sub i64 {limit}, %idle.first
  %idle.whole = icmp sge i64 %idle.left, {GROUP}
  br i1 %idle.whole, label %idle.group, label %idle.run

idle.group:
{questions}  br i1 {someone}, label %idle.run, label %idle.pass

idle.pass:
  %idle.next = add nuw i64 %idle.first, {GROUP}
  %idle.more = icmp ult i64 %idle.next, {limit}
  br i1 %idle.more, label %idle.ask, label {done}

idle.run:
  %idle.ahead = add i64 %idle.first, {STRETCH}
  %idle.inside = icmp ult i64 %idle.ahead, {limit}
  %idle.stop = select i1 %idle.inside, i64 %idle.ahead, i64 {limit}
  br label %{THREAD_BLOCK}

idle.again:
  %idle.others = icmp ult i64 {header["following"]}, {limit}
  br i1 %idle.others, label %idle.ask, label {done}

"""


def _prefetches(header: re.Match[str]) -> str:
    """The first load of threads far ahead, which may be beyond the last."""
    first = _ADDRESS_AND_LOAD.match(header["question"])
    assert first is not None
    address, pointer = _PROMISE.sub("", first[1]), first[2]
    text = ""
    for member in range(GROUP):
        name = f"%idle.far.{member}"
        text += (
            f"  {name} = add i64 %idle.first, {_AHEAD + member}\n"
            f"{_copied(address, header, name)}"
            f"  call void @llvm.prefetch.p0(ptr {_copied(pointer, header, name)},"
            " i32 0, i32 3, i32 1)\n"
        )
    return text


def _copied(text: str, header: re.Match[str], thread: str) -> str:
    """Part of the test, for that thread."""
    names = {name: f"{thread}.{number}" for number, name in enumerate(_defined(header))}
    names[header["thread"]] = thread
    return re.sub(_NAME, lambda found: names.get(found[0], found[0]), text)


def _thread_header(header: re.Match[str]) -> str:
    following = f"[ {header['following']}, {header['latch']} ]"
    return (
        f"{THREAD_BLOCK}:\n"
        f"  {header['thread']} = phi i64 [ %idle.first, %idle.run ], {following}\n"
        f"{header['question']}"
        f"  br i1 {header['answer']}, label {header['then']}, label {header['otherwise']}\n"
    )


def _thread_latch(header: re.Match[str], latch: re.Match[str]) -> str:
    return (
        f"{header['latch'][1:]}:\n"
        f"  {header['following']} = add nuw i64 {header['thread']}, 1\n"
        f"  {latch['more']} = icmp ult i64 {header['following']}, %idle.stop\n"
        f"  br i1 {latch['more']}, label %{THREAD_BLOCK}, label %idle.again\n"
    )
