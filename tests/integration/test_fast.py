"""The transport of the extra `fast` keeps every promise that the library's own keeps: the same tests, over aiohttp."""

from __future__ import annotations

import pytest

pytest.importorskip("aiohttp")

from integration.test_addresses_and_proxies import (  # noqa: F401
    TestProxies,
    test_https_to_a_port_of_plain_http_says_so,
    test_plain_http_to_a_port_of_https_says_so,
)
from integration.test_bad_hour import test_no_sink_of_an_error_holds_the_key  # noqa: F401
from integration.test_faults import (  # noqa: F401
    test_a_broken_chunk_that_comes_by_itself_ends_the_call_at_once,
    test_a_broken_connection,
    test_a_cancelled_call_hangs_up_and_is_nobodys_failure,
    test_a_compressed_answer_is_read_and_a_bomb_is_not,
    test_a_consumer_that_leaves_hangs_up,
    test_a_fault_in_one_read_with_the_first_pieces_comes_before_anything_is_shown_and_is_tried_again,
    test_a_fault_that_passes_leaves_no_trace_in_the_answer,
    test_a_kept_connection_that_was_dropped_costs_no_try,
    test_a_lasting_fault,
    test_a_lasting_fault_of_a_stream,
    test_a_port_nobody_listens_on,
    test_many_headers_are_read,
    test_many_small_events_cost_little,
    test_no_piece_needs_more_than_one_cancel_scope,
    test_the_deadline_holds_where_data_comes_faster_than_it_is_taken,
    test_the_deadline_is_that_of_the_whole_call,
    test_the_gateways_deadline_ends_a_call_whose_model_has_more_time,
)
from integration.test_http_client import (  # noqa: F401
    client,
    https,
    server,
    test_a_certificate_nobody_vouches_for_is_refused_for_good,
    test_a_connection_dropped_while_the_loop_was_busy_is_replaced,
    test_a_connection_the_server_dropped_is_replaced,
    test_a_header_that_cannot_be_sent_is_not_quoted,
    test_a_later_call_on_a_connection_has_its_own_deadline,
    test_a_request_and_its_answer_arrive_whole,
    test_an_odd_but_whole_answer_is_read,
    test_connections_are_kept_and_used_again,
)
from integration.test_open_connections import (  # noqa: F401
    test_a_connection_that_breaks_off_behind_the_terminator_costs_nothing,
    test_a_connection_whose_body_ends_is_used_again,
    test_a_stream_ends_at_its_terminator,
    test_an_answer_without_a_terminator_counts_at_the_deadline,
    test_heartbeats_behind_the_terminator_do_not_prolong_a_call,
)

from roundtable.http import HttpClient, HttpRequest
from roundtable.testing.servers import LoopbackServer, http_reply

pytestmark = pytest.mark.slow  # as these tests are over the library's own transport


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(HttpClient, "fast", True)


async def test_the_fast_transport_is_used():
    with LoopbackServer() as running:
        made = HttpClient("acme")
        await made.send(HttpRequest("POST", running.origin), timeout_s=5)
        assert type(made._transports.get().transport).__name__ == "FastTransport"
        await made.aclose()


async def test_no_cookie_is_kept():
    with LoopbackServer(lambda seen: http_reply(b"{}", headers={"set-cookie": "who=me"})) as running:
        made = HttpClient("acme")
        for _ in range(2):
            await made.send(HttpRequest("POST", running.origin), timeout_s=5)
        await made.aclose()
    assert "cookie" not in running.seen[1].headers
    assert running.connections == 1
