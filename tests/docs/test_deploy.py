"""The files on the page about deployment are valid, and their commands start, become healthy and end as it says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema
import pytest
import yaml
from integration.command_kit import Stubs
from integration.hosts_kit import until

if TYPE_CHECKING:
    from postgres_kit import Server

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/deploy.md").read_text("utf-8")
BLOCK = re.compile(r'^```(?:\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
HOST = "debates.example.org"
PATIENCE_S = 60.0
EXIT_S = 10.0
"""How long a server takes to exit, without its drain, as the page says."""
COMPOSE_DEFAULT_GRACE_S = 10.0
PROGRAM = Path(sys.executable).with_name("roundtable")

TEXTS = {"type": "array", "items": {"type": "string"}}
SPAN = {"type": "string", "pattern": r"^\d+(ms|s|m|h)$"}
SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["image"],
    "properties": {
        "image": {"type": "string"},
        "command": {"type": ["string", "array"]},
        "environment": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
        "volumes": TEXTS,
        "ports": TEXTS,
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
        "stop_grace_period": SPAN,
        "deploy": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"replicas": {"type": "integer", "minimum": 1}},
        },
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test"],
            "properties": {
                "test": {**TEXTS, "contains": {"enum": ["CMD", "CMD-SHELL"]}},
                "retries": {"type": "integer"},
                **dict.fromkeys(("interval", "timeout", "start_period", "start_interval"), SPAN),
            },
        },
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["condition"],
                "properties": {
                    "condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]},
                    "restart": {"type": "boolean"},
                    "required": {"type": "boolean"},
                },
            },
        },
    },
}
COMPOSE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["services"],
    "properties": {
        "services": {"type": "object", "additionalProperties": SERVICE},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
    },
}
"""The part of the Compose Specification (schema/compose-spec.json) that the page may use."""


def blocks(title: str) -> list[str]:
    """Return the blocks of the page with a title."""
    found = [text for name, text in BLOCK.findall(PAGE) if name == title]
    assert found, f"the page has no block {title!r}"
    return found


def composition() -> dict[str, Any]:
    """Return the compose file, with the workers that the page adds to it."""
    whole: dict[str, Any] = yaml.safe_load(blocks("compose.yaml")[0])
    whole["services"] |= yaml.safe_load(blocks("compose.yaml, under services")[0])
    return whole


def pod() -> dict[str, Any]:
    """Return what the page says about the pods of a server."""
    spec: dict[str, Any] = yaml.safe_load(blocks("deployment.yaml, in the template of the server's pods")[0])["spec"]
    return spec


def unit() -> str:
    return blocks("/etc/systemd/system/roundtable@.service")[0]


def of_unit(name: str) -> str:
    """Return a setting of the systemd unit."""
    (value,) = re.findall(rf"^{name}=(.*)$", unit(), re.MULTILINE)
    return str(value)


def seconds(span: str) -> float:
    number, unit_of_time = re.fullmatch(r"(\d+)(ms|s|m|h)", span).groups()  # type: ignore[union-attr]
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit_of_time]


def with_variables(text: str, values: Mapping[str, str]) -> str:
    """Replace `${NAME:?}` and `${NAME:-default}` as Compose does."""

    def value(found: re.Match[str]) -> str:
        name, kind, default = found.groups()
        assert kind == "-" or values.get(name), f"{name} must be set"
        return values.get(name) or default

    return re.sub(r"\$\{(\w+):([?-])([^}]*)\}", value, text)


class Machine:
    """Starts commands of the page as real processes, at free ports of this machine.

    Args:
        folder: Where they run.
        server: The database; `None` if they need none.
    """

    def __init__(self, folder: Path, server: Server | None = None) -> None:
        self.folder = folder
        self.stubs = Stubs(folder / "bin")
        self.stubs.make("pip", "")
        self._server = server
        self._count = 0

    def here(self, words: list[str]) -> list[str]:
        """Replace the addresses and ports of a command."""
        text = shlex.join(words).replace("--host 0.0.0.0", "--host 127.0.0.1 --port 0")
        if self._server is not None:
            text = re.sub(r"@(db|db\.example\.org)/", f"@127.0.0.1:{self._server.port}/", text)
        return shlex.split(text)

    def environment(self, **more: str) -> dict[str, str]:
        from postgres_kit import PASSWORD, programs

        path = (self.stubs.folder, PROGRAM.parent, *filter(None, [programs()]), "/usr/bin", "/bin")
        port = {} if self._server is None else {"PGPORT": str(self._server.port), "PGPASSWORD": PASSWORD}
        return {"PATH": os.pathsep.join(map(str, path)), "HOME": str(self.folder), **port, **more}

    def run(self, words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.here(words), cwd=self.folder, env=self.environment(**more), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S * 2, check=False,
        )  # fmt: skip

    @contextmanager
    def running(self, words: list[str], **more: str) -> Iterator[Process]:
        """Run a command until the block ends."""
        self._count += 1
        output = self.folder / f"output-{self._count}.txt"
        with output.open("w") as file:
            started = subprocess.Popen(
                self.here(words), cwd=self.folder, env=self.environment(**more), stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
        with started:
            try:
                yield Process(started, output)
            finally:
                started.kill()


class Process:
    """A command of the page that runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self._process, self._output = process, output

    def url(self) -> str:
        """Return the address of a server, once it listens."""

        def found() -> str | None:
            text = self._output.read_text()
            assert self._process.poll() is None, text
            address = re.search(r"http://127\.0\.0\.1:\d+", text)
            return address and address[0]

        return str(until(found))

    def ends(self, limit_s: float) -> int:
        """Return the exit code, which comes within a documented time."""
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(limit_s + max(2.0, limit_s) + PATIENCE_S)
        took_s = time.monotonic() - began
        assert took_s < limit_s + max(2.0, limit_s), f"it ended after {took_s:.2f} s, not within {limit_s:g} s"
        return code


