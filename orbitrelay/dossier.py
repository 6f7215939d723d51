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

from . import phrases
from .analysis import Analysis
from .bottleneck import Bottleneck
from .exact import Number, float_text, integer_text
from .inspector import is_empty
from .model import Absent, ContextField, Handoff
from .notes import notes
from .text import code, plain

Block = Callable[[Analysis], Iterable[str]]
"""A block builder: the lines of one section, without blank lines before or after them."""

MAP_FIELDS = 24
"""Fields beyond which the arrow of the map grows no more; their number stands beside it."""

METADATA_SHOWN = 12
"""Keys of the metadata that the header shows."""

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
        yield f"| Weakest handoff | {phrases.arrow(weakest.inspection.handoff)}, {phrases.score(weakest)} |"
    yield f"| Relays | {len(scores.handoffs)}: {scores.scored} scored, {scores.unscored} not scored |"
    agents = [f"{code(agent.agent_id)} ({code(agent.role)})" for agent in trace.agents[: phrases.NAMES_SHOWN]]
    yield f"| Agents | {len(trace.agents)}: {phrases.more(agents, len(trace.agents))} |"
    tokens = sum(turn.tokens for turn in trace.turns if turn.tokens is not None)
    unknown = sum(turn.tokens is None for turn in trace.turns)
    aside = f" ({unknown} of the turns without a count)" if unknown else ""
    yield f"| Turns | {len(trace.turns)}, {integer_text(tokens)} tokens{aside} |"
    for key in sorted(trace.metadata)[:METADATA_SHOWN]:
        yield f"| Metadata {code(key)} | {phrases.value(trace.metadata[key])} |"
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
        return f"**No required field was lost in the {phrases.count(scores.scored, 'scored handoff')}.**"
    scored = (score.inspection for score in scores.handoffs if score.score is not None)
    seen = sum(len({*inspection.missing}.intersection(inspection.history)) for inspection in scored)
    aside = f" ({seen} of them only visible in the history)" if seen else ""
    return (
        f"**{lossy} of {phrases.count(scores.scored, 'scored handoff')} lost context: {phrases.count(missing, 'required field')} "
        f"never arrived{aside}, {empty} arrived empty.**"
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
            _carried(handoff.fields) or ("nothing" if handoff.recorded else "not known"),
            ", ".join(_remarks(handoff)) or "-",
        )
        yield f"| {' | '.join(cells)} |"


def _carried(fields: Sequence[ContextField]) -> str:
    shown = []
    for field in fields[: phrases.NAMES_SHOWN]:
        marks = []
        if is_empty(field.value):
            marks.append("empty")
        if field.state != "full":
            marks.append(field.state)
        if field.seen_in == "history":
            marks.append("history only")
        shown.append(code(field.name) + (f" ({', '.join(marks)})" if marks else ""))
    return phrases.more(shown, len(fields))


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
            phrases.names(inspection.empty) or "-",
            phrases.names(inspection.missing) or "-",
            phrases.names(inspection.unrecorded) or "-",
            phrases.names(inspection.extra) or "-",
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
            phrases.names(found.handoff_ids),
        )
        yield f"| {' | '.join(cells)} |"


def _finding(found: Bottleneck) -> str:
    run = "" if isinstance(found.run, Absent) else f" (run {code(found.run)})"
    return found.template.format(*map(code, found.names)) + run


def _mean(mean: float | None, count: int) -> str:
    return (
        f"{float_text(mean)} over {phrases.count(count, 'scored handoff')}"
        if mean is not None
        else "none: nothing to score"
    )


def _latency(latency: int | Number | None) -> str:
    return "not known" if latency is None else f"{_figure(latency)} ms"


def _figure(number: int | Number) -> str:
    return plain(number.text if isinstance(number, Number) else integer_text(number))


BLOCKS: tuple[Block, ...] = (header, flow_map, ledger, completeness, bottlenecks, notes)
