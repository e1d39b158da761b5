"""Lines of any length, read whole and numbered."""

from __future__ import annotations

import io
import json

import pytest

from precompact_cli.logs import lines
from precompact_cli.logs.events import Damaged
from precompact_cli.logs.lines import CUT_SHORT, read_objects


@pytest.mark.parametrize("near", [1, 7, 1_000_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_large_lines_are_read_as_small_ones_are(
    near: int, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured first, then read at once; blank ones count, and a last one may be cut short."""
    monkeypatch.setattr(lines, "_NEAR_BYTES", near)
    monkeypatch.setattr(lines, "_SKIPPED_BYTES", 5)
    told = [{"a": "é" * size, "b": [size, None, 1.5]} for size in (0, 3, 40)]
    raw = [json.dumps(one, ensure_ascii=False).encode() for one in told]
    text = (
        b"\xef\xbb\xbf"
        + raw[0]
        + end
        + b" " * 100
        + end
        + raw[1]
        + end
        + b"[1]"
        + end
        + raw[2]
        + end
        + b'{"a'
    )
    assert list(read_objects(io.BytesIO(text))) == [
        (1, told[0]),
        (3, told[1]),
        Damaged(4, "no JSON object"),
        (5, told[2]),
        Damaged(6, CUT_SHORT),
    ]


@pytest.mark.parametrize(
    "raw", [b'{"a": NaN}', b'{"a": "\\ud83d"}', b'{"a": 1, "a": 2}', b'{"a": %d}' % 10**30]
)
def test_a_large_line_may_hold_all_that_a_small_one_may(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads it."""
    small = list(read_objects(io.BytesIO(raw)))
    monkeypatch.setattr(lines, "_NEAR_BYTES", 1)
    assert str(list(read_objects(io.BytesIO(raw)))) == str(small)
