from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .authority import Authority


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """`authority(name)`: a certificate authority with a folder of its own."""

    def make(name: str = "authority", folder: Path | None = None) -> Authority:
        return Authority(folder or tmp_path_factory.mktemp(name), name)

    return make
