"""What is a dashboard made of, and how does Grafana want it written?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

WIDTH = 24
"""Columns of a dashboard."""

SCHEMA = 39
"""The version of Grafana's dashboard schema that is written: Grafana 10 and newer read it."""

Kind = Literal["timeseries", "stat", "table", "bargauge", "state-timeline"]
Unit = Literal["short", "s", "bytes", "binBps", "percentunit", "ops", "reqps", "dateTimeFromNow", "bool", "none"]

# Okabe and Ito's colours: told apart by colour-blind eyes, on light and dark ground.
BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PINK, GREY = "#D55E00", "#CC79A7", "#888888"
PALETTE = (BLUE, YELLOW, GREEN, PINK, SKY, RED, "#F0E442", GREY)

# Good and bad are words and places too, never colour alone.
GOOD, WARN, BAD = BLUE, YELLOW, RED


NAMED = {
    "{{status}}": {
        "succeeded": BLUE, "failed": SKY, "timed_out": YELLOW, "limit_exceeded": "#F0E442", "policy_denied": PINK,
        "cancelled": GREY, "expired": "#BBBBBB", "rejected": "#555555", "platform_error": RED,
    },
    "{{verdict}}": {
        "clean": BLUE, "active": SKY, "suspicious": YELLOW, "malicious": RED, "unscannable": PINK, "unscanned": GREY,
    },
    "{{state}}": {"released": BLUE, "withheld": RED},
    "{{result}}": {"ok": BLUE, "clean": BLUE, "exported": BLUE, "stale": YELLOW, "failed": RED, "error": RED, "dropped": RED},
    "{{start}}": {"warm": BLUE, "cold": YELLOW},
    "{{phase}}": {"warm": BLUE, "running": GREEN, "leased": YELLOW, "resetting": PINK, "cold": GREY},
}
"""Words that have the same colour everywhere, by the legend that shows them."""


@dataclass(frozen=True)
class Query:
    """One expression of a panel and what its series are called."""

    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Step:
    """From which value on a figure has a colour."""

    value: float | None
    color: str


@dataclass(frozen=True)
class Panel:
    """One picture. `asks` is the question that it answers: it is the panel's description."""

    title: str
    asks: str
    queries: tuple[Query, ...]
    unit: Unit = "short"
    kind: Kind = "timeseries"
    width: int = 8
    height: int = 7
    stacked: bool = False
    low: float | None = 0
    high: float | None = None
    steps: tuple[Step, ...] = ()
    words: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A value's word and colour, for figures that are states."""
    log: bool = False
    runbook: str = ""
    """The alert whose runbook this panel belongs to."""
    quiet: str = ""
    """Why a healthy worker has nothing to show here."""

    def __post_init__(self) -> None:
        if not self.asks.endswith("?"):
            raise ValueError(f"`{self.title}` asks no question: {self.asks}")


@dataclass(frozen=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Dashboard:
    """One page. `variables` are the labels that a reader may choose from."""

    uid: str
    title: str
    asks: str
    rows: tuple[Row, ...]
    variables: tuple[str, ...] = ("instance",)

    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row.panels]


LABELS = {
    "instance": ("Worker", "label_values(kiln_build_info, instance)"),
    "profile": ("Profile", "label_values(kiln_pool_target, profile)"),
    "class": ("Class", "label_values(kiln_jobs_total, class)"),
}


def variable(name: str) -> dict[str, Any]:
    label, query = LABELS[name]
    return {
        "type": "query", "name": name, "label": label, "hide": 0,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": {"query": query, "refId": f"variable-{name}"},
        "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "options": [], "regex": "", "skipUrlSync": False,
    }


def templating(dashboard: Dashboard, runbooks: str) -> list[dict[str, Any]]:
    source = {
        "type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus",
        "current": {"selected": True, "text": "Prometheus", "value": "kiln-prometheus"},
        "hide": 0, "includeAll": False, "multi": False, "options": [], "refresh": 1,
        "regex": "", "skipUrlSync": False,
    }
    books = {
        "type": "constant", "name": "runbooks", "label": "Runbooks", "query": runbooks, "hide": 2,
        "current": {"selected": True, "text": runbooks, "value": runbooks}, "skipUrlSync": True,
        "options": [{"selected": True, "text": runbooks, "value": runbooks}],
    }
    return [source, *(variable(name) for name in dashboard.variables), books]


def thresholds(panel: Panel) -> dict[str, Any]:
    steps = panel.steps or (Step(None, BLUE),)
    return {"mode": "absolute", "steps": [{"color": it.color, "value": it.value} for it in steps]}


def mappings(panel: Panel) -> list[dict[str, Any]]:
    if not panel.words:
        return []
    options = {
        value: {"text": word, "color": color, "index": place}
        for place, (value, (word, color)) in enumerate(panel.words.items())
    }
    return [{"type": "value", "options": options}]