def ask(url: str, path: str, host: str = HOST, **headers: str) -> int:
    """Return the status of a response."""
    return httpx.get(f"{url}{path}", headers={"host": host, **headers}, timeout=30, trust_env=False).status_code


def test_the_compose_file_has_keys_of_the_specification_and_names_that_exist() -> None:
    whole = composition()
    jsonschema.validate(whole, COMPOSE)
    for name, service in whole["services"].items():
        assert set(service.get("depends_on", {})) <= set(whole["services"]) - {name}
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source.startswith("./") or source in whole["volumes"]
        for dependency, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in whole["services"][dependency]


def test_packages_installed_for_a_command_exist() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    wanted = re.findall(r"roundtable-sdk\[([\w,]+)\]", PAGE)
    assert len(wanted) > 2
    assert {extra for names in wanted for extra in names.split(",")} <= extras


def test_servers_are_not_killed_before_they_have_ended() -> None:
    for name, service in composition()["services"].items():
        if "roundtable serve" in service.get("command", ""):
            assert seconds(service.get("stop_grace_period", f"{COMPOSE_DEFAULT_GRACE_S:.0f}s")) > EXIT_S, name
    (container,) = pod()["containers"]
    drain = int(container["command"][container["command"].index("--drain") + 1])
    assert pod()["terminationGracePeriodSeconds"] > drain + EXIT_S
    words = shlex.split(of_unit("ExecStart"))
    assert int(of_unit("TimeoutStopSec")) > int(words[words.index("--drain") + 1]) + EXIT_S


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    assert set(re.findall(r"^\[(\w+)\]$", unit(), re.MULTILINE)) == {"Unit", "Service", "Install"}
    if shutil.which("systemd-analyze") is None:
        return
    file = tmp_path / "roundtable@.service"
    file.write_text(unit().replace("/opt/roundtable/bin/roundtable", str(PROGRAM)))
    done = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.fixture
def database() -> Iterator[Server]:
    """Yield a server with the user and the database of the compose file."""
    from postgres_kit import PASSWORD, running_server

    made = composition()["services"]["db"]["environment"]
    with running_server() as server:
        server.execute(f"CREATE ROLE {made['POSTGRES_USER']} LOGIN PASSWORD '{PASSWORD}'")
        server.execute(f"CREATE DATABASE {made['POSTGRES_DB']} OWNER {made['POSTGRES_USER']}")
        yield server


def is_healthy(machine: Machine, service: Mapping[str, Any]) -> bool:
    """Run the health check of a service."""
    kind, *words = service["healthcheck"]["test"]
    assert kind == "CMD"
    return machine.run(words).returncode == 0


