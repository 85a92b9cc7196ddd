"""Tokens are made, listed and revoked from the command line."""

from __future__ import annotations

from cli.kit import Command


def test_a_token_is_shown_once_listed_without_it_and_revoked(command: Command) -> None:
    assert command("tokens", "list").out.startswith("No token in ")
    made = command("tokens", "create", "ada", "--scope", "read", "--label", "notebook", "--audience", "mcp")
    secret, told, again = made.out.splitlines()
    number = told.split()[0]
    assert secret.startswith("rt_")
    assert told.endswith("UTC, only for mcp: notebook")
    assert f"roundtable tokens revoke {number}" in again
    listed = command("tokens", "list")
    assert number in listed.out
    assert secret not in listed.out
    assert command("tokens", "revoke", number).code == 0
    again = command("tokens", "revoke", number)
    assert (again.code, again.out) == (1, "")
    assert f"unknown token '{number}'" in again.err
    assert "roundtable tokens list" in again.err


def test_tokens_in_json(command: Command) -> None:
    made = command("tokens", "create", "ada", "--never-expires", "--json").json
    assert isinstance(made, dict)
    assert (made["user"], made["scopes"], made["expiresAt"]) == ("ada", ["read", "write"], None)
    [listed] = command("tokens", "list", "--user", "ada", "--json").json
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert command("tokens", "list", "--user", "bo", "--json").json == []
    assert command("tokens", "revoke", made["id"], "--json").json == {"id": made["id"], "revoked": True}
    gone = command("tokens", "revoke", made["id"], "--json")
    assert (gone.code, gone.err, gone.json["code"]) == (1, "", "ROUNDTABLE_ERROR")


def test_wrong_options_for_a_token_are_a_plain_error(command: Command) -> None:
    for arguments, said in (
        (("two words",), "cannot create this token: a user name has 1 to 128"),
        (("ada", "--scope", "fly"), "'read', 'write' or 'admin', not 'fly'"),
        (("ada", "--audience", "mpc"), "unknown value for --audience: 'mpc'; choose mcp or http"),
        (("ada", "--days", "5", "--never-expires"), "--days and --never-expires cannot be used together"),
        (("ada", "--days", "0"), "more than 0"),
    ):
        done = command("tokens", "create", *arguments)
        assert (done.code, said in done.err) == (2, True), done.err
    assert command("tokens", "list", "--user", "ada").out.startswith("No token of ada in ")
