"""What a request is acknowledged by: how much of it will be taken, and what will be refused.

Apart from the decoders because both encodings answer with it, and because the accept path pays for nothing else: a request
is checked and acknowledged, and decoded once, later, away from the sender.
"""

from __future__ import annotations

import msgspec

from collector.otlp.model import Rejection


class Checked(msgspec.Struct, frozen=True, gc=False):
    """A request that can be read: `accepted` spans or log records are what the full decoder will give of it, and
    `rejections` what it will refuse."""

    accepted: int
    rejections: tuple[Rejection, ...] = ()
