"""The storage suite finds what is wrong with a storage, under the name of the law that is broken."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import pytest
from roundtable.errors import SessionError
from roundtable.storage import MemoryStorage
from roundtable.testing.storage_suite import StorageSuite

pytest_plugins = ["anyio"]

@pytest.fixture(params=["asyncio"])
def anyio_backend(request):
    return request.param

"""
BROKEN = """
class Broken{number}(MemoryStorage):
{body}

class Test{number}(StorageSuite):
    @pytest.fixture
    async def storage(self, clock):
        storage = Broken{number}(clock)
        yield storage
        await storage.aclose()
"""
APPEND = "async def append(self, session_id, expected_seq, token, events, *, tenant='default'):"
READ = "async def read(self, session_id, after=0, *, tenant='default'):"
LEASE = "async def lease(self, session_id, owner, ttl_s, *, tenant='default'):"
FAULTS: dict[str, tuple[str, str]] = {
    "forgets the end": (
        f"{APPEND}\n return await super().append(session_id, expected_seq, token, events[:-1], tenant=tenant)",
        "test_an_event_reads_back_as_it_was_given",
    ),
    "overwrites": (
        f"{APPEND}\n return await super().append(session_id, None, token, events, tenant=tenant)",
        "test_a_log_that_moved_on_is_not_appended_to",
    ),
    "gives events from the start": (
        f"{READ}\n return await super().read(session_id, 0, tenant=tenant)",
        "test_events_are_numbered_from_one_without_gaps",
    ),
    "knows no tenants": (
        f"{READ}\n return await super().read(session_id, after, tenant='one')",
        "test_a_session_of_another_tenant_is_unknown",
    ),
    "leases to everybody": (
        LEASE
        + """
 owner = owner.model_copy(update={'name': 'x'})
 return await super().lease(session_id, owner, ttl_s, tenant=tenant)""",
        "test_a_held_session_is_busy_for_others_until_the_lease_lapses",
    ),
    "lists the oldest first": (
        "async def list(self, filter):\n return (await super().list(filter))[::-1]",
        "test_lists_begin_with_the_newest_and_end_at_the_limit",
    ),
    "deletes nothing": (
        "async def delete(self, session_id, *, tenant='default'):\n return None",
        "test_deleting_removes_everything",
    ),
    "never closes": ("async def aclose(self):\n return None", "test_a_closed_storage_says_so"),
    "creates anew": (
        """async def create(self, record):
 try:
  await super().create(record)
 except SessionError:
  await self.delete(record.id, tenant=record.tenant)
  await super().create(record)""",
        "test_an_id_is_taken_once",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the suite on every broken storage, and give what it says."""
    folder = tmp_path_factory.mktemp("broken")
    classes = (
        BROKEN.format(number=number, body=textwrap.indent(body, "    "))
        for number, (body, _) in enumerate(FAULTS.values())
    )
    (folder / "test_broken.py").write_text(HEAD + "".join(classes))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "test_broken.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_storage_fails_the_law_it_breaks(said: str, fault: str) -> None:
    number, law = list(FAULTS).index(fault), FAULTS[fault][1]
    broken = set(re.findall(rf"^FAILED .*::Test{number}::(test_\w+)", said, re.MULTILINE))
    assert law in broken
    assert len(broken) < 40, "one fault must not drown the law it breaks"


@pytest.mark.slow
def test_a_failure_message_is_about_the_storage_and_not_about_the_suite(said: str) -> None:
    assert "AttributeError" not in said
    assert not re.search(r"^ERROR ", said, re.MULTILINE)
    # Errors of the library are what laws are about, and their names stand in values that are shown, too.
    kinds = set(re.findall(r"^E +(\w+(?:Error|Exception))\b", said, re.MULTILINE))
    assert {kind for kind in kinds if hasattr(builtins, kind)} <= {"AssertionError"}
