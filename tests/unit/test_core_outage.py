"""How an outage is logged."""

from __future__ import annotations

import logging

import pytest

from roundtable.core.base.outage_reports import Outage

LOGGER = logging.getLogger("roundtable.engine")


def test_an_outage_is_logged_at_growing_intervals_and_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    outage = Outage(LOGGER, "waiting for the database", "the database is back", patience_s=1)
    with caplog.at_level(logging.INFO):
        for now[0] in range(4 * 3600):
            outage.failed("refused")
        outage.ended()
        outage.ended()
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert caplog.messages == [
        "waiting for the database: refused",
        "waiting for the database (1 min so far): refused",
        "waiting for the database (2 min so far): refused",
        "waiting for the database (4 min so far): refused",
        "waiting for the database (8 min so far): refused",
        "waiting for the database (16 min so far): refused",
        "waiting for the database (33 min so far): refused",
        "waiting for the database (1.1 h so far): refused",
        "waiting for the database (2.1 h so far): refused",
        "waiting for the database (3.1 h so far): refused",
        "the database is back, after 4.0 h",
    ]


def test_a_short_outage_is_not_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    outage = Outage(LOGGER, "waiting", "back", patience_s=1)
    with caplog.at_level(logging.INFO):
        for now[0] in (0, 0.9, 10, 10.9, 20):
            outage.failed("refused")
            if now[0] in {0.9, 10.9}:
                outage.ended()
    assert caplog.messages == []
