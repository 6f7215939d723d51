"""Where coordination cost gathers: a relay graph, and a list of detectors that look at it.

Separate from scoring because it asks what the relays cost together, not what each one carried. Rules that hold for
all:

- returns and dropped handoffs count in no detector but `dropped`;
- the handoffs of one run make a graph of their own, those without a run together another; fan-in, fan-out and
  dropped look at the whole document;
- comparisons are exact; severities, and thresholds that are no whole numbers, are rounded once, half to even, to
  six decimals;
- each detector is linear in the handoffs.

A new detector is one function in `DETECTORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from .exact import MILLION, Number, fixed_text, millionths_to_float, parts_of, round_ratio
from .model import ABSENT, Absent, Handoff, HandoffTrace

FAN_THRESHOLD = 3
REWORK_THRESHOLD = 2
CYCLE_THRESHOLD = 2
CYCLE_AGENTS = 3
DROPPED_THRESHOLD = 1

Run = str | Absent


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """One finding.

    Attributes:
        kind: Which detector found it.
        subject: An agent, a pair `a -> b`, or a loop `a -> b -> c -> a`.
        severity: In (0, 1], rounded to six decimals.
        measured: What was counted, or the latency as it was read, in milliseconds.
        threshold: What it was held against, in the same unit.
        handoff_ids: The handoffs behind it, in relay order.
        run: The run it was found in; ABSENT where there is none, or where the whole document was looked at.
        template: The finding as a sentence in which each `{}` stands for one of `names`.
        names: Names from the trace, as they are.
    """

    kind: str
    subject: str
    severity: float
    measured: int | Number
    threshold: int | Number
    handoff_ids: tuple[str, ...]
    run: Run
    template: str
    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The finding as a sentence, with the names as they are."""
        return self.template.format(*self.names)


@dataclass(frozen=True, slots=True)
class RelayGraph:
    """The handoffs of a trace as detectors see them, each list in relay order."""

    relays: tuple[Handoff, ...]
    """Completed handoffs that are no returns."""
    runs: Mapping[Run, Sequence[Handoff]]
    """The same by run, in the order in which runs begin."""
    dropped: tuple[Handoff, ...]


Detector = Callable[[RelayGraph], Iterable[Bottleneck]]


def relay_graph(trace: HandoffTrace) -> RelayGraph:
    """Sort a trace's handoffs into what counts as a relay and what was dropped."""
    runs: dict[Run, list[Handoff]] = {}
    relays: list[Handoff] = []
    dropped: list[Handoff] = []
    for handoff in trace.handoffs:
        if handoff.is_dropped:
            dropped.append(handoff)
        elif not handoff.is_return:
            relays.append(handoff)
            runs.setdefault(handoff.run, []).append(handoff)
    return RelayGraph(tuple(relays), runs, tuple(dropped))


@dataclass(frozen=True, slots=True)
class LatencyStatistics:
    """Mean plus population standard deviation of latencies, exactly.

    With x the latencies as integers in units of 10**-scale ms, n their count and D = n*sum(x^2) - sum(x)^2, the
    threshold is (sum(x) + sqrt(D)) / (n * 10**scale) ms.
    """

    count: int
    scale: int
    total: int
    spread: int
    """D above; its square root is n times the standard deviation."""
    peak: int
    values: tuple[int, ...]

    def exceeds(self, value: int) -> bool:
        """Tell whether a latency lies above the threshold: n*x - sum(x) > sqrt(D), compared by squares."""
        above = self.count * value - self.total
        return above > 0 and above * above > self.spread

    def threshold(self) -> int:
        """Round the threshold half to even to millionths of a millisecond, with integer square roots only."""
        unit: int = self.count * 10**self.scale
        doubled = 2 * self.total * MILLION + unit
        square = 4 * self.spread * MILLION * MILLION
        root = isqrt(square)
        rounded, rest = divmod(doubled + root, 2 * unit)
        if rest == 0 and root * root == square and rounded & 1:
            rounded -= 1
        return rounded


def latency_statistics(latencies: Sequence[int | Number]) -> LatencyStatistics | None:
    """Gather what the latency detector needs of a run's known latencies, None when there are none."""
    if not latencies:
        return None
    parts = [parts_of(latency) for latency in latencies]
    scale = max(scale for _, scale in parts)
    powers: dict[int, int] = {own: 10 ** (scale - own) for own in {own for _, own in parts}}
    values = tuple(mantissa * powers[own] for mantissa, own in parts)
    total = sum(values)
    spread = len(values) * sum(value * value for value in values) - total * total
    return LatencyStatistics(len(values), scale, total, spread, max(values), values)


