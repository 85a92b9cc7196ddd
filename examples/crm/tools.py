"""Tools over a small CRM in SQLite. Everything is read from the database; nothing can be written to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import roundtable

AS_OF = "2024-01-15"
MOST_ROWS = 50
MOST_STEPS = 100_000
READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}


def _only_reads(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY


def _open() -> sqlite3.Connection:
    """Open the CRM; the statements that a model writes can only read, and only for so long."""
    database = sqlite3.connect(":memory:")
    database.executescript(Path(__file__).with_name("crm.sql").read_text("utf-8"))
    database.row_factory = sqlite3.Row
    database.set_authorizer(_only_reads)
    database.set_progress_handler(lambda: 1, MOST_STEPS)
    return database


def _rows(query: str, *values: object) -> list[dict[str, object]]:
    with closing(_open()) as database:
        return [dict(row) for row in database.execute(query, values).fetchmany(MOST_ROWS)]


@roundtable.tool(name="getSFDCData")
def get_sfdc_data(query: str) -> dict[str, object]:
    """Read the customer database with one SELECT; at most 50 rows come back.

    Tables: Account (Id, Name, Industry, AnnualRevenue in dollars, LastContactDate, Engagement from 0 to 1) and
    Contract (Id, AccountId, EndDate, Text). Dates are texts such as '2023-07-15'; today is 2024-01-15.

    Args:
        query: The statement, such as SELECT Id, Name FROM Account WHERE Industry = 'Healthcare'.
    """
    rows = _rows(query)
    return {"rows": rows, "count": len(rows)}


@roundtable.tool(name="scoreProspects")
def score_prospects(industry: str, months_without_contact: int = 6) -> dict[str, object]:
    """Rank the accounts of an industry that nobody has contacted for some months, best first.

    The score is the engagement times the annual revenue in millions of dollars.

    Args:
        industry: Industry, as the database names it.
        months_without_contact: Months since the last contact, at least.
    """
    prospects = _rows(
        "SELECT Id, Name, LastContactDate, round(Engagement * AnnualRevenue / 1e6, 1) AS score FROM Account "
        "WHERE Industry = ? AND LastContactDate < date(?, '-' || ? || ' months') ORDER BY score DESC",
        industry,
        AS_OF,
        months_without_contact,
    )
    return {"asOf": AS_OF, "prospects": prospects}


@roundtable.tool(name="readContracts")
def read_contracts(account_ids: list[str]) -> dict[str, object]:
    """Read the contracts of accounts.

    Args:
        account_ids: Ids of the accounts.
    """
    marks = ", ".join("?" * len(account_ids))
    return {"contracts": _rows(f"SELECT * FROM Contract WHERE AccountId IN ({marks}) ORDER BY EndDate", *account_ids)}  # noqa: S608  (marks alone)


TOOLS = [get_sfdc_data, score_prospects, read_contracts]
