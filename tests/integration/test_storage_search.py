"""Search with more matches than results."""

from __future__ import annotations

import pytest

from roundtable import Roundtable
from roundtable.storage import SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.types import SearchQuery

pytestmark = [pytest.mark.both_loops, pytest.mark.slow]


async def test_the_first_results_are_the_newest_of_all_matches_each_with_its_own_text(disk: SQLiteStorage) -> None:
    asked = []
    for number in range(4):
        agents = scripted_agents({"ada": f"tea{number} wins", "bo": "Coffee"})
        async with Roundtable([*agents], storage=disk) as table:
            asked.append((await table.debate("Which?", rounds=3)).session_id)
    everything = await disk.search(SearchQuery(text="tea*", limit=1000))
    expected = [(asked[number], round_, f"tea{number} wins") for number in (3, 2, 1, 0) for round_ in (1, 2, 3)]
    assert [(hit.session_id, hit.round, hit.snippet) for hit in everything] == expected
    for limit in (1, 4, 12):
        assert await disk.search(SearchQuery(text="tea*", limit=limit)) == everything[:limit]
    within = await disk.search(SearchQuery(text="tea*", session_id=asked[1], limit=2))
    assert within == everything[6:8]
