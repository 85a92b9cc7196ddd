"""The server of the tutorial for web applications: a team over a small CRM.

python crm_server.py                                no key: the agents are scripted, their tools are real
python crm_server.py --model anthropic:claude-sonnet-4-5
python crm_server.py --model local                         the embedded model, which calls no tools
python crm_server.py --no-auth                      no token is asked for: for this machine alone
"""

from __future__ import annotations

import argparse
from pathlib import Path

import anyio
from crm.script import reply
from crm.tools import TOOLS

from roundtable import Roundtable
from roundtable.auth import LocalUser
from roundtable.server import create_app, serve
from roundtable.testing import ScriptedModel


def make_table(model: str | None, storage: str) -> Roundtable:
    """Seat a data steward, a prospect finder and a contract reader over the CRM."""
    profiles = Path(__file__).with_name("crm") / "profiles.toml"
    return Roundtable([model or ScriptedModel(reply, chunks=3)], tools=TOOLS, profiles=[profiles], storage=storage)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="provider:model for all agents; scripted when left out")
    parser.add_argument("--storage", default="sqlite:///web.db")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-auth", action="store_true")
    given = parser.parse_args()
    app = create_app(make_table(given.model, given.storage), auth=LocalUser() if given.no_auth else None)
    anyio.run(lambda: serve(app, port=given.port, listening=print))


if __name__ == "__main__":
    main()
