"""The figures of this process for Prometheus, in a registry of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from roundtable._version import __version__
from roundtable.server.tallies import EDGES_S

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from roundtable.server.tallies import Tally, Times

__all__ = ["CONTENT_TYPE", "GAUGES", "Exposition", "Gauges"]

Gauges: TypeAlias = Mapping[str, tuple[str, Callable[[], float]]]
"""What stands at a number now: name, what it is, and how to look."""

_Values: TypeAlias = Iterable[tuple[tuple[str, ...], float]]

GAUGES: Final = {
    "conversations_running": "Conversations and debates that run here.",
    "streams_open": "Streams of events that are open here, and answers that are held until a run ends.",
}
"""What a server looks at besides."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""What `Exposition.text` is."""


class Exposition(Collector):
    """Gives what was counted since the start of this process in the text format of Prometheus.

    Args:
        tally: What was counted.
        gauges: What is looked at besides.
    """

    def __init__(self, tally: Tally, gauges: Gauges) -> None:
        self._tally = tally
        self._gauges = gauges
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """Give all metrics as they stand."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Give all metrics as they stand, as objects."""
        tally = self._tally
        yield _gauge("info", "Version of the server; the value is 1.", [((__version__,), 1)], "version")
        for name, (what, look) in self._gauges.items():
            yield _gauge(name, what, [((), look())])
        yield _counter("conversations_begun", "Conversations and debates that began.", [((), tally.begun)])
        ended = [(("completed",), tally.completed), (("paused",), tally.paused), (("broken",), tally.broken)]
        yield _counter("runs_ended", "Runs of conversations and debates that ended, by outcome.", ended, "outcome")
        yield _times("run_seconds", "How long runs took.", [((), tally.times)])
        yield from self._agents()
        yield _counter("model_calls", "Model calls.", [((), tally.calls)])
        tokens = [(("input",), tally.input_tokens), (("output",), tally.output_tokens)]
        yield _counter("tokens", "Tokens sent and generated.", tokens, "direction")
        yield _counter("cost_usd", "What is known of the price, in US dollars.", [((), tally.cost_usd)])
        yield _counter("unpriced_answers", "Answers whose price is not known as a whole.", [((), tally.unpriced)])
        errors = [((code,), count) for code, count in tally.errors.items()]
        yield _counter("errors", "Errors of turns and of runs, by code.", errors, "code")
        refusals = [((limit,), count) for limit, count in tally.refusals.items()]
        yield _counter("limit_refusals", "Requests that met a limit, by limit.", refusals, "limit")
        requests = [(tuple(name.split(" ")), times) for name, times in tally.requests.items()]
        what = "Seconds from a request to the beginning of its answer."
        yield _times("request_seconds", what, requests, "method", "route", "status")

    def _agents(self) -> Iterator[Metric]:
        agents, tools = self._tally.agents, self._tally.tools
        turns = [((name,), one.times) for name, one in agents.items()]
        yield _times("agent_turn_seconds", "How long turns took, failed ones too, by agent.", turns, "agent")
        failed = [((name,), one.failed) for name, one in agents.items()]
        yield _counter("agent_turns_failed", "Turns that failed, by agent.", failed, "agent")
        calls = [((name,), one.times) for name, one in tools.items()]
        yield _times("tool_call_seconds", "How long calls of tools took, failed ones too, by tool.", calls, "tool")
        failed = [((name,), one.failed) for name, one in tools.items()]
        yield _counter("tool_calls_failed", "Calls of tools that failed, by tool.", failed, "tool")


def _gauge(name: str, what: str, values: _Values, *labels: str) -> Metric:
    metric = GaugeMetricFamily(f"roundtable_{name}", what, labels=labels)
    for of, value in values:
        metric.add_metric(of, value)
    return metric


def _counter(name: str, what: str, values: _Values, *labels: str) -> Metric:
    metric = CounterMetricFamily(f"roundtable_{name}", what, labels=labels)
    for of, value in values:
        metric.add_metric(of, value)
    return metric


def _times(name: str, what: str, values: Iterable[tuple[tuple[str, ...], Times]], *labels: str) -> Metric:
    metric = HistogramMetricFamily(f"roundtable_{name}", what, labels=labels)
    for of, times in values:
        metric.add_metric(of, buckets=list(_classes(times.classes)), sum_value=times.total_s)
    return metric


def _classes(classes: Iterable[int]) -> Iterator[tuple[str, float]]:
    return zip((*(str(float(edge)) for edge in EDGES_S), "+Inf"), accumulate(classes), strict=True)
