"""Options that change what a session is and what is told of it, as `serve` takes them: that each reaches what it names."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

Serving = Callable[..., AbstractContextManager[Any]]
IN_BAND = {"key": "orbitrelay.contract", "value": {"stringValue": '{"researcher": ["goal", "owner"]}'}}
OPTIONS = {
    "sessions.tenant_attributes": "team,service.name",
    "sessions.environment_attributes": "telemetry.sdk.language",
    "contracts.in_band": "true",
    "content.mode": "names",
    "limits.session_spans": "5",
    "metrics.max_series": "2",
    "files.dir": "elsewhere",
}


def test_each_option_reaches_what_it_names(serving: Serving, tmp_path: Path, recorded: list[bytes]) -> None:
    bodies = []
    for body in recorded:
        request = json.loads(body)
        for resource in request["resourceSpans"]:
            resource["resource"]["attributes"].append(IN_BAND)
        bodies.append(json.dumps(request).encode())
    elsewhere = tmp_path / "elsewhere"
    with serving(tmp_path / "data", {**OPTIONS, "files.dir": str(elsewhere)}) as process:
        process.play(bodies)
        (session,) = process.closed()
        session = process.get(f"/api/v1/sessions/{session['session_id']}/report").json()["report"]["session"]
        document = process.get(f"/api/v1/sessions/{session['session_id']}/trace").json()
        process.until(lambda: len(list(elsewhere.glob("*"))) == 2)
        series = [line for line in process.get("/metrics").text.splitlines() if "handoff_count_total{" in line]
    assert (session["tenant"], session["environment"], session["content"]) == ("gateway-team", "python", "names")
    assert session["partial_reasons"] == ["span_limit"]
    assert document["contract"] == {"researcher": ["goal", "owner"]}
    values = {json.dumps(field["value"]) for handoff in document["handoffs"] for field in handoff["fields"]}
    assert values <= {"[]", '""', "null", "{}", '"[not kept]"'}, values
    assert ['otel_metric_overflow="true"' in line for line in sorted(series)] == [False, True], series
