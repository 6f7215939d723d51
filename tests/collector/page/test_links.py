from __future__ import annotations

import pytest

from collector.listen.errors import StartError
from collector.page.links import TraceLinks


def test_ids_are_put_into_the_template_as_parts_of_an_address() -> None:
    links = TraceLinks("https://grafana/explore?trace={trace_id}&span={span_id}")
    assert links("a/b&c", "d e") == "https://grafana/explore?trace=a%2Fb%26c&span=d%20e"
    assert (links(""), TraceLinks("")("abc")) == ("", "")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("javascript:alert({trace_id})", "an http or https URL"),
        ("/trace/{trace_id}", "an http or https URL"),
        ("http://jaeger/trace/", "with {trace_id}"),
        ("http://jaeger/{trace_id}/{trace_id.__class__}", "no other name"),
        ("http://jaeger/{trace_id", "as a URL with {trace_id}"),
    ],
)
def test_a_template_that_cannot_serve_is_refused(template: str, message: str) -> None:
    with pytest.raises(StartError, match=message.replace("{", r"\{")):
        TraceLinks(template)
