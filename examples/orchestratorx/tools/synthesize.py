"""Makes the bundled synthetic data: `python tools/synthesize.py`.

Separate from the package, which only reads the result. Uses the standard library's generator with a fixed seed, whose
`gauss` gives the same numbers on every platform and version, so a test can compare the files byte for byte.
The model: one market factor and one factor a sector, each instrument with its own noise.
"""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

DATA = Path(__file__).parents[1] / "src" / "orchestratorx" / "data"
DAYS = 252
SEED = 20260417

# instrument, issuer, sector, asset class, money traded a day (millions), yearly volatility, share of the market factor
UNIVERSE: tuple[tuple[str, str, str, str, float, float, float], ...] = (
    ("AQL-EQ", "Aquila Software", "technology", "equity", 480, 0.30, 0.70),
    ("BRT-EQ", "Brightwell Semiconductors", "technology", "equity", 390, 0.34, 0.70),
    ("CDR-EQ", "Cedar Networks", "technology", "equity", 210, 0.28, 0.65),
    ("DLM-EQ", "Delmar Health", "healthcare", "equity", 260, 0.20, 0.55),
    ("ERS-EQ", "Erskine Pharma", "healthcare", "equity", 300, 0.22, 0.50),
    ("FNT-EQ", "Fontaine Foods", "consumer_staples", "equity", 180, 0.16, 0.50),
    ("GRV-EQ", "Grove Household", "consumer_staples", "equity", 150, 0.15, 0.50),
    ("HLX-EQ", "Halyx Bank", "financials", "equity", 340, 0.26, 0.75),
    ("INT-EQ", "Intermarch Insurance", "financials", "equity", 170, 0.22, 0.70),
    ("JNP-EQ", "Juniper Utilities", "utilities", "equity", 120, 0.15, 0.40),
    ("KST-EQ", "Kestrel Power", "utilities", "equity", 110, 0.17, 0.40),
    ("LMB-EQ", "Lombard Rail", "industrials", "equity", 160, 0.21, 0.65),
    ("MRD-EQ", "Meridian Machinery", "industrials", "equity", 190, 0.25, 0.70),
    ("NVA-EQ", "Nova Retail", "consumer_discretionary", "equity", 230, 0.29, 0.70),
    ("OST-EQ", "Ostrava Motors", "consumer_discretionary", "equity", 200, 0.33, 0.70),
    ("PXL-EQ", "Pexel Energy", "energy", "equity", 280, 0.27, 0.55),
    ("QRN-EQ", "Quern Materials", "materials", "equity", 130, 0.26, 0.60),
    ("RED-EQ", "Redstone Tobacco", "tobacco", "equity", 140, 0.18, 0.40),
    ("SGV-EQ", "Segovia Defence", "controversial_weapons", "equity", 90, 0.24, 0.45),
    ("TRS-2Y", "Treasury of Arcadia", "sovereign", "government_bond", 2000, 0.02, 0.00),
    ("TRS-10Y", "Treasury of Borealis", "sovereign", "government_bond", 1800, 0.06, -0.15),
    ("UNI-5Y", "Unity Development Bank", "supranational", "government_bond", 700, 0.035, -0.05),
    ("VLT-7Y", "Vault Water Bonds", "utilities", "corporate_bond", 60, 0.05, 0.15),
    ("WST-5Y", "Westbrook Telecom Bonds", "communication", "corporate_bond", 55, 0.06, 0.20),
)

BALANCED = {
    "name": "balanced",
    "permitted_asset_classes": ["equity", "government_bond", "corporate_bond"],
    "restricted_sectors": ["tobacco", "controversial_weapons"],
    "limits": {"max_leverage": 1.2},
}
GROWTH = {
    "name": "growth",
    "permitted_asset_classes": ["equity", "government_bond", "corporate_bond"],
    "restricted_sectors": ["controversial_weapons"],
    "limits": {},
}


def _positions(values: dict[str, float]) -> list[dict[str, object]]:
    return [{"instrument": name, "value": value} for name, value in values.items()]


