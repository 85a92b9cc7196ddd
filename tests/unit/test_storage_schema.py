from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import roundtable.storage.postgres
from roundtable.errors import StorageError
from roundtable.storage.database import APPLICATION_ID, MIGRATIONS, check_format, migrate

NEXT = (
    "ALTER TABLE sessions ADD COLUMN starred INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE extra (tenant TEXT, n INTEGER)",
)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version(connection: sqlite3.Connection) -> int:
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def test_an_empty_file_gets_the_present_schema_and_the_mark(connection: sqlite3.Connection) -> None:
    assert check_format(connection, "x.db") == 0
    migrate(connection, "x.db")
    assert check_format(connection, "x.db") == version(connection) == len(MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    migrate(connection, "x.db")
    assert version(connection) == len(MIGRATIONS)


def test_an_older_file_is_migrated_and_keeps_its_rows(connection: sqlite3.Connection) -> None:
    migrate(connection, "x.db")
    connection.execute("INSERT INTO tokens VALUES ('default', 7)")
    migrate(connection, "x.db", (*MIGRATIONS, NEXT))
    assert version(connection) == len(MIGRATIONS) + 1
    assert "extra" in tables(connection)
    assert connection.execute("SELECT * FROM tokens").fetchall() == [("default", 7)]


def test_a_migration_that_fails_leaves_the_old_schema_whole(connection: sqlite3.Connection) -> None:
    migrate(connection, "x.db")
    before = tables(connection)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        migrate(connection, "x.db", (*MIGRATIONS, (*NEXT, "INSERT INTO nowhere VALUES (1)")))
    assert not connection.in_transaction
    assert (tables(connection), version(connection)) == (before, len(MIGRATIONS))
    migrate(connection, "x.db", (*MIGRATIONS, NEXT))
    assert "extra" in tables(connection)


def test_a_newer_file_is_refused(connection: sqlite3.Connection) -> None:
    migrate(connection, "x.db", (*MIGRATIONS, NEXT))
    with pytest.raises(StorageError) as error:
        migrate(connection, "x.db")
    assert "x.db" in str(error.value.hint)
    assert error.value.details == {
        "path": "x.db",
        "reason": "newer",
        "found": len(MIGRATIONS) + 1,
        "known": len(MIGRATIONS),
    }


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE theirs (a)", "PRAGMA user_version = 1", "PRAGMA application_id = 5"]
)
def test_a_file_of_another_application_is_refused(connection: sqlite3.Connection, statement: str) -> None:
    connection.execute(statement)
    with pytest.raises(StorageError, match="another application"):
        migrate(connection, "x.db")
    assert "sessions" not in tables(connection)


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_a_new_file_is_never_mistaken_for_that_of_another_application(tmp_path: Path, moment: int) -> None:
    """Another connection adds the tables at the begin of each statement with which a file is checked."""
    begun: list[str] = []

    def upgrade(statement: str) -> None:
        begun.append(statement)
        if len(begun) == moment:
            with suppress(sqlite3.OperationalError):  # locked, because the check reads the file
                migrate(other, "x.db")

    with (
        closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as connection,
        closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None, timeout=0)) as other,
    ):
        connection.set_trace_callback(upgrade)
        assert check_format(connection, "x.db") in {0, len(MIGRATIONS)}
        assert begun


WORDS = "position_texts"
"""The full-text index and its own tables: rows are found through `positions` alone, which has the tenant."""


def test_every_table_has_a_tenant(connection: sqlite3.Connection) -> None:
    migrate(connection, "x.db")
    for table in (name for name in tables(connection) if not name.startswith(WORDS)):
        columns = connection.execute('SELECT name, "notnull" FROM pragma_table_info(?)', (table,)).fetchall()
        assert ("tenant", 1) in columns


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in roundtable.storage.__path__:
        for path in sorted(Path(folder).glob("*.py")):
            yield path, ast.parse(path.read_text("utf-8"))


def executed() -> Iterator[tuple[str, ast.expr]]:
    """Find the first argument of every `execute` in the storage."""
    for path, tree in sources():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr.startswith("execute")
            ):
                yield f"{path.name}:{node.lineno}", node.args[0]


def test_no_statement_is_built_from_text() -> None:
    found = list(executed())
    assert len(found) > 30
    for place, argument in found:
        match argument:
            case ast.Constant(value=str()):
                pass
            case ast.JoinedStr(values=[ast.Constant(value=str(head)), ast.FormattedValue(format_spec=ast.JoinedStr())]):
                assert head.startswith("PRAGMA"), place  # a number, formatted as one
            case ast.Name(id="statement" | "query") | ast.Attribute(value=ast.Name(id="queries")):
                # Those of the schema, and two constants.
                assert place.startswith(("database.py", "fulltext.py", "salvage.py")), place
            case _ if place.startswith("postgres"):
                assert is_postgres_constant(argument), f"{place} executes {ast.unparse(argument)}"
            case _:
                pytest.fail(f"{place} executes {ast.unparse(argument)}")


def is_postgres_constant(argument: ast.expr) -> bool:
    """Check that a statement is a constant of its module, in which only the name of the schema is filled in."""
    match argument:
        case ast.Subscript(value=ast.Attribute(attr="_sql"), slice=ast.Name(id=name)):
            return name.isupper()
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="encode"), args=[]):
            return name.isupper()
        case ast.Call(func=ast.Name(id="in_schema"), args=[_, ast.Constant() | ast.Name(id="statement")]):
            return True
        case _:  # the name of a channel
            return ast.unparse(argument) == "sql.SQL('LISTEN {}').format(sql.Identifier(self._channel))"


def test_every_statement_asks_for_the_tenant() -> None:
    for place, argument in executed():
        if isinstance(argument, ast.Constant) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", str(argument.value)):
            if place.startswith(("postgres", "fulltext.py")) and not re.search("sessions|events", str(argument.value)):
                continue  # the server's own tables, and words without their session
            assert "tenant" in str(argument.value) or f"INSERT INTO {WORDS}" in str(argument.value), place


def test_every_statement_for_postgresql_asks_for_the_tenant() -> None:
    modules = roundtable.storage.postgres, roundtable.storage.postgres_keyvalue
    trees = [ast.parse(Path(module.__file__).read_text("utf-8")) for module in modules]
    found = 0
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))) if "{schema}" in text:
                # A `key` is the hash of tenant and id.
                assert re.search(r"\b(tenant_key|(s\.)?key) = %|session_key|\(key|\(tenant_key|%[sb]::bytea", text), (
                    name
                )
                found += 1
    assert found > 12
