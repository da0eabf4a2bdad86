"""What is an alert, and how is it written for Prometheus, at its own pace or at a test's?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Case:
    """Series, and what comes of them: for `fires` the labels of the alert, for `quiet` nothing.

    Values are in promtool's notation, one each 15 s; `at` is when one looks.
    """

    at: str
    series: dict[str, str]
    labels: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True)
class Alert:
    """One alert: whom it wakes, why, and which figure shows the cause.

    In `expr` a duration in brackets is a window, and `<90s>` is a number of seconds: both are
    what a test at another pace changes, and nothing else.
    """

    name: str
    severity: Literal["page", "ticket"]
    expr: str
    lasts: str
    summary: str
    cause: tuple[str, ...]
    """Figures that show what is wrong; the runbook names them."""
    fires: Case
    quiet: Case


@dataclass(frozen=True)
class Recording:
    """A figure that is made of others."""

    record: str
    expr: str
    means: str


def seconds(duration: str) -> float:
    return sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([0-9.]+)(ms|s|m|h|d)", duration))


@dataclass(frozen=True)
class Pace:
    """How much faster than in life the clock of the rules goes."""

    factor: float = 1.0
    window_min: float = 0.0
    """What a window must hold: some scrapes."""

    def window(self, duration: str) -> str:
        if self.factor == 1.0:
            return duration
        return f"{max(round(seconds(duration) / self.factor), round(self.window_min))}s"

    def lasts(self, duration: str) -> str:
        if self.factor == 1.0:
            return duration
        return f"{max(round(seconds(duration) / self.factor), 1)}s"

    def expr(self, text: str) -> str:
        text = " ".join(text.split())
        text = re.sub(r"\[([0-9]+(?:ms|s|m|h|d))\]", lambda it: f"[{self.window(it[1])}]", text)
        return re.sub(r"<([0-9.]+(?:ms|s|m|h|d))>", lambda it: f"{seconds(it[1]) / self.factor:g}", text)


def alert_json(alert: Alert, pace: Pace, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name, "expr": pace.expr(alert.expr), "for": pace.lasts(alert.lasts),
        "labels": {"severity": alert.severity, "service": "kiln"},
        "annotations": {"summary": alert.summary, "runbook_url": f"{runbooks}/{alert.name}.md"},
    }


def groups(recordings: tuple[Recording, ...], alerts: tuple[Alert, ...], pace: Pace, runbooks: str,
           interval: str) -> dict[str, Any]:
    """A file of rules."""
    recorded = [{"record": it.record, "expr": pace.expr(it.expr)} for it in recordings]
    alerted = [alert_json(alert, pace, runbooks) for alert in alerts]
    return {"groups": [
        {"name": "kiln-recorded", "interval": interval, "rules": recorded},
        {"name": "kiln-alerts", "interval": interval, "rules": alerted},
    ]}


def expected(alert: Alert, labels: dict[str, str], runbooks: str) -> dict[str, Any]:
    """The alert as it would be sent, its texts filled in."""
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda it: labels.get(it[1], ""), alert.summary)
    if "{{" in summary:
        raise ValueError(f"{alert.name}: a summary holds labels and no values: {summary}")
    return {
        "exp_labels": {"severity": alert.severity, "service": "kiln", **labels},
        "exp_annotations": {"summary": summary, "runbook_url": f"{runbooks}/{alert.name}.md"},
    }


def tests(alerts: tuple[Alert, ...], runbooks: str, files: list[str]) -> dict[str, Any]:
    """For each alert two tests of promtool: it fires, and it does not."""
    def one(alert: Alert, case: Case, fired: list[dict[str, Any]], word: str) -> dict[str, Any]:
        series = [{"series": name, "values": values} for name, values in case.series.items()]
        return {
            "name": f"{alert.name} {word}", "interval": "15s", "input_series": series,
            "alert_rule_test": [{"eval_time": case.at, "alertname": alert.name, "exp_alerts": fired}],
        }

    all_tests = []
    for alert in alerts:
        if not alert.fires.labels or alert.quiet.labels:
            raise ValueError(f"{alert.name}: `fires` has labels, and `quiet` has none")
        fired = [expected(alert, labels, runbooks) for labels in alert.fires.labels]
        all_tests += [one(alert, alert.fires, fired, "fires"), one(alert, alert.quiet, [], "is quiet")]
    return {"rule_files": files, "evaluation_interval": "1m", "tests": all_tests}
