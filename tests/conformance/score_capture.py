#!/usr/bin/env python3
"""Score trace documents against the ground truth of a capture.

    score_capture.py EXPECTED.json TRACE.json [TRACE.json ...]
    score_capture.py --all CAPTURES_DIR TRACES_DIR

The first form scores one capture, the second every folder of CAPTURES_DIR that holds an expected.json, against
TRACES_DIR/<folder>/*.trace.json (a capture without a trace scores zero), and adds a total line.

What is scored:
  sessions  trace documents found / expected
  edges     handoffs that are no return and have status completed, aligned in order (longest common subsequence on
            source and target); expected ones with edge_visible=false are excused from recall
  returns   handoffs with origin.mode "return", the same way
  dropped   handoffs with status "dropped" found / expected (+extra)
  fields    over the aligned handoffs whose content is recorded in the spans: name (as snake_case) and value must agree,
            an empty field must be there and be empty, an omitted one must be absent. `message` and the names under
            "optional" are free on both sides. An expected object also counts when its members are fields of their own.
  text      where a text is all that the handoff carried: how many have it as `message` (for information)
  unrec.    handoffs whose content is not in the spans that are flagged recorded=false / all (!n: flagged wrongly)
  mode      aligned handoffs with the right origin.mode (for information)
  id        the session id, when it is visible in the spans, is the trace_id or a value in the metadata

Exit code: 0, or 1 if --min-edge or --min-field is given and the F1 of edges or fields (of the total with --all) is
below it, or 2 if an input cannot be read. Python 3.11+, standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
JOINTS = (", ", "; ", ",", ";", "\n", "\n- ")


class UnreadableError(Exception):
    """An input that is missing, is not JSON, or has not the shape of what it should be."""


@dataclass
class Tally:
    """Counts behind a precision and a recall; tallies add up."""

    hit: int = 0
    found: int = 0
    expected: int = 0

    @property
    def precision(self) -> float:
        return self.hit / self.found if self.found else float(not self.expected)

    @property
    def recall(self) -> float:
        return self.hit / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        p, r = self.precision, self.recall
        return 2 * p * r / (p + r) if p + r else 0.0

    def add(self, other: Tally) -> None:
        self.hit += other.hit
        self.found += other.found
        self.expected += other.expected

    def as_json(self) -> Json:
        return {
            "hit": self.hit,
            "found": self.found,
            "expected": self.expected,
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "f1": round(self.f1, 4),
        }


COUNTS = ("sessions", "edges", "returns", "dropped", "fields", "text", "unrecorded", "mode", "session_id")


@dataclass
class Score:
    """The score of one capture, or of all together."""

    name: str
    sessions: Tally = field(default_factory=Tally)
    edges: Tally = field(default_factory=Tally)
    returns: Tally = field(default_factory=Tally)
    dropped: Tally = field(default_factory=Tally)
    fields: Tally = field(default_factory=Tally)
    text: Tally = field(default_factory=Tally)
    unrecorded: Tally = field(default_factory=Tally)
    mode: Tally = field(default_factory=Tally)
    session_id: Tally = field(default_factory=Tally)
    misses: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        for name in COUNTS:
            getattr(self, name).add(getattr(other, name))

    def as_json(self) -> Json:
        return {"capture": self.name, **{n: getattr(self, n).as_json() for n in COUNTS}, "misses": self.misses}


# ---------------------------------------------------------------- comparing


def agent_key(name: Any) -> str:
    return re.sub(r"[-_\s]+", " ", str(name)).strip().casefold()


def edge(handoff: Json) -> tuple[str, str]:
    source = handoff.get("source", handoff.get("source_agent"))
    return agent_key(source), agent_key(handoff.get("target", handoff.get("target_agent")))


def snake(name: Any) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", str(name).strip())
    return re.sub(r"[\s\-.]+", "_", words).casefold()


def normal(value: Any) -> Any:
    """A value in a form that compares: strings stripped, JSON text of an object or a list read."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in ("{", "["):
            try:
                return normal(json.loads(text))
            except ValueError:
                return text
        return text
    if isinstance(value, list):
        return [normal(v) for v in value]
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    return value


def is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def same(expected: Any, actual: Any, form: str) -> bool:
    want, got = normal(expected), normal(actual)
    if is_empty(want) or is_empty(got):
        return is_empty(want) and is_empty(got)
    if form != "json" and isinstance(want, str) and isinstance(got, list):  # a list written out in a text
        return any(want == joint.join(map(str, got)) for joint in JOINTS)
    if isinstance(want, bool) != isinstance(got, bool):  # 1 == True in Python
        return False
    return bool(want == got)


def actual_fields(handoff: Json) -> Json:
    out: Json = {}
    for item in handoff.get("fields") or []:
        if isinstance(item, dict) and item.get("seen_in") != "history":  # seen, not carried
            out.setdefault(snake(item.get("name")), item.get("value"))
    return out


def compare_fields(want: Json, got: Json) -> tuple[Tally, list[str]]:
    """Fields of an expected handoff against those of the aligned one."""
    form = want.get("form", "json")
    expected = {snake(k): v for k, v in want["fields"].items() if k != "message"}
    optional = {snake(k) for k in want.get("optional", ())} | {"message"}
    actual = {k: v for k, v in actual_fields(got).items() if k in expected or k not in optional}
    explained: set[str] = set()
    tally, misses = Tally(expected=len(expected)), []
    for name, value in expected.items():
        members = normal(value)
        members = {snake(k): v for k, v in members.items()} if isinstance(members, dict) else {}
        unfolded = {k for k, v in members.items() if k in actual and k not in expected and same(v, actual[k], form)}
        explained |= unfolded
        if name in actual:
            tally.found += 1
            if same(value, actual[name], form):
                tally.hit += 1
            else:
                misses.append(f"{name} should be {short(value)}, is {short(actual[name])}")
        elif members and len(unfolded) == len(members):
            tally.found += 1
            tally.hit += 1
        else:
            misses.append(f"{name} is not there")
    omitted = {snake(k) for k in want.get("omitted", ())}
    for name in sorted(set(actual) - set(expected) - explained):
        tally.found += 1
        misses.append(f"{name} is there, but was {'omitted' if name in omitted else 'not passed'}")
    return tally, misses


def align(want: Sequence[Json], got: Sequence[Json], weight: Callable[[Json, Json], int]) -> list[tuple[int, int]]:
    """Longest common subsequence on (source, target); among the longest, the one of the greatest weight."""
    n, m = len(want), len(got)
    best = [[(0, 0)] * (m + 1) for _ in range(n + 1)]
    pair: dict[tuple[int, int], tuple[int, int]] = {}
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            if edge(want[i]) == edge(got[j]):
                length, value = best[i + 1][j + 1]
                pair[i, j] = (length + 1, value + weight(want[i], got[j]))
                best[i][j] = max(best[i][j], pair[i, j])
    out, i, j = [], 0, 0
    while i < n and j < m:
        if pair.get((i, j)) == best[i][j]:
            out.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] == best[i][j]:
            i += 1
        else:
            j += 1
    return out


def align_all(
    want: Sequence[Json], docs: Sequence[Sequence[Json]], weight: Callable[[Json, Json], int]
) -> list[tuple[int, int, int]]:
    """Aligns each document, the largest first, with what no other has claimed: (want, document, handoff) indices."""
    free, out = list(range(len(want))), []
    for d in sorted(range(len(docs)), key=lambda k: -len(docs[k])):
        pairs = [(free[i], d, j) for i, j in align([want[i] for i in free], docs[d], weight)]
        free = [i for i in free if i not in {p[0] for p in pairs}]
        out += pairs
    return sorted(out)


# ------------------------------------------------------------------ scoring


def origin_mode(handoff: Json) -> str:
    origin = handoff.get("origin")
    return str(origin.get("mode", "")) if isinstance(origin, dict) else ""


def strings(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(strings, value.values()))
    if isinstance(value, list):
        return set().union(*map(strings, value))
    return {str(value)}


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def arrow(handoff: Json) -> str:
    source = handoff.get("source", handoff.get("source_agent"))
    return f"{source} -> {handoff.get('target', handoff.get('target_agent'))}"


def score(name: str, expected: Json, traces: Sequence[Json]) -> Score:
    """Scores the trace documents of one capture against its ground truth."""
    out = Score(name)
    done, back, lost = [], [], []
    for trace in traces:
        relays = trace["handoffs"]
        completed = [h for h in relays if (h.get("status") or "completed") == "completed"]
        done.append([h for h in completed if origin_mode(h) != "return"])
        back.append([h for h in completed if origin_mode(h) == "return"])
        lost.append([h for h in relays if h.get("status") == "dropped"])

    out.sessions = Tally(min(len(traces), expected["sessions"]), len(traces), expected["sessions"])

    want: list[Json] = expected["handoffs"]
    pairs = align_all(want, done, lambda w, g: compare_fields(w, g)[0].hit if w["recorded"] else 0)
    paired = {i for i, _, _ in pairs}
    excused = sum(1 for i, w in enumerate(want) if i not in paired and not w["edge_visible"])
    out.edges = Tally(len(pairs), sum(map(len, done)), len(want) - excused)
    out.misses += [
        f"edge {w['n']} {arrow(w)} is not there" for i, w in enumerate(want) if i not in paired and w["edge_visible"]
    ]
    used = {(d, j) for _, d, j in pairs}
    out.misses += [
        f"edge {arrow(h)} ({h.get('handoff_id')}) is one too many"
        for d, relays in enumerate(done)
        for j, h in enumerate(relays)
        if (d, j) not in used
    ]

    for i, d, j in pairs:
        w, g = want[i], done[d][j]
        where = f"handoff {w['n']} {arrow(w)}: "
        out.mode.add(Tally(int(origin_mode(g) == w["mode"]), 1, 1))
        flagged = g.get("recorded", True) is False
        if not w["recorded"]:
            out.unrecorded.add(Tally(int(flagged), int(flagged), 1))
            if not flagged:
                out.misses.append(where + "the spans have no content of it, and it is not flagged recorded=false")
            continue
        if flagged:
            out.unrecorded.found += 1
            out.misses.append(where + "flagged recorded=false, but its content is in the spans")
        tally, misses = compare_fields(w, g)
        out.fields.add(tally)
        out.misses += [where + m for m in misses]
        if set(w["fields"]) == {"message"}:
            got = actual_fields(g)
            out.text.add(Tally(int(same(w["fields"]["message"], got.get("message"), "text")), int("message" in got), 1))

    returns: list[Json] = expected["returns"]
    pairs = align_all(returns, back, lambda w, g: 0)
    out.returns = Tally(len(pairs), sum(map(len, back)), len(returns))
    missing = set(range(len(returns))) - {i for i, _, _ in pairs}
    out.misses += [f"return {arrow(returns[i])} is not there" for i in sorted(missing)]

    gone = [edge(h) for relays in lost for h in relays]
    out.dropped = Tally(0, len(gone), len(expected["dropped"]))
    for w in expected["dropped"]:
        if edge(w) in gone:
            gone.remove(edge(w))
            out.dropped.hit += 1
        else:
            out.misses.append(f"dropped {arrow(w)} is not there")

    if expected["session_id_visible"]:
        claims = [sum(1 for p in used if p[0] == d) for d in range(len(traces))]
        main = traces[claims.index(max(claims))] if traces else {}
        ids = {str(main.get("trace_id"))} | strings(main.get("metadata") or {})
        right = expected["session_id"] in ids
        out.session_id = Tally(int(right), int(right), 1)
        if not right:
            out.misses.append(f"session id {expected['session_id']} is neither trace_id nor in the metadata")
    return out


# ------------------------------------------------------------- input, output


def read(path: Path) -> Json:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as err:
        raise UnreadableError(f"{path}: {err}") from err
    if not isinstance(data, dict) or not isinstance(data.get("handoffs"), list):
        raise UnreadableError(f"{path}: not an object with a list of handoffs")
    if not all(isinstance(h, dict) for h in data["handoffs"]):
        raise UnreadableError(f"{path}: a handoff is not an object")
    return data


def read_expected(path: Path) -> Json:
    data = read(path)
    missing = {"session_id", "session_id_visible", "sessions", "returns", "dropped"} - set(data)
    if missing:
        raise UnreadableError(f"{path}: no {', '.join(sorted(missing))}")
    return data


def table(scores: Sequence[Score]) -> str:
    def prf(t: Tally) -> list[str]:
        return [f"{t.precision:.2f}", f"{t.recall:.2f}", f"{t.f1:.2f}"] if t.expected or t.found else ["-"] * 3

    def part(t: Tally, extra: int = 0, sign: str = "+") -> str:
        return (f"{t.hit}/{t.expected}" + (f"{sign}{extra}" if extra else "")) if t.expected or extra else "-"

    rows = [
        [
            "capture",
            "sessions",
            "edge P",
            "R",
            "F1",
            "return P",
            "R",
            "dropped",
            "field P",
            "R",
            "F1",
            "text",
            "unrec.",
            "mode",
            "id",
        ]
    ]
    for s in scores:
        rows.append(
            [
                s.name,
                f"{s.sessions.found}/{s.sessions.expected}",
                *prf(s.edges),
                *prf(s.returns)[:2],
                part(s.dropped, s.dropped.found - s.dropped.hit),
                *prf(s.fields),
                part(s.text),
                part(s.unrecorded, s.unrecorded.found - s.unrecorded.hit, "!"),
                part(s.mode),
                part(s.session_id),
            ]
        )
    widths = [max(len(r[c]) for r in rows) for c in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def main(argv: Sequence[str] | None = None) -> int:
    assert __doc__
    about, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE", help="EXPECTED.json TRACE.json [TRACE.json ...]")
    parser.add_argument("--all", nargs=2, type=Path, metavar=("CAPTURES_DIR", "TRACES_DIR"), help="score every capture")
    parser.add_argument("--min-edge", type=float, metavar="F", help="exit 1 if the edge F1 is below F")
    parser.add_argument("--min-field", type=float, metavar="F", help="exit 1 if the field F1 is below F")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every miss below the table")
    args = parser.parse_args(argv)
    if bool(args.all) == bool(args.paths) or (args.paths and len(args.paths) < 2):
        parser.error("give EXPECTED.json and at least one TRACE.json, or --all CAPTURES_DIR TRACES_DIR")

    total = Score("TOTAL")
    try:
        if args.all:
            captures, traces = args.all
            found = sorted(captures.glob("*/expected.json"))
            if not found:
                raise UnreadableError(f"{captures}: no <capture>/expected.json")
            scores = [
                score(
                    f.parent.name,
                    read_expected(f),
                    [read(t) for t in sorted((traces / f.parent.name).glob("*.trace.json"))],
                )
                for f in found
            ]
        else:
            first, *rest = args.paths
            scores = [score(first.resolve().parent.name, read_expected(first), [read(p) for p in rest])]
    except UnreadableError as err:
        print(f"score_capture: {err}", file=sys.stderr)
        return 2
    for s in scores:
        total.add(s)

    if args.json:
        out: Json = {"captures": [s.as_json() for s in scores]}
        if args.all:
            out["total"] = {k: v for k, v in total.as_json().items() if k not in ("capture", "misses")}
        print(json.dumps(out, indent=2, sort_keys=True, ensure_ascii=False))
    else:
        print(table([*scores, total] if args.all else scores))
        if args.verbose:
            print("\n".join(f"{s.name}: {m}" for s in scores for m in s.misses))

    field_f1 = total.fields.f1 if total.edges.hit else 0.0  # nothing aligned: nothing to be proud of
    bars = [("edge", args.min_edge, total.edges.f1), ("field", args.min_field, field_f1)]
    low = [f"{what} F1 {f1:.4f} is below {bar}" for what, bar, f1 in bars if bar is not None and f1 < bar]
    for line in low:
        print(f"score_capture: {line}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
