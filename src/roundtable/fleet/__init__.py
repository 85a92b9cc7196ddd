"""Fleets: thousands of debates go through a queue that survives crashes, and any number of workers run them.

Needs the extra `fleet`.
"""

from __future__ import annotations

from roundtable.fleet.fleet import Fleet
from roundtable.fleet.jobs import JobStatus, read_jsonl
from roundtable.fleet.overview import FleetOverview, FleetState

__all__ = ["Fleet", "FleetOverview", "FleetState", "JobStatus", "read_jsonl"]
