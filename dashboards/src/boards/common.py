"""What do several dashboards show in the same way?"""

from model import BAD, GOOD, WARN, Panel, Query, Step

I = 'instance=~"$instance"'
"""The workers that the reader has chosen."""
P = 'profile=~"$profile"'
C = 'class=~"$class"'
R = "[$__rate_interval]"

ALL_WELL = (Step(None, GOOD), Step(1, BAD))
"""Nought is well, anything else is not."""
UP = {"0": ("no", BAD), "1": ("yes", GOOD)}
HOLDS = {"0": ("fails", BAD), "1": ("ok", GOOD)}


def rate(metric: str, matchers: str = I) -> str:
    return f"rate({metric}{{{matchers}}}{R})"


def total(metric: str, by: str = "", matchers: str = I) -> str:
    """The sum of rates, for each word of a label where one is named."""
    return f"sum{f' by ({by})' if by else ''} ({rate(metric, matchers)})"


def quantile(q: float, metric: str, by: str = "", matchers: str = I) -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) ({rate(f'{metric}_bucket', matchers)}))"


def percentiles(metric: str, matchers: str = I) -> tuple[Query, ...]:
    return tuple(Query(quantile(q, metric, matchers=matchers), word) for q, word in ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %")))


def state(title: str, asks: str, queries: tuple[Query, ...], words: dict[str, tuple[str, str]], **more: object) -> Panel:
    return Panel(title, asks, queries, unit="none", kind="state-timeline", words=words, **more)  # type: ignore[arg-type]


FIRING = Panel(
    "Alerts that fire", "What is wrong right now, and whom does it wake?",
    (Query('sort_desc(count by (alertname, severity, instance) (ALERTS{alertname=~"Kiln.*", alertstate="firing"}))', "series"),),
    kind="table", width=8, height=8, quiet="no alert fires while all is well",
)
RATIO = (Step(None, GOOD), Step(0.001, WARN), Step(0.0144, BAD))
