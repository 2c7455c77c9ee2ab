"""How the kernels of the stored programs are called: who makes the objects, and what the arguments
are.

Arguments are written as words:

- ``&name``: the array of references ``name``, which the kernels of a program share;
- ``&name+1``: the array from its second reference on; ``&name[2]``: one of its references;
  ``&name:_ZTV1A+_ZTV1B``: an array of those to these classes;
- ``f32 f64 i32 i64 u8``: an array of random numbers of its own; ``i32<3`` has them below 3;
  ``zeros``: an array of zeros; ``bytes``: one that the kernels of a program share, zeros at first;
- ``n``: the number of objects; ``n-1``, ``7``; ``f32=1.5``; ``hex=0900``: bytes of a struct;
- ``function=name``: the address of a function;
- ``places16``: memory for objects of 16 bytes each, or of another size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kernel:
    name: str
    arguments: str
    threads: int = 0
    """0: as many as there are objects."""
    blocks: int = 1
    shared: int = 0


@dataclass(frozen=True)
class Scenario:
    """``make``: the kernels that make the objects, in the original module. ``links``: at these
    offsets of objects of a class stand references to later objects of the array. ``variables``:
    what is put into variables of the module. ``keeps_headers``: kernels write vtable pointers, or
    read them for other reasons than virtual calls. ``heap_makes``: the kernels run beside those of
    the heap that make objects, which tell what is inside of objects."""

    make: tuple[Kernel, ...]
    kernels: tuple[Kernel, ...]
    count: int = 12
    links: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    keeps_headers: bool = False
    heap_makes: bool = False


def _scenario(make: str, *kernels: str | Kernel, **rest: object) -> Scenario:
    return Scenario(
        (_kernel(make),),
        tuple(_kernel(kernel) for kernel in kernels),
        **rest,  # type: ignore[arg-type]
    )


def _kernel(text: str | Kernel) -> Kernel:
    if isinstance(text, Kernel):
        return text
    name, _, arguments = text.partition(" ")
    return Kernel(name, arguments)


_STRAIGHT = "&senders:_ZTV8Straight"

SCENARIOS: dict[str, Scenario] = {
    "abstract_2": _scenario(
        "_Z4makePP5Forcei &forces n", "_Z4pullPKP5ForcePKdPdi &forces f64 f64 n"
    ),
    "abstract_4": _scenario(
        "_Z4makePP6Animali &animals n",
        "_Z10count_legsPP6AnimalPii &animals i32 n",
        "_Z10make_noisePP6AnimalPii &animals i32 n",
    ),
    "abstract_8": _scenario("_Z4makePP2Opi &ops n", "_Z9apply_allPP2OpPfi &ops f32 n", count=17),
    "abstract_32": _scenario(
        "_Z4makePP4Stepi &steps n", "_Z7advancePP4StepPii &steps i32 n", count=40
    ),
    "anonymous": _scenario("make &objects", "ask &objects i32"),
    "async_copy": _scenario("_Z4makePP6Sourcei &sources n", "_Z4copyPP6SourcePi &sources i32"),
    "atomics": _scenario(
        "_Z4makePP5Tally &tallies",
        "_Z5countPP5TallyPiS2_ &tallies i32 zeros",
        "_Z5countPP5TallyPiS2_ &tallies i32 zeros",
        "_Z5takenPyS_ &tallies i64",
    ),
    "calls_inside": _scenario("_Z4makePP4Game &games", "_Z4playPP4GamePii &games i32 5"),
    "chain": _scenario(
        "_Z4makePP4Linki &links n",
        "_Z9walk_listPP4LinkPi &links i32",
        "_Z9walk_treePP4LinkPKiPi &links i32 i32",
        Kernel("_Z7chainedPP4LinkPi", "&links i32", threads=3),
        links={"_ZTV4Link": (16,), "_ZTV4Skip": (16,), "_ZTV5Heavy": (16, 24)},
        count=20,
    ),
    "chosen": _scenario(
        "_Z4makePP4Lampi &lamps n",
        "_Z14chosen_pointerPP4LampS1_Pii &lamps &lamps:_ZTV4Tube i32 3",
        "_Z11chosen_callPP4LampS1_Pii &lamps:_ZTV4Bulb &lamps i32 3",
        Kernel("_Z14chosen_by_turnP4LampPS0_Pii", "&lamps[5] &lamps i32 3", threads=4),
    ),
    "conditions": _scenario(
        "_Z4makePP4Nodei &nodes n",
        "_Z8one_sidePP4NodePii &nodes i32 n",
        "_Z10both_sidesPP4NodePiPKi &nodes i32 i32<2",
        "_Z13short_circuitPP4NodePii &nodes i32 n-1",
        "_Z9in_switchPP4NodePiPKi &nodes i32 i32<8",
        "_Z10both_sidesPP4NodePiPKi &nodes i32 i32<2",
    ),
    "construction": Scenario(
        make=(Kernel("_Z9allocatedPP4Tool", "&tools"),),
        kernels=(
            Kernel("_Z12on_the_stackPi", "i32"),
            Kernel("_Z10one_of_twoPi", "i32<20", threads=8),
            Kernel("_Z6placedPvPP4Tool", "bytes &tools"),
        ),
    ),
    "covariant": _scenario(
        "_Z4makePP6Copied &all",
        "_Z4copyPP6CopiedPi &all i32",
        "_Z9copy_deepPP4DeepPi &all:_ZTV4Deep+_ZTV5Mixed i32",
        keeps_headers=True,
    ),
    "deep": _scenario(
        "_Z4makePP6Level0Pci &objects places16 n",
        "_Z9call_rootPP6Level0Pxi &objects i64 n",
        "_Z11call_level2PP6Level2Pii &objects:_ZTV6Level2+_ZTV6Level3+_ZTV6Level4 i32 n",
        "_Z11call_level4PP6Level4Pii &objects:_ZTV6Level4 i32 n",
    ),
    "destructors": _scenario(
        "_Z4makePP8Resourcei &all n",
        Kernel("_Z6removePP8ResourcePii", "&all+1 i32 n", threads=6),
        keeps_headers=True,
    ),
    "empty_virtual_base": _scenario(
        "_Z4makePP5SoundPP4TonePP5MixedPP6Singer &sounds &tones &mixed &singers",
        "_Z4playPP5SoundPi &sounds i32",
        "_Z5shiftPP4TonePi &tones i32",
        "_Z10play_tonesPP4TonePi &tones i32",
        "_Z3mixPP5MixedPd &mixed f64",
        "_Z4singPP6SingerPx &singers i64",
    ),
    "function_pointers": _scenario(
        "_Z4makePP4Real &objects",
        "_Z10from_tablePfPKi f32 i32<3",
        "_Z13from_argumentPFfPvdEPf function=_Z5twicePvd f32",
        "_Z9to_memberPP4RealPfMS_FffE &objects f32 hex=09000000000000000000000000000000",
        "_Z4realPP4RealPf &objects f32",
        keeps_headers=True,
    ),
    "hand_made": _scenario(
        "_Z4makePP4RealP8HandMade &objects bytes",
        "_Z14call_hand_madeP8HandMadePf bytes f32",
        "_Z9call_realPP4RealPf &objects f32",
    ),
    "hand_old_toolchain": _scenario("make places16", "weigh &places f32 n"),
    "hand_predicated": _scenario(
        "make places16",
        "predicated &places f32",
        "negated &places[1] f32 0",
        "negated &places[0] f32 1",
        "spilled &places f32",
        "one_register &places f32",
        Kernel("others", "&places f32", threads=5),
        "registers &places:_ZTV3Far f32",
        "listed &places f32",
    ),
    "inline_ptx": _scenario(
        "_Z4makePP5Mixer &mixers",
        "_Z3mixPP5MixerPj &mixers i32",
        "_Z10mix_loadedPP5MixerPj &mixers i32",
    ),
    "lambdas": _scenario(
        "_Z4makePP6Erasedf &functions f32=1.5",
        "_Z3usePP6ErasedPKfPfi &functions f32 f32 5",
    ),
    "loops": _scenario(
        "_Z4makePP9Generatori &all n",
        "_Z10until_donePP9GeneratorPj &all i32",
        "_Z13same_receiverPP9GeneratorPji &all i32 3",
        Kernel("_Z15other_receiversPP9GeneratorPji", "&all i32 n", threads=5),
        "_Z8unrolledPP9GeneratorPj &all i32",
    ),
    "members": _scenario(
        "_Z4makePcS_PP5GaugePP5Clocki places80 places16 &gauges &clocks n",
        "_Z4readPP5GaugePi &gauges i32",
        "_Z5partsPP5GaugeS1_ &gauges &found",
        "_Z4readPP5GaugePi &found i32",
        "_Z4fillPP5GaugePi &gauges i32",
        "_Z4tellPP5ClockPx &clocks i64",
        heap_makes=True,
        keeps_headers=True,
    ),
    "misnamed": _scenario(
        "_Z4makePP4Nodei &nodes n",
        "_Z3getPP4NodePi &nodes i32",
        "_Z12from_factoryPi i32",
        "_Z15from_destructorPi i32",
        heap_makes=True,
    ),
    "multiple": _scenario(
        "_Z4makePP5DrawnPP7Printedi &drawn &printed n",
        "_Z4drawPP5DrawnPi &drawn i32",
        "_Z11draw_commonPP5DrawnPi &drawn i32",
        "_Z5printPP7PrintedPf &printed f32",
        "_Z12print_secondPP4BothPf &drawn:_ZTV4Both f32",
    ),
    "noinline": _scenario(
        "_Z4makePP6Filteri &filters n", "_Z5startPP6FilterPfi &filters f32 5", count=9
    ),
    "no_virtual": Scenario((), (Kernel("_Z8convolvePKfPfi", "f32 f32 n"),)),
    "one_receiver": _scenario(
        "_Z4makePP7Accounti &accounts n",
        "_Z10five_callsPP7AccountPxi &accounts i64 n",
        "_Z11three_slotsPP7AccountPxi &accounts i64 n",
    ),
    "overloads": _scenario(
        "_Z4makePP5Storei &stores n",
        "_Z4readPKPK5StorePi &stores i32<4",
        "_Z6changePP5StorePi &stores i32<4",
        "_Z5knownPP3RawPi &stores:_ZTV3Raw i32<4",
    ),
    "parameters": _scenario(
        "_Z4makePP6Numberi &numbers n", "_Z8call_allPP6NumberPKdPd &numbers f64 f64"
    ),
    "printing": _scenario(
        "_Z4makePP8Reporter &reporters",
        "_Z6reportPP8Reporteri &reporters 1",
        "_Z7checkedPP8Reporter &reporters",
        count=5,
    ),
    "recursion": Scenario(
        make=(Kernel("_Z4makePP10Expression", "&root", threads=1),),
        kernels=(Kernel("_Z8evaluatePP10ExpressionPKiPi", "&root i32<4 i32"),),
    ),
    "shared_memory": _scenario(
        "_Z4makePP5Stage &stages",
        Kernel("_Z8exchangePP5StagePi", "&stages i32"),
        Kernel("_Z7meetingPP5StagePi", "&stages i32", threads=6, blocks=3, shared=24),
        Kernel("_Z16object_in_sharedPii", "i32 0", threads=4),
        Kernel("_Z16object_in_sharedPii", "i32 5", threads=4),
        count=128,
    ),
    "replaced": _scenario(
        "_Z4makePP4Celli &cells n",
        "_Z9by_calleePP4CellPi &cells i32",
        "_Z7in_loopPP4CellPii &cells i32 5",
        "_Z9by_othersPP4CellPi &cells i32",
        heap_makes=True,
        keeps_headers=True,
    ),
    "single": _scenario("_Z4makePP5Shapei &shapes n", "_Z7measurePP5ShapePfi &shapes f32 n"),
    "static_shared": _scenario(
        "_Z4makePP6Sorter &sorters", "_Z4sortPP6SorterPKiPi &sorters i32 i32"
    ),
    "structs": _scenario(
        "_Z4makePP5Moveri &movers n",
        "_Z4movePP5MoverP6VectorP4PairP5BytesP4Quad &movers f64 i32 u8 f32",
        count=8,
    ),
    "tables_inside": _scenario(
        "_Z4makePP5ShapePP3PenPP4TapePP6HandlePP5Spool &shapes &pens &tapes &handles &spools",
        "_Z4growPP5ShapePi &shapes i32",
        "_Z5applyPP6HandlePi &handles i32",
        "_Z4windPP4TapePf &tapes f32",
        "_Z5spoolPP5SpoolPf &spools f32",
        "_Z4drawPP3PenPd &pens f64",
        heap_makes=True,
    ),
    "templates": _scenario(
        "_Z4makePPN8geometry4BodyIfEEPPNS0_IdEE &singles &doubles",
        "_Z7volumesIfEvPPN8geometry4BodyIT_EEPS2_ &singles f32",
        "_Z7volumesIdEvPPN8geometry4BodyIT_EEPS2_ &doubles f64",
    ),
    "two_hierarchies": _scenario(
        "_Z4makePP6SenderPP8ReceiverPP5Clock &senders &receivers &clocks",
        f"_Z3runPP6SenderPP5ClockPi {_STRAIGHT} &clocks i32",
        # With other arguments a doubled sender never ends.
        Kernel("_Z3runPP6SenderPP5ClockPi", "&senders:_ZTV7Doubled &clocks i32", threads=1),
    ),
    "uniform": _scenario(
        "_Z4makePP4Rulei &rules n",
        "_Z8argumentP4RulePi &rules[2] i32",
        "_Z15uniform_counterPP4RulePii &rules i32 n",
        Kernel("_Z11one_a_blockPP4RulePi", "&rules i32", threads=4, blocks=3),
        "_Z9variablesPii i32 2",
        "_Z3ownPP4RulePi &rules i32",
        Kernel("_Z11own_counterPP4RulePii", "&rules i32 n", threads=4),
        "_Z6chosenP4RuleS0_Pi &rules[0] &rules[3] i32<2",
        "_Z15chosen_togetherP4RuleS0_Pii &rules[0] &rules[3] i32 1",
        "_Z23left_at_different_turnsPP4RulePii &rules i32 n-1",
        variables={"rules_in_constant": "&rules", "one_rule": "&rules[3]"},
    ),
    "virtual_base": _scenario(
        "_Z4makePP4RootPP4LeftPP6Simplei &roots &lefts &simple n",
        "_Z9call_rootPP4RootPi &roots i32",
        "_Z9call_leftPP4LeftPi &lefts i32",
        "_Z17call_through_leftPP4LeftPi &lefts i32",
        "_Z11call_simplePP6SimplePd &simple f64",
    ),
}
