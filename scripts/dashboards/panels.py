"""Panels and queries of the Grafana dashboards, without Grafana's own JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its queries with their legends; ``unit`` is Grafana's name, ``width`` of 24."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    text: str = ""
    width: int = 12
    height: int = 8
    stacked: bool = False
    instant: bool = False
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard: rows of panels, and the variables that its queries name."""

    uid: str
    title: str
    text: str
    variables: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


OF = 'service=~"$service"'
IN = 'service=~"$service",stage=~"$stage"'
AT = 'instance=~"$instance"'


def total(metric: str, by: str, selector: str, window: str = "$__rate_interval") -> str:
    """Return the rate of a counter, or its increase in the shown range."""
    how = "increase" if window == "$__range" else "rate"
    group = f" by ({by})" if by else ""
    return f"sum{group} ({how}({metric}{{{selector}}}[{window}]))"


def fault_share(by: str, selector: str, window: str = "$__rate_interval") -> str:
    """Return the share of the judged that is faulty, zero where none is."""
    metric = "raglog_stage_verdicts_total" if "stage" in selector else "raglog_runs_total"
    judged = total(metric, by, f'{selector},verdict=~"faulty|ok"', window)
    faulty = total(metric, by, f'{selector},verdict="faulty"', window)
    return f"({faulty} or 0 * {judged}) / ({judged} > 0)"


def quantile(q: float, metric: str, by: str, selector: str) -> str:
    """Return a quantile of a histogram."""
    within = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {total(f'{metric}_bucket', within, selector)})"


def mean(metric: str, by: str, selector: str) -> str:
    """Return the mean of what a histogram observed."""
    return (
        f"{total(f'{metric}_sum', by, selector)} / ({total(f'{metric}_count', by, selector)} > 0)"
    )


def ratio(part: str, whole: str) -> str:
    """Return the quotient of two recorded counts of an hour."""
    within = f"{{{OF}}}"
    return f"service:{part}:increase1h{within} / (service:{whole}:increase1h{within} > 0)"


def stat(title: str, query: str, unit: str = "short", text: str = "") -> Panel:
    """Return a panel with one number."""
    return Panel(title, ((query, ""),), unit, "stat", text, width=6, height=4, instant=True)


def bars(title: str, query: str, legend: str, unit: str = "short", text: str = "") -> Panel:
    """Return a panel with a bar for each series."""
    return Panel(title, ((query, legend),), unit, "bargauge", text, instant=True)


def heat(title: str, metric: str, selector: str, text: str = "") -> Panel:
    """Return a panel with the distribution of a histogram over time."""
    query = f"sum by (le) (increase({metric}_bucket{{{selector}}}[$__rate_interval]))"
    return Panel(title, ((query, "{{le}}"),), "short", "heatmap", text)
