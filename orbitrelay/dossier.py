"""The analysis of one trace as Markdown, to be attached to an incident.

Separate because it only tells what the other parts found. A dossier is the list `BLOCKS` carried out in order: each
block builder gets the analysis and gives the lines of one section, and a custom section is one more builder in the
list.

Whatever comes from the trace is shown by `text.code` or, in the map's code block, by `text.plain`, and in no other
way: so it cannot break a table, open a code block, inject HTML or a link, or send terminal escapes. The form is
specified, section by section, in docs/dossier-format.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .analysis import Analysis
from .bottleneck import Bottleneck
from .exact import Number, float_text, integer_text
from .inspector import Inspection, is_empty
from .jsonout import dumps_line
from .model import Absent, ContextField, Handoff, Json
from .scoring import UNSCORED_REASONS, HandoffScore
from .text import code, plain

Block = Callable[[Analysis], Iterable[str]]
"""A block builder: the lines of one section, without blank lines before or after them."""

MAP_FIELDS = 24
"""Fields beyond which the arrow of the map grows no more; their number stands beside it."""

NAMES_SHOWN = 12
"""Names that one list shows before it says how many more there are."""

VALUES_SHOWN = 8
"""Fields whose values one note shows."""

METADATA_SHOWN = 12
"""Keys of the metadata that the header shows."""

VALUE_LIMIT = 80
"""Characters of one value that a note shows."""

AGENT_WIDTH = 24
"""Characters to which the map aligns agents; longer ones stand out."""


def dossier(analysis: Analysis, blocks: Sequence[Block] | None = None) -> str:
    """Write the dossier of an analysis: Markdown, with a newline at the end.

    Args:
        analysis: What to tell.
        blocks: The sections, `BLOCKS` unless given; one that gives no line is left out.
    """
    sections = ("\n".join(block(analysis)) for block in (BLOCKS if blocks is None else blocks))
    return "\n\n".join(section for section in sections if section) + "\n"


def header(analysis: Analysis) -> Iterator[str]:
    """Title, verdict, and a table of the main facts with the metadata."""
    trace, scores = analysis.trace, analysis.scores
    yield f"# Handoff dossier: {code(trace.trace_id)}"
    yield ""
    yield _verdict(analysis)
    yield ""
    yield "| Fact | Value |"
    yield "| --- | --- |"
    yield f"| Mean completeness | {_mean(scores.mean_score, scores.scored)} |"
    contracted = sum(score.contracted and score.score is not None for score in scores.handoffs)
    yield f"| Mean under a contract | {_mean(scores.mean_contracted, contracted)} |"
    weakest = next((score for score in scores.handoffs if score.handoff_id == scores.weakest_handoff), None)
    if weakest is not None:
        yield f"| Weakest handoff | {_arrow(weakest.inspection.handoff)}, {_score(weakest)} |"
    yield f"| Relays | {len(scores.handoffs)}: {scores.scored} scored, {scores.unscored} not scored |"
    agents = [f"{code(agent.agent_id)} ({code(agent.role)})" for agent in trace.agents[:NAMES_SHOWN]]
    yield f"| Agents | {len(trace.agents)}: {_more(agents, len(trace.agents))} |"
    tokens = sum(turn.tokens for turn in trace.turns if turn.tokens is not None)
    unknown = sum(turn.tokens is None for turn in trace.turns)
    aside = f" ({unknown} of the turns without a count)" if unknown else ""
    yield f"| Turns | {len(trace.turns)}, {integer_text(tokens)} tokens{aside} |"
    for key in sorted(trace.metadata)[:METADATA_SHOWN]:
        yield f"| Metadata {code(key)} | {_value(trace.metadata[key])} |"
    if len(trace.metadata) > METADATA_SHOWN:
        yield f"| Metadata | {len(trace.metadata) - METADATA_SHOWN} more keys |"


def _verdict(analysis: Analysis) -> str:
    scores = analysis.scores
    if scores.no_score_reason is not None:
        return f"**No completeness: {scores.no_score_reason}.** Nothing here says that the handoffs were complete."
    lossy = sum(1 for score in scores.handoffs if score.score is not None and (score.missing or score.empty))
    missing = sum(score.missing for score in scores.handoffs if score.score is not None)
    empty = sum(score.empty for score in scores.handoffs if score.score is not None)
    if not lossy:
        return f"**No required field was lost in the {_count(scores.scored, 'scored handoff')}.**"
    return (
        f"**{lossy} of {_count(scores.scored, 'scored handoff')} lost context: {_count(missing, 'required field')} "
        f"never arrived, {empty} arrived empty.**"
    )


def flow_map(analysis: Analysis) -> Iterator[str]:
    """Every handoff as an arrow whose width grows with the number of fields, the latency beside it."""
    handoffs = analysis.trace.handoffs
    yield "## Conversation flow map"
    yield ""
    if not handoffs:
        yield "The trace has no handoffs."
        return
    arrows = [_map_arrow(handoff) for handoff in handoffs]
    sources = [plain(handoff.source_agent) for handoff in handoffs]
    targets = [plain(handoff.target_agent) for handoff in handoffs]
    ticks = [integer_text(handoff.tick) for handoff in handoffs]
    latencies = [_latency(handoff.latency_ms) for handoff in handoffs]
    tick_width = max(map(len, ticks))
    source_width = min(max(map(len, sources)), AGENT_WIDTH)
    target_width = min(max(map(len, targets)), AGENT_WIDTH)
    arrow_width = max(map(len, arrows))
    latency_width = max(map(len, latencies))
    has_runs = any(not isinstance(handoff.run, Absent) for handoff in handoffs)
    yield "```text"
    for i, handoff in enumerate(handoffs):
        run = f"  run {plain(handoff.run)}" if has_runs and not isinstance(handoff.run, Absent) else ""
        yield (
            f"tick {ticks[i]:>{tick_width}}  {sources[i]:<{source_width}}  {arrows[i]:<{arrow_width}}  "
            f"{targets[i]:<{target_width}}  {latencies[i]:>{latency_width}}  {plain(handoff.handoff_id)}{run}"
        )
    yield "```"
    yield ""
    yield (
        "An arrow is two dashes and one more for each field handed over, up to "
        f"{MAP_FIELDS}. `-->` handed on, `..>` a return, `--x` dropped, `~~>` content not recorded."
    )


def _map_arrow(handoff: Handoff) -> str:
    carried = sum(field.seen_in != "history" for field in handoff.fields)
    body = "~" if not handoff.recorded else "." if handoff.is_return else "-"
    count = f" ({carried})" if carried > MAP_FIELDS else ""
    return body * (2 + min(carried, MAP_FIELDS)) + ("x" if handoff.is_dropped else ">") + count


def ledger(analysis: Analysis) -> Iterator[str]:
    """Every handoff with its reason, its latency and what it carried."""
    yield "## Relay ledger"
    yield ""
    if not analysis.trace.handoffs:
        yield "The trace has no handoffs."
        return
    yield "| # | Handoff | Tick | From | To | Reason | Latency | Carried | Remarks |"
    yield "| ---: | --- | ---: | --- | --- | --- | ---: | --- | --- |"
    for i, handoff in enumerate(analysis.trace.handoffs, 1):
        cells = (
            str(i),
            code(handoff.handoff_id),
            integer_text(handoff.tick),
            code(handoff.source_agent),
            code(handoff.target_agent),
            code(handoff.reason),
            _latency(handoff.latency_ms),
            _carried(handoff.fields),
            ", ".join(_remarks(handoff)) or "-",
        )
        yield f"| {' | '.join(cells)} |"


def _carried(fields: Sequence[ContextField]) -> str:
    shown = []
    for field in fields[:NAMES_SHOWN]:
        marks = []
        if is_empty(field.value):
            marks.append("empty")
        if field.state != "full":
            marks.append(field.state)
        if field.seen_in == "history":
            marks.append("history only")
        shown.append(code(field.name) + (f" ({', '.join(marks)})" if marks else ""))
    return _more(shown, len(fields)) or "nothing"


def _remarks(handoff: Handoff) -> Iterator[str]:
    if handoff.is_dropped:
        yield "dropped"
    if not isinstance(handoff.origin, Absent):
        yield f"{handoff.origin.mode}, {handoff.origin.evidence}"
    if not handoff.recorded:
        yield "not recorded"
    if handoff.redacted:
        yield "redacted"
    if handoff.truncated:
        yield "truncated"


def completeness(analysis: Analysis) -> Iterator[str]:
    """Every handoff held against its contract, with score and grade."""
    scores = analysis.scores
    yield "## Completeness scores"
    yield ""
    if not scores.handoffs:
        yield "The trace has no handoffs."
        return
    yield "| Handoff | Contract | Present | Empty | Missing | Unrecorded | Extra | Score | Grade |"
    yield "| --- | --- | ---: | --- | --- | --- | --- | ---: | --- |"
    for score in scores.handoffs:
        inspection = score.inspection
        cells = (
            code(score.handoff_id),
            code(inspection.contract_role) if score.contracted else "none",
            f"{score.present} of {score.required}",
            _names(inspection.empty) or "-",
            _names(inspection.missing) or "-",
            _names(inspection.unrecorded) or "-",
            _names(inspection.extra) or "-",
            float_text(score.score) if score.score is not None else "not scored",
            score.grade or "-",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    if scores.no_score_reason is not None:
        yield f"No mean: {scores.no_score_reason}."
    else:
        yield f"Mean completeness: {_mean(scores.mean_score, scores.scored)}."


def bottlenecks(analysis: Analysis) -> Iterator[str]:
    """Where coordination cost gathers, gravest first."""
    yield "## Coordination bottlenecks"
    yield ""
    if not analysis.bottlenecks:
        yield "No bottleneck was found."
        return
    yield "| Severity | Kind | Finding | Measured | Threshold | Handoffs |"
    yield "| ---: | --- | --- | ---: | ---: | --- |"
    for found in analysis.bottlenecks:
        cells = (
            float_text(found.severity),
            found.kind,
            _finding(found),
            _figure(found.measured),
            _figure(found.threshold),
            _names(found.handoff_ids),
        )
        yield f"| {' | '.join(cells)} |"


def _finding(found: Bottleneck) -> str:
    run = "" if isinstance(found.run, Absent) else f" (run {code(found.run)})"
    return found.template.format(*map(code, found.names)) + run


def notes(analysis: Analysis) -> Iterator[str]:
    """In plain language: what each incomplete relay dropped and where it was last seen, and what could not be
    judged."""
    yield "## Notes"
    yield ""
    lines = [*_general_notes(analysis), *_relay_notes(analysis)]
    if lines:
        yield from lines
    else:
        yield "Every handoff carried all that its contract asks for."


def _general_notes(analysis: Analysis) -> Iterator[str]:
    for note in _texts(analysis.trace.extra.get("notes")):
        yield f"- Noted in the trace: {code(note)}"
    scores = analysis.scores
    for reason, count in scores.unscored_reasons.items():
        yield f"- {_count(count, 'handoff')} not scored: {UNSCORED_REASONS[reason]}."
    without: dict[str, int] = {}
    for inspection in analysis.inspections:
        if not inspection.contracted and not inspection.handoff.is_return:
            without[inspection.target_role] = without.get(inspection.target_role, 0) + 1
    for role, count in without.items():
        yield f"- No contract for the role {code(role)}: {_count(count, 'handoff')} had nothing to be held against."
    unknown = sum(handoff.latency_ms is None for handoff in analysis.trace.handoffs)
    if unknown:
        yield f"- The latency of {_count(unknown, 'handoff')} is not known."


class _Trail:
    """Who held which field with a value, and by which handoff it was last seen, as the handoffs of one run pass by."""

    def __init__(self) -> None:
        self.last: dict[str, Handoff] = {}
        self.held: dict[tuple[str, str], Handoff] = {}

    def passed(self, handoff: Handoff) -> None:
        if handoff.is_dropped:
            return
        for field in handoff.fields:
            if field.seen_in != "history" and not is_empty(field.value):
                self.last[field.name] = handoff
                self.held[handoff.source_agent, field.name] = handoff
                self.held[handoff.target_agent, field.name] = handoff

    def of(self, name: str, handoff: Handoff) -> str:
        """Say where a field that a handoff did not carry was seen before."""
        source = code(handoff.source_agent)
        held = self.held.get((handoff.source_agent, name))
        if held is not None:
            had = "had it from" if held.target_agent == handoff.source_agent else "still handed it over in"
            return f"{source} {had} {code(held.handoff_id)}, so it was lost there"
        last = self.last.get(name)
        if last is not None:
            return f"last carried by {_arrow(last)}, it never reached {source}"
        return "no earlier handoff carried it"


def _relay_notes(analysis: Analysis) -> Iterator[str]:
    trails: dict[str | Absent, _Trail] = {}
    for score in analysis.scores.handoffs:
        inspection = score.inspection
        handoff = inspection.handoff
        trail = trails.setdefault(handoff.run, _Trail())
        remarks = [*_losses(inspection, trail), *map(_noted, _texts(handoff.extra.get("notes")))]
        if score.unscored_reason is not None:
            aside = " (redacted)" if handoff.redacted else ""
            remarks.insert(0, f"not scored: {UNSCORED_REASONS[score.unscored_reason]}{aside}.")
        trail.passed(handoff)
        if remarks:
            grade = f", {_score(score)}" if score.score is not None else ""
            yield f"- {_arrow(handoff)} (tick {integer_text(handoff.tick)}{grade}):"
            yield from (f"  - {remark}" for remark in remarks)
            if (inspection.missing or inspection.empty) and handoff.fields and not handoff.is_dropped:
                yield f"  - it was handed {_more(_values(handoff.fields), len(handoff.fields), '; ')}."


def _losses(inspection: Inspection, trail: _Trail) -> Iterator[str]:
    handoff = inspection.handoff
    if handoff.is_dropped:  # nothing was received, so nothing was lost on the way
        return
    history = set(inspection.history)
    for name in inspection.missing:
        if name in history:
            yield f"{code(name)} was not handed over, only visible in the history: the contract does not accept that."
        else:
            yield f"{code(name)} never arrived: {trail.of(name, handoff)}."
    for name in inspection.empty:
        yield f"{code(name)} arrived empty: {trail.of(name, handoff)}."
    if inspection.unrecorded and handoff.recorded:
        yield f"{_names(inspection.unrecorded)}: nobody can know, its content was cut."


def _noted(note: str) -> str:
    return f"noted in the trace: {code(note)}"


def _values(fields: Sequence[ContextField]) -> list[str]:
    return [f"{code(field.name)} = {_value(field.value)}" for field in fields[:VALUES_SHOWN]]


def _value(value: Json) -> str:
    """Show a JSON value: text as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return code(value, VALUE_LIMIT)
    return code(dumps_line(value).decode()[:-1], VALUE_LIMIT)