def detect_latency(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find handoffs with a latency above mean plus standard deviation of their run; severity is the share of the
    peak."""
    for run, relays in graph.runs.items():
        known = [(handoff, handoff.latency_ms) for handoff in relays if handoff.latency_ms is not None]
        statistics = latency_statistics([latency for _, latency in known])
        if statistics is None:
            continue
        threshold = fixed_text(statistics.threshold())
        for (handoff, latency), value in zip(known, statistics.values, strict=True):
            if statistics.exceeds(value):
                shown = latency.text if isinstance(latency, Number) else str(int(latency))
                yield Bottleneck(
                    "latency",
                    f"{handoff.source_agent} -> {handoff.target_agent}",
                    _severity(value, statistics.peak),
                    latency,
                    Number(threshold),
                    (handoff.handoff_id,),
                    run,
                    f"{{}} -> {{}} took {shown} ms; the threshold, mean plus standard deviation, is {threshold} ms",
                    (handoff.source_agent, handoff.target_agent),
                )


def detect_fan_in(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find agents that three or more distinct agents hand to."""
    return _fan(graph, "fan_in", "{{}} is handed work by {n} agents")


def detect_fan_out(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find agents that hand to three or more distinct agents."""
    return _fan(graph, "fan_out", "{{}} hands work to {n} agents")


def _fan(graph: RelayGraph, kind: str, template: str) -> Iterator[Bottleneck]:
    partners: dict[str, set[str]] = {}
    behind: dict[str, list[str]] = {}
    for handoff in graph.relays:
        agent, partner = handoff.source_agent, handoff.target_agent
        if kind == "fan_in":
            agent, partner = partner, agent
        partners.setdefault(agent, set()).add(partner)
        behind.setdefault(agent, []).append(handoff.handoff_id)
    for agent, distinct in partners.items():
        n = len(distinct)
        if n >= FAN_THRESHOLD:
            ids = tuple(behind[agent])
            text = template.format(n=n)
            yield Bottleneck(kind, agent, _severity(n - 2, n), n, FAN_THRESHOLD, ids, ABSENT, text, (agent,))


def detect_rework(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find ordered pairs that repeat within a run."""
    for run, relays in graph.runs.items():
        pairs: dict[tuple[str, str], list[str]] = {}
        for handoff in relays:
            pairs.setdefault((handoff.source_agent, handoff.target_agent), []).append(handoff.handoff_id)
        for pair, ids in pairs.items():
            n = len(ids)
            if n >= REWORK_THRESHOLD:
                yield Bottleneck(
                    "rework",
                    " -> ".join(pair),
                    _severity(n - 1, n),
                    n,
                    REWORK_THRESHOLD,
                    tuple(ids),
                    run,
                    f"{{}} handed to {{}} {n} times",
                    pair,
                )


def detect_cycle(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find loops over three or more agents that a run goes round twice or more."""
    for run, relays in graph.runs.items():
        loops: dict[tuple[str, ...], list[str]] = {}
        rounds: dict[tuple[str, ...], int] = {}
        for agents, ids in _rounds(relays):
            loops.setdefault(agents, []).extend(ids)
            rounds[agents] = rounds.get(agents, 0) + 1
        for agents, ids in loops.items():
            n = rounds[agents]
            if n >= CYCLE_THRESHOLD:
                closed = (*agents, agents[0])
                yield Bottleneck(
                    "cycle",
                    " -> ".join(closed),
                    _severity(n - 1, n),
                    n,
                    CYCLE_THRESHOLD,
                    tuple(ids),
                    run,
                    f"the loop {' -> '.join(['{}'] * len(closed))} was gone round {n} times",
                    closed,
                )


def _rounds(relays: Sequence[Handoff]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Walk the relays of one run keeping a path, and yield each round of a loop with the handoffs that made it.

    A relay that does not start at the path's end starts a new path. One whose target is on the path closes a round:
    the stretch from the target on, named from its smallest agent id. It counts with three or more agents; the path
    is cut there. Each relay enters and leaves the path once, so the walk is linear.
    """
    path: list[str] = []
    steps: list[str] = []  # steps[i] is the handoff from path[i] to path[i + 1]
    places: dict[str, int] = {}
    for handoff in relays:
        if not path or path[-1] != handoff.source_agent:
            path = [handoff.source_agent]
            steps = []
            places = {handoff.source_agent: 0}
        steps.append(handoff.handoff_id)
        start = places.get(handoff.target_agent)
        if start is None:
            places[handoff.target_agent] = len(path)
            path.append(handoff.target_agent)
            continue
        stretch = path[start:]
        if len(stretch) >= CYCLE_AGENTS:
            first = stretch.index(min(stretch))
            yield (*stretch[first:], *stretch[:first]), steps[start:]
        for agent in path[start + 1 :]:
            del places[agent]
        del path[start + 1 :]
        del steps[start:]


def detect_dropped(graph: RelayGraph) -> Iterator[Bottleneck]:
    """Find agents whose handoffs were asked for and never taken up."""
    sources: dict[str, list[str]] = {}
    for handoff in graph.dropped:
        sources.setdefault(handoff.source_agent, []).append(handoff.handoff_id)
    for agent, ids in sources.items():
        k = len(ids)
        yield Bottleneck(
            "dropped",
            agent,
            _severity(k, k + 1),
            k,
            DROPPED_THRESHOLD,
            tuple(ids),
            ABSENT,
            f"{k} handoff{'s' if k > 1 else ''} that {{}} asked for {'were' if k > 1 else 'was'} never taken up",
            (agent,),
        )


DETECTORS: tuple[Detector, ...] = (
    detect_latency,
    detect_fan_in,
    detect_fan_out,
    detect_rework,
    detect_cycle,
    detect_dropped,
)


def find_bottlenecks(trace: HandoffTrace, detectors: Iterable[Detector] = DETECTORS) -> tuple[Bottleneck, ...]:
    """Run the detectors over a trace.

    Sorted by severity as it is reported (falling), then kind, then subject in code-point order; what is equal in
    all three stands in the relay order of its first handoff.
    """
    graph = relay_graph(trace)
    places = {handoff.handoff_id: i for i, handoff in enumerate(trace.handoffs)}
    found = [bottleneck for detect in detectors for bottleneck in detect(graph)]
    found.sort(key=lambda b: (-b.severity, b.kind, b.subject, places[b.handoff_ids[0]] if b.handoff_ids else -1))
    return tuple(found)


def _severity(numerator: int, denominator: int) -> float:
    return millionths_to_float(round_ratio(numerator, denominator))
