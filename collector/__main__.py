"""`python -m collector`."""

from __future__ import annotations

import sys

from collector.cli import main

sys.exit(main())