def defaults(panel: Panel) -> dict[str, Any]:
    mode = "thresholds" if panel.kind != "timeseries" else "palette-classic-by-name"
    of: dict[str, Any] = {
        "unit": panel.unit, "color": {"mode": mode}, "thresholds": thresholds(panel),
        "mappings": mappings(panel), "noValue": f"no data: {panel.quiet}" if panel.quiet else "no data",
    }
    if panel.low is not None and panel.kind != "stat":
        of["min"] = panel.low
    if panel.high is not None:
        of["max"] = panel.high
    if panel.kind == "timeseries":
        scale = {"type": "log", "log": 10} if panel.log else {"type": "linear"}
        of["custom"] = {
            # A line along the top of a stack would be of whichever comes last, be it nought.
            "drawStyle": "line", "lineWidth": 0 if panel.stacked else 1, "fillOpacity": 70 if panel.stacked else 0,
            "lineInterpolation": "linear", "showPoints": "never", "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
            "scaleDistribution": scale, "axisPlacement": "auto",
            "thresholdsStyle": {"mode": "line" if panel.steps else "off"},
        }
    elif panel.kind == "state-timeline":
        of["custom"] = {"fillOpacity": 80, "lineWidth": 0}
    elif panel.kind == "table":
        of["custom"] = {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True}
    return of


def overrides(panel: Panel) -> list[dict[str, Any]]:
    colors = {name: color for query in panel.queries for name, color in NAMED.get(query.legend, {}).items()}
    return [
        {"matcher": {"id": "byName", "options": name},
         "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}]}
        for name, color in colors.items()
    ]


def options(panel: Panel) -> dict[str, Any]:
    calc = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    match panel.kind:
        case "stat":
            return {
                "reduceOptions": calc, "orientation": "auto", "textMode": "auto",
                "colorMode": "value", "graphMode": "area", "justifyMode": "auto",
            }
        case "bargauge":
            return {
                "reduceOptions": calc, "orientation": "horizontal", "displayMode": "basic",
                "showUnfilled": True, "valueMode": "color",
            }
        case "table":
            return {"showHeader": True, "cellHeight": "sm", "footer": {"show": False}}
        case "state-timeline":
            return {
                "mergeValues": True, "showValue": "auto", "rowHeight": 0.8, "alignValue": "left",
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "single", "sort": "none"},
            }
        case _:
            return {
                "legend": {"calcs": ["lastNotNull"], "displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }


def target(panel: Panel, place: int, query: Query) -> dict[str, Any]:
    at_once = panel.kind in ("table", "bargauge")
    return {
        "refId": chr(ord("A") + place), "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "expr": query.expr, "legendFormat": query.legend or "__auto", "editorMode": "code",
        "instant": at_once, "range": not at_once, "format": "table" if panel.kind == "table" else "time_series",
    }


def merged(panel: Panel) -> list[dict[str, Any]]:
    """A table has a column for each query, and none for what says nothing."""
    if panel.kind != "table":
        return []
    names = {f"Value #{chr(ord('A') + n)}": it.legend for n, it in enumerate(panel.queries)}
    if len(panel.queries) == 1:
        names = {"Value": panel.queries[0].legend}
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {
            "excludeByName": {"Time": True}, "indexByName": {}, "renameByName": names}},
    ]


def panel_json(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    links = []
    if panel.runbook:
        links = [{
            "type": "link", "title": f"Runbook {panel.runbook}", "targetBlank": True,
            "url": f"${{runbooks}}/{panel.runbook}.md", "asDropdown": False, "icon": "doc",
            "includeVars": False, "keepTime": False, "tags": [], "tooltip": "What to do",
        }]
    return {
        "id": number, "type": panel.kind, "title": panel.title, "description": panel.asks,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "targets": [target(panel, n, query) for n, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": defaults(panel), "overrides": overrides(panel)},
        "options": options(panel), "transformations": merged(panel), "links": links,
        "transparent": False,
    }


def laid_out(dashboard: Dashboard) -> list[dict[str, Any]]:
    """The panels from left to right, row after row; a line that is full begins the next."""
    placed: list[dict[str, Any]] = []
    number, y = 1, 0
    for row in dashboard.rows:
        placed.append({
            "id": number, "type": "row", "title": row.title, "collapsed": False, "panels": [],
            "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1},
        })
        number, y, x, tall = number + 1, y + 1, 0, 0
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y, tall = 0, y + tall, 0
            placed.append(panel_json(panel, number, x, y))
            number, x, tall = number + 1, x + panel.width, max(tall, panel.height)
        y += tall
    return placed


def dashboard_json(dashboard: Dashboard, runbooks: str) -> dict[str, Any]:
    """What Grafana is given."""
    return {
        "uid": dashboard.uid, "title": dashboard.title, "description": dashboard.asks,
        "tags": ["kiln"], "schemaVersion": SCHEMA, "version": 1, "editable": True,
        "graphTooltip": 1, "timezone": "browser", "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"}, "fiscalYearStartMonth": 0, "weekStart": "",
        "annotations": {"list": [{
            "name": "Alerts that fire", "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "enable": True, "iconColor": RED, "target": {
                "refId": "alerts", "expr": 'ALERTS{alertname=~"Kiln.*", alertstate="firing", severity="page"}',
                "legendFormat": "{{alertname}} {{instance}}",
            },
        }]},
        "links": [{
            "type": "dashboards", "title": "Kiln", "tags": ["kiln"], "asDropdown": True,
            "includeVars": True, "keepTime": True, "icon": "external link", "targetBlank": False,
            "tooltip": "", "url": "",
        }],
        "templating": {"list": templating(dashboard, runbooks)},
        "panels": laid_out(dashboard),
    }
