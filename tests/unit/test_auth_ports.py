"""The port a server listens on."""

from __future__ import annotations

import socket

import pytest

from roundtable.auth.listening import listen


@pytest.mark.parametrize("reuse_port", [False, True])
def test_answers_do_not_wait_for_the_acknowledgement_of_the_client(reuse_port: bool) -> None:
    """Linux acknowledges after 40 ms what does not come in one piece."""
    with listen("127.0.0.1", 0, reuse_port=reuse_port) as taken, socket.create_connection(taken.getsockname()):
        accepted, _ = taken.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