@pytest.mark.slow
@pytest.mark.postgres
def test_the_services_of_the_compose_file_start_in_order_answer_and_hold_a_job(
    database: Server, tmp_path: Path
) -> None:
    from postgres_kit import PASSWORD

    services = composition()["services"]
    machine = Machine(tmp_path, database)
    database.stop()
    assert not is_healthy(machine, services["db"])
    with ExitStack() as stack:
        processes: dict[str, list[Process]] = {}
        order = TopologicalSorter({name: service.get("depends_on", {}) for name, service in services.items()})
        for name in order.static_order():
            service = services[name]
            for needed, how in service.get("depends_on", {}).items():
                check = services[needed]["healthcheck"]
                assert how["condition"] == "service_healthy"
                until(
                    partial(is_healthy, machine, services[needed]),
                    check["retries"] * seconds(check["interval"]),
                )
            if name == "db":
                database.start()
            if "command" in service:
                variables = {
                    key: with_variables(value, {"DB_PASSWORD": PASSWORD})
                    for key, value in service["environment"].items()
                }
                words = shlex.split(service["command"])
                processes[name] = [
                    stack.enter_context(machine.running(words, **variables))
                    for _ in range(service["deploy"]["replicas"])
                ]
        urls = [process.url() for process in processes["roundtable"]]
        assert [ask(url, "/ready") for url in urls] == [200, 200]
        (create,) = re.findall("docker compose exec roundtable (roundtable tokens create .*)", PAGE)
        token = re.search(r"rt_\S+", machine.run(shlex.split(create)).stdout)
        assert token is not None
        assert [ask(url, "/api/me", authorization=f"Bearer {token[0]}") for url in urls] == [200, 200]
        check_job(machine)
        assert all(start["argv"][:2] == ["install", "--quiet"] for start in machine.stubs.starts("pip"))  # type: ignore[index]
        for name, started in processes.items():
            for process in started:
                assert process.ends(seconds(services[name]["stop_grace_period"])) in {0, 143}


def check_job(machine: Machine) -> None:
    """Submit a job, and wait until workers have held it."""
    (machine.folder / "ada.json").write_text(json.dumps({"*": {"position": "Tea", "reasoning": "It keeps."}}))
    (machine.folder / "drinks.jsonl").write_text('"Tea?"\n"Milk?"\n')
    storage = ["--storage", "postgresql://roundtable@db/app"]
    agents = ["--agents", "scripted:ada.json,scripted:ada.json", "--rounds", "1"]
    queued = machine.run(["roundtable", "fleet", "submit", "drinks.jsonl", *agents, *storage])
    assert queued.returncode == 0, queued.stderr
    watched = machine.run(["roundtable", "fleet", "status", "drinks", "--watch", "0.5", *storage])
    assert "drinks: 2 completed" in watched.stdout, watched.stderr


@pytest.mark.slow
@pytest.mark.postgres
def test_the_probes_of_a_pod_reach_its_server_although_it_refuses_the_address_of_the_pod(
    database: Server, tmp_path: Path
) -> None:
    (container,) = pod()["containers"]
    machine = Machine(tmp_path, database)
    with machine.running(container["command"]) as process:
        url = process.url()
        for name in ("readinessProbe", "livenessProbe"):
            probe = container[name]["httpGet"]
            assert {"containerPort": probe["port"]} in container["ports"]
            (header,) = probe["httpHeaders"]
            assert ask(url, probe["path"], **{header["name"].lower(): header["value"]}) == 200
            assert ask(url, probe["path"], "10.0.0.5:8000") == 421
        assert process.ends(pod()["terminationGracePeriodSeconds"]) == 0


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_the_servers_of_several_machines_start(database: Server, tmp_path: Path, command: str) -> None:
    (line,) = re.findall(rf"^    (roundtable {command} .*--storage .*)$", PAGE, re.MULTILINE)
    with Machine(tmp_path, database).running(shlex.split(line)) as process:
        assert ask(process.url(), "/ready" if command == "serve" else "/mcp") == (200 if command == "serve" else 401)
        assert process.ends(EXIT_S) == 0


def unit_words(command: str) -> list[str]:
    """Return a command of the unit as systemd starts it, at any port."""
    return shlex.split(command.replace("/opt/roundtable/bin/roundtable", str(PROGRAM)).replace("%i", "0"))


def clean_codes() -> set[int]:
    """Return the exit codes after which systemd does not call the unit failed."""
    return {0, *map(int, of_unit("SuccessExitStatus").split())}


@pytest.mark.slow
def test_the_unit_starts_a_server_that_drains_and_ends_in_time(tmp_path: Path) -> None:
    words = unit_words(of_unit("ExecStart"))
    drain_s = int(words[words.index("--drain") + 1])
    with Machine(tmp_path).running(words) as process:
        url = process.url()
        assert ask(url, "/ready") == 200
        assert process.ends(drain_s + EXIT_S) in clean_codes()


@pytest.mark.slow
@pytest.mark.postgres
def test_the_unit_starts_a_worker_that_counts_as_stopped_after_it_ends(database: Server, tmp_path: Path) -> None:
    (command,) = re.findall(r"`ExecStart=([^`]+ fleet work [^`]+)`", PAGE)
    machine = Machine(tmp_path, database)
    with machine.running(unit_words(command.replace("...", "postgresql://roundtable@db/app"))) as process:
        check_job(machine)
        assert process.ends(float(of_unit("TimeoutStopSec"))) in clean_codes()