BOOKS: dict[str, dict[str, object]] = {
    "compliant": {
        "portfolio_id": "PF-1001",
        "name": "Compliant book",
        "currency": "USD",
        "equity": 10_000_000.0,
        "mandate": BALANCED,
        "positions": _positions(
            {
                "AQL-EQ": 700_000.0,
                "CDR-EQ": 500_000.0,
                "DLM-EQ": 800_000.0,
                "ERS-EQ": 600_000.0,
                "FNT-EQ": 800_000.0,
                "GRV-EQ": 600_000.0,
                "HLX-EQ": 600_000.0,
                "JNP-EQ": 700_000.0,
                "LMB-EQ": 600_000.0,
                "TRS-2Y": 900_000.0,
                "TRS-10Y": 900_000.0,
                "UNI-5Y": 900_000.0,
                "VLT-7Y": 600_000.0,
                "WST-5Y": 600_000.0,
            }
        ),
    },
    "concentrated": {
        "portfolio_id": "PF-1002",
        "name": "Concentrated and over-levered",
        "currency": "USD",
        "equity": 10_000_000.0,
        "mandate": GROWTH,
        "positions": _positions(
            {
                "AQL-EQ": 2_200_000.0,
                "HLX-EQ": 1_800_000.0,
                "DLM-EQ": 1_000_000.0,
                "ERS-EQ": 1_000_000.0,
                "FNT-EQ": 1_000_000.0,
                "GRV-EQ": 1_000_000.0,
                "JNP-EQ": 1_000_000.0,
                "KST-EQ": 900_000.0,
                "LMB-EQ": 1_000_000.0,
                "MRD-EQ": 900_000.0,
                "NVA-EQ": 900_000.0,
                "PXL-EQ": 900_000.0,
                "TRS-2Y": 1_000_000.0,
                "TRS-10Y": 1_000_000.0,
                "UNI-5Y": 800_000.0,
            }
        ),
    },
    "restricted": {
        "portfolio_id": "PF-1003",
        "name": "Restricted sector held",
        "currency": "USD",
        "equity": 10_000_000.0,
        "mandate": BALANCED,
        "positions": _positions(
            {
                "AQL-EQ": 600_000.0,
                "DLM-EQ": 800_000.0,
                "FNT-EQ": 800_000.0,
                "GRV-EQ": 700_000.0,
                "INT-EQ": 500_000.0,
                "JNP-EQ": 700_000.0,
                "MRD-EQ": 500_000.0,
                "PXL-EQ": 500_000.0,
                "RED-EQ": 400_000.0,
                "TRS-2Y": 1_000_000.0,
                "TRS-10Y": 900_000.0,
                "UNI-5Y": 900_000.0,
                "WST-5Y": 500_000.0,
            }
        ),
    },
}


def instruments_json() -> str:
    """The reference data."""
    rows = [
        {
            "instrument": name,
            "issuer": issuer,
            "sector": sector,
            "asset_class": asset_class,
            "daily_volume": volume * 1e6,
        }
        for name, issuer, sector, asset_class, volume, _, _ in UNIVERSE
    ]
    return "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n"


def returns_csv() -> str:
    """Daily returns, one column an instrument, to 5 decimals."""
    draw = random.Random(SEED)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([row[0] for row in UNIVERSE])
    sectors = sorted({row[2] for row in UNIVERSE})
    for _ in range(DAYS):
        market = draw.gauss(0.0, 1.0)
        sector = {name: draw.gauss(0.0, 1.0) for name in sectors}
        row = []
        for _, _, name, _, _, volatility, share in UNIVERSE:
            own = draw.gauss(0.0, 1.0)
            rest = 1.0 - share * share
            shock = share * market + (0.3 * rest) ** 0.5 * sector[name] + (0.7 * rest) ** 0.5 * own
            row.append(f"{0.0002 + volatility / DAYS**0.5 * shock:.5f}")
        writer.writerow(row)
    return out.getvalue()


def book_json(name: str) -> str:
    """One of the bundled books."""
    return json.dumps(BOOKS[name], indent=2) + "\n"


def everything() -> dict[str, str]:
    """File name -> content."""
    made = {"instruments.json": instruments_json(), "returns.csv": returns_csv()}
    return made | {f"book_{name}.json": book_json(name) for name in BOOKS}


if __name__ == "__main__":
    for file, text in everything().items():
        (DATA / file).write_text(text, encoding="utf-8", newline="\n")
