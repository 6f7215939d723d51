from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from collector.logs import configure

HOSTILE = 'a\nb\r\x1b[31m"{"level": "error"}'


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def test_a_record_is_one_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    logging.getLogger("collector.x").info(
        "session closed", extra={"fields": {"session": HOSTILE, "spans": 3, "level": "forged"}}
    )
    logging.getLogger("collector.x").debug("not written")
    (line,) = stream.getvalue().splitlines()
    record = json.loads(line)
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "info",
        "logger": "collector.x",
        "message": "session closed",
        "session": HOSTILE,
        "spans": 3,
    }
    assert line.isascii()


def test_text_escapes_what_could_forge_a_line_or_colour_a_terminal() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    logging.getLogger("collector.x").warning("took %s", HOSTILE, extra={"fields": {"name": "a b\n"}})
    (line,) = stream.getvalue().splitlines()
    assert line.endswith('WARNING took a\\nb\\r\\x1b[31m"{"level": "error"} name="a b\\n"')


def test_a_traceback_stays_in_its_record() -> None:
    stream = io.StringIO()
    configure("info", "json", stream)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("collector.x").exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError" in json.loads(line)["exception"]


def test_libraries_that_tell_of_each_connection_are_quiet() -> None:
    stream = io.StringIO()
    configure("debug", "json", stream)
    logging.getLogger("uvicorn.error").info("started")
    assert stream.getvalue() == ""