def _texts(value: Json) -> list[str]:
    """Give the notes that a producer left under the key `notes`: a text, or the texts of a list."""
    if isinstance(value, str):
        return [value]
    return [note for note in value if isinstance(note, str)] if isinstance(value, list) else []


def _arrow(handoff: Handoff) -> str:
    return f"{code(handoff.handoff_id)} {code(handoff.source_agent)} -> {code(handoff.target_agent)}"


def _score(score: HandoffScore) -> str:
    return f"{float_text(score.score)} ({score.grade})" if score.score is not None else "not scored"


def _mean(mean: float | None, count: int) -> str:
    return (
        f"{float_text(mean)} over {_count(count, 'scored handoff')}" if mean is not None else "none: nothing to score"
    )


def _latency(latency: int | Number | None) -> str:
    return "not known" if latency is None else f"{_figure(latency)} ms"


def _figure(number: int | Number) -> str:
    return plain(number.text if isinstance(number, Number) else integer_text(number))


def _names(names: Sequence[str]) -> str:
    return _more([code(name) for name in names[:NAMES_SHOWN]], len(names))


def _more(shown: Sequence[str], total: int, separator: str = ", ") -> str:
    rest = f"{separator}and {total - len(shown)} more" if total > len(shown) else ""
    return separator.join(shown) + rest


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


BLOCKS: tuple[Block, ...] = (header, flow_map, ledger, completeness, bottlenecks, notes)
