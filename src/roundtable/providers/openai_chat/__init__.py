"""The dialect of Chat Completions."""

from __future__ import annotations

from roundtable.providers.openai_chat.dialect import OpenAIChat
from roundtable.providers.openai_chat.servers import SERVERS, ChatServer, server_at

__all__ = ["SERVERS", "ChatServer", "OpenAIChat", "server_at"]
