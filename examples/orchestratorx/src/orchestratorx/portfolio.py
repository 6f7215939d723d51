"""Books (portfolios) and mandates as they come in, and the bundled reference data about instruments.

Separate from the state because a book is input: it is checked here, once, and everything behind this module may rely on
it. Reference data wins over what a book says of an instrument: a book cannot rename the sector it holds.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestratorx.rules import LIMIT_KEYS

__all__ = [
    "DEMO_BOOKS",
    "INCOMPLETE_BOOK",
    "Book",
    "BookError",
    "Holding",
    "Instrument",
    "Mandate",
    "Position",
    "check_book",
    "demo_book",
    "explain",
    "holdings",
    "instruments",
    "load_book",
    "parse_book",
    "returns",
]

DEMO_BOOKS = ("compliant", "concentrated", "restricted")
INCOMPLETE_BOOK = "concentrated"

_Name = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
_Amount = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e15, le=1e15)]
_Equity = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e15)]
_Limit = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e6)]


class BookError(ValueError):
    """A book that cannot be reviewed; the message names the key at fault."""


class _Frozen(BaseModel):
    # not strict as a whole: decoded JSON has lists where the models have tuples
    model_config = ConfigDict(frozen=True, extra="forbid")


class Position(_Frozen):
    """One holding: an amount of one instrument, negative when short.

    The last three fields describe an instrument that the reference data do not know; for one they know they are unused.
    """

    instrument: _Name
    value: _Amount
    issuer: _Name | None = None
    sector: _Name | None = None
    asset_class: _Name | None = None


class Mandate(_Frozen):
    """What was agreed with the client. `limits` holds stricter limits than the house's, by the key of the rule."""

    name: _Name
    permitted_asset_classes: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=50)]
    restricted_sectors: Annotated[tuple[_Name, ...], Field(max_length=100)] = ()
    limits: Mapping[str, _Limit] = Field(default_factory=dict)


class Book(_Frozen):
    """A portfolio to review. `equity` is what is left when all is sold and all debt paid; weights are shares of it."""

    portfolio_id: _Name
    name: _Name
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    equity: _Equity
    mandate: Mandate
    positions: Annotated[tuple[Position, ...], Field(min_length=1, max_length=5000)]


class Instrument(_Frozen):
    """What the reference data say of an instrument; `daily_volume` is the money traded on an average day."""

    instrument: str
    issuer: str
    sector: str
    asset_class: str
    daily_volume: float


class Holding(_Frozen):
    """A position with what is known of its instrument; `daily_volume` is None where nothing is."""

    instrument: str
    value: float
    issuer: str
    sector: str
    asset_class: str
    daily_volume: float | None


def _data(name: str) -> str:
    return (files("orchestratorx") / "data" / name).read_text(encoding="utf-8")


@cache
def instruments() -> Mapping[str, Instrument]:
    """The bundled reference data, by instrument. Synthetic."""
    return {row["instrument"]: Instrument(**row) for row in json.loads(_data("instruments.json"))}


@cache
def returns() -> Mapping[str, tuple[float, ...]]:
    """Daily returns of every bundled instrument, oldest first, all of one length. Synthetic."""
    rows = list(csv.reader(io.StringIO(_data("returns.csv"))))
    columns = zip(*rows[1:], strict=True)
    return {name: tuple(float(value) for value in column) for name, column in zip(rows[0], columns, strict=True)}


def holdings(positions: tuple[Position, ...]) -> tuple[Holding, ...]:
    """Positions with their instruments' data, in the same order.

    Raises BookError for an instrument that neither the reference data nor the position describe.
    """
    known = instruments()
    found = []
    for index, position in enumerate(positions):
        about = known.get(position.instrument)
        if about is not None:
            found.append(Holding(value=position.value, **about.model_dump()))
        elif position.issuer and position.sector and position.asset_class:
            described = position.model_dump()
            found.append(Holding(daily_volume=None, **described))
        else:
            raise BookError(
                f"positions[{index}].instrument: {position.instrument!r} is not in the reference data; "
                "describe it with issuer, sector and asset_class"
            )
    return tuple(found)


def explain(error: Mapping[str, Any]) -> str:
    """One error of pydantic in one line: the path of the key, then what is wrong."""
    path = ""
    for step in error["loc"]:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return f"{path or 'book'}: {error['msg'][0].lower()}{error['msg'][1:]}"


def parse_book(document: Any) -> Book:
    """A book from decoded JSON; raises BookError whose message starts with the path of the key at fault."""
    try:
        book = Book.model_validate(document)
    except ValidationError as error:
        raise BookError(explain(error.errors(include_url=False)[0])) from None
    check_book(book)
    return book


def check_book(book: Book) -> None:
    """What the types of a book cannot say: limits by a known key, instruments that are described. Raises BookError."""
    for key in book.mandate.limits:
        if key not in LIMIT_KEYS:
            raise BookError(f"mandate.limits.{key}: expected one of {', '.join(sorted(LIMIT_KEYS))}")
    holdings(book.positions)


def load_book(path: Path) -> Book:
    """A book from a JSON file; raises BookError, also for a file that cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = json.loads(text)
    except OSError as error:
        raise BookError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except (ValueError, RecursionError) as error:
        raise BookError(f"{path}: expected JSON in UTF-8: {error}") from None
    return parse_book(document)


def demo_book(name: str) -> Book:
    """One of the bundled books (DEMO_BOOKS)."""
    return parse_book(json.loads(_data(f"book_{name}.json")))
