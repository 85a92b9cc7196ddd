"""The records of a fleet about its jobs and workers, in the key-value store of the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.attachments import stored_contents
from roundtable.core.types.storage import LeaseOwner
from roundtable.fleet.accounts import JobAccount
from roundtable.fleet.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.types.attachments import Attachment

__all__ = ["PREFIX", "FleetRecords", "fleet_and_job"]

PREFIX: Final = "fleet/"
"""Prefix of the keys of all fleets."""
_FILES: Final = "fleet-files/"
"""Prefix of the keys of files that are attached to questions."""


def fleet_and_job(key: str) -> tuple[str, str] | None:
    """Return the names of the fleet and the job in the key of a job's record; `None` for keys of other records.

    Example:
        >>> fleet_and_job("fleet/default/jobs/nightly"), fleet_and_job("fleet/default/workers/7")
        (('default', 'nightly'), None)
    """
    match key.split("/"):
        case [_, fleet, "jobs", job]:
            return fleet, job
        case _:
            return None


class FleetRecords:
    """Jobs, accounts and workers of one fleet.

    Args:
        values: Where they are stored.
        fleet: Name of the fleet.
        tenant: Tenant that owns them.
    """

    def __init__(self, values: KeyValue, fleet: str, tenant: str) -> None:
        self._values = values
        self._prefix = f"{PREFIX}{fleet}"
        self._tenant = tenant

    async def find_job(self, name: str) -> Job | None:
        """Return a job, or `None` if no job has this name."""
        value = await self._values.get(f"{self._prefix}/jobs/{name}", tenant=self._tenant)
        return None if value is None else Job.model_validate(value)

    async def job(self, name: str) -> Job:
        """Return a job.

        Raises:
            ConfigurationError: No job has this name.
        """
        job = await self.find_job(name)
        if job is None:
            known = ", ".join(stored_job.name for stored_job in await self.jobs()) or "none"
            raise ConfigurationError(f"unknown job {name!r}; known jobs: {known}", hint="Submit it first.")
        return job

    async def jobs(self) -> list[Job]:
        """Return all jobs, oldest first."""
        stored = await self._values.scan(f"{self._prefix}/jobs/", tenant=self._tenant)
        return sorted((Job.model_validate(value) for _, value in stored), key=lambda job: job.submitted_at)

    async def add_job(self, job: Job) -> Job:
        """Store a job unless a job with this name exists; return the stored job."""
        stored = await self._values.update(
            f"{self._prefix}/jobs/{job.name}",
            lambda old: job.model_dump(mode="json") if old is None else old,
            tenant=self._tenant,
        )
        return Job.model_validate(stored)

    async def change_job(self, job: Job) -> None:
        """Replace a stored job."""
        await self._values.put(f"{self._prefix}/jobs/{job.name}", job.model_dump(mode="json"), tenant=self._tenant)

    async def add_files(self, job: Job, files: Iterable[Attachment]) -> None:
        """Store the contents of the files of a job's questions; the same content is stored once."""
        stored: set[str] = set()
        for file in files:
            digest = file.info.sha256
            if digest not in stored:
                stored.add(digest)
                await self._values.put(
                    self._file_key(job, digest), stored_contents([file])[digest], tenant=self._tenant
                )

    async def contents(self, job: Job, digests: Iterable[str]) -> dict[str, str]:
        """Return the contents of files of a job's questions, by hash; missing files are left out."""
        contents = {
            digest: await self._values.get(self._file_key(job, digest), tenant=self._tenant) for digest in digests
        }
        return {digest: content for digest, content in contents.items() if isinstance(content, str)}

    def _file_key(self, job: Job, digest: str) -> str:
        # Not below `PREFIX`, since all values below it are read together.
        return f"{_FILES}{self._prefix.removeprefix(PREFIX)}/{job.name}/{digest}"

    def account(self, job: Job) -> JobAccount:
        """Return the account of a job."""
        return JobAccount(self._values, f"{self._prefix}/accounts/{job.name}", job.budget, self._tenant)

    async def add_worker(self, owner: LeaseOwner, alive_s: float) -> None:
        """Store a sign of life of a worker, which expires after `alive_s` seconds by the storage's clock."""
        key = f"{self._prefix}/workers/{owner.name}"
        await self._values.put(key, owner.model_dump(mode="json"), ttl_s=alive_s, tenant=self._tenant)

    async def remove_worker(self, worker: str) -> None:
        """Remove the sign of life of a worker that ended."""
        await self._values.delete(f"{self._prefix}/workers/{worker}", tenant=self._tenant)

    async def workers(self) -> list[LeaseOwner]:
        """Return the workers that gave a sign of life lately."""
        stored = await self._values.scan(f"{self._prefix}/workers/", tenant=self._tenant)
        return [LeaseOwner.model_validate(value) for _, value in stored]
