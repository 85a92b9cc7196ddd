"""Search positions for words, with the full-text index of SQLite.

The storage in memory builds the same index for each search, so that both storages return the same results.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from roundtable.core.base.text import well_formed
from roundtable.core.types.storage import SearchHit
from roundtable.storage.database import MIGRATIONS
from roundtable.storage.rules import from_micros, to_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import SearchQuery

__all__ = ["Tokenizer", "find_words", "index_position", "search_in"]


_QUERY_PART = re.compile(r'"([^"]*)"|([^\s"]+)')


_LONGEST_WORD: Final = 500
"""Characters of a word that other indexes store. Other indexes only preselect positions for the index of SQLite."""
_MOST_BYTES: Final = 500_000
"""Bytes of the words of one position that other indexes store."""


class Tokenizer:
    """Splits texts into words as the index of SQLite does, for other indexes. Words have only letters and digits.

    Don't use one object on several threads at once.

    Example:
        >>> tokenizer = Tokenizer()
        >>> tokenizer.query_words('Tea "in winter" mik*')
        [('tea', False), ('in', False), ('winter', False), ('mik', True)]
        >>> tokenizer.close()
    """

    def __init__(self) -> None:
        self._opened: sqlite3.Connection | None = None

    def position_words(self, event: DurableEvent) -> list[str]:
        """Return the words of the position that an event reports, each once; empty if it reports no position."""
        if event.type != "agent_complete" or event.turn.answer.kind != "position":
            return []
        answer = event.turn.answer
        size, words = 0, list[str]()
        for word in self._words(f"{well_formed(answer.position)}\n{well_formed(answer.reasoning)}"):
            size += len(word.encode()) + 8
            if size > _MOST_BYTES:
                break
            words.append(word)
        return words

    def query_words(self, text: str) -> list[tuple[str, bool]]:
        """Return the words of a user's query, and whether each word may be only the beginning of a longer word.

        Every position that `find_words` returns contains all of these words.
        """
        words: list[tuple[str, bool]] = []
        for phrase, word in _QUERY_PART.findall(well_formed(text).replace("\0", " ")):
            is_prefix = len(word) > 1 and word.endswith("*")
            # SQLite allows only the last word to be a beginning; this method does not know which word is the last.
            words += [(token, is_prefix or len(token) == _LONGEST_WORD) for token in self._words(phrase or word)]
        return words

    def close(self) -> None:
        """Free the memory; idempotent."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _words(self, text: str) -> list[str]:
        connection = self._opened or self._open()
        connection.execute("INSERT INTO texts (text) VALUES (?)", (text,))
        words = [word[:_LONGEST_WORD] for (word,) in connection.execute("SELECT term FROM words")]
        connection.execute("INSERT INTO texts (texts) VALUES ('delete-all')")
        return words

    def _open(self) -> sqlite3.Connection:
        self._opened = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # The index does not store the texts themselves, so one statement can empty it.
        self._opened.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
        )
        self._opened.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'row')")
        return self._opened


def match_expression(text: str) -> str:
    """Return a user's query as an FTS5 expression; only quotes and a final `*` have a special meaning.

    Example:
        >>> match_expression('tea "in winter" OR mik*')
        '"tea" "in winter" "OR" "mik"*'
    """
    parts: list[str] = []
    for phrase, word in _QUERY_PART.findall(well_formed(text).replace("\0", " ")):
        star = "*" if len(word) > 1 and word.endswith("*") else ""
        parts.append(f'"{phrase or word.removesuffix("*")}"{star}')
    return " ".join(parts)


def index_position(connection: sqlite3.Connection, tenant: str, session_id: str, seq: int, event: DurableEvent) -> None:
    """Add the position that an event reports to the index, if it reports one."""
    if event.type != "agent_complete" or event.turn.answer.kind != "position":
        return
    turn, answer = event.turn, event.turn.answer
    row_id = connection.execute(
        """
        INSERT INTO positions (tenant, session_id, seq, round, agent_id, agent_name) VALUES (?, ?, ?, ?, ?, ?)
        """,
        (tenant, session_id, seq, turn.round, well_formed(turn.agent_id), well_formed(turn.agent_name)),
    ).lastrowid
    connection.execute(
        "INSERT INTO position_texts (rowid, position, reasoning) VALUES (?, ?, ?)",
        (row_id, well_formed(answer.position), well_formed(answer.reasoning)),
    )


def find_words(connection: sqlite3.Connection, query: SearchQuery) -> tuple[SearchHit, ...]:
    """Return the positions that contain all words: newest session first, then in event order."""
    words = match_expression(query.text)
    if not words:
        return ()
    # Cutting out a text costs much more than finding its position, so this is done only for the results. The `+` makes
    # SQLite read the matches once; otherwise, it would search the words again for each result.
    rows = connection.execute(
        """
        WITH hits AS MATERIALIZED (
            SELECT positions.place, sessions.id, sessions.topic, sessions.created_us, positions.seq, positions.round,
                   positions.agent_id, positions.agent_name
            FROM position_texts
            JOIN positions ON positions.place = position_texts.rowid
            JOIN sessions ON sessions.tenant = positions.tenant AND sessions.id = positions.session_id
            WHERE position_texts MATCH :words
              AND positions.tenant = :tenant
              AND (:session IS NULL OR positions.session_id = :session)
            ORDER BY sessions.created_us DESC, sessions.id DESC, positions.seq
            LIMIT :limit
        ), texts AS MATERIALIZED (
            SELECT rowid AS place, snippet(position_texts, -1, '', '', '…', 32) AS text
            FROM position_texts
            WHERE position_texts MATCH :words AND +rowid IN (SELECT place FROM hits)
        )
        SELECT id, topic, created_us, seq, round, agent_id, agent_name, text
        FROM hits JOIN texts ON texts.place = hits.place
        ORDER BY created_us DESC, id DESC, seq
        """,
        {
            "words": words,
            "tenant": well_formed(query.tenant),
            "session": None if query.session_id is None else well_formed(query.session_id),
            "limit": query.limit,
        },
    ).fetchall()
    return tuple(
        SearchHit(
            session_id=row[0],
            topic=row[1],
            created_at=from_micros(row[2]),
            seq=row[3],
            round=row[4],
            agent_id=row[5],
            agent_name=row[6],
            snippet=row[7],
        )
        for row in rows
    )


def search_in(
    sessions: Iterable[tuple[SessionRecord, Sequence[DurableEvent]]], query: SearchQuery
) -> tuple[SearchHit, ...]:
    """Search sessions that are not in a SQLite file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in (statement for statements in MIGRATIONS for statement in statements):
            connection.execute(statement)
        for record, events in sessions:
            connection.execute(
                """
                INSERT INTO sessions (tenant, id, record, topic, topic_searched, mode, agent_ids, status,
                                      current_round, total_rounds, response_count, last_seq, created_us, updated_us)
                VALUES (?, ?, '{}', ?, '', '', '[]', '', 0, 0, 0, 0, ?, 0)
                """,
                (record.tenant, record.id, record.config.topic, to_micros(record.created_at)),
            )
            for event in events:
                index_position(connection, record.tenant, record.id, event.seq, event)
        return find_words(connection, query)
