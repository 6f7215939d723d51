from __future__ import annotations

from pathlib import Path

from collector.config.document import page
from collector.config.options import Options, build, table, value_of
from collector.config.values import parse, show


def test_the_committed_page_is_the_one_the_table_gives() -> None:
    committed = Path(__file__).parents[3] / "docs" / "configuration.md"
    assert committed.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_default_is_a_value_of_its_own_type() -> None:
    for option in table().values():
        assert parse(option.kind, option.default, option.choices) == option.default, option.name
        assert value_of(Options(), option.name) == option.default, option.name
        assert show(option.kind, option.default)


def test_every_option_has_a_sentence_and_a_variable_of_its_own() -> None:
    assert all(option.text.endswith(".") for option in table().values())
    assert len({option.environment for option in table().values()}) == len(table())


def test_built_options_keep_the_defaults_of_what_is_not_given() -> None:
    options = build({"sessions.grace": 1.0, "receive.tls.cert_file": "c.pem"})
    assert (options.sessions.grace, options.sessions.idle, options.receive.tls.cert_file) == (1.0, 300.0, "c.pem")
