"""What the Grafana dashboards show: panels and their queries, without Grafana's own JSON."""

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


_OF = 'service=~"$service"'
_IN = 'service=~"$service",stage=~"$stage"'
_AT = 'instance=~"$instance"'


def _sum(metric: str, by: str, selector: str, window: str = "$__rate_interval") -> str:
    how = "increase" if window == "$__range" else "rate"
    group = f" by ({by})" if by else ""
    return f"sum{group} ({how}({metric}{{{selector}}}[{window}]))"


def _fault_share(by: str, selector: str, window: str = "$__rate_interval") -> str:
    metric = "raglog_stage_verdicts_total" if "stage" in selector else "raglog_runs_total"
    judged = _sum(metric, by, f'{selector},verdict=~"faulty|ok"', window)
    faulty = _sum(metric, by, f'{selector},verdict="faulty"', window)
    return f"({faulty} or 0 * {judged}) / ({judged} > 0)"


def _quantile(q: float, metric: str, by: str, selector: str) -> str:
    within = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {_sum(f'{metric}_bucket', within, selector)})"


def _mean(metric: str, by: str, selector: str) -> str:
    return f"{_sum(f'{metric}_sum', by, selector)} / ({_sum(f'{metric}_count', by, selector)} > 0)"


def _ratio(part: str, whole: str) -> str:
    within = f"{{{_OF}}}"
    return f"service:{part}:increase1h{within} / (service:{whole}:increase1h{within} > 0)"


def _stat(title: str, query: str, unit: str = "short", text: str = "") -> Panel:
    return Panel(title, ((query, ""),), unit, "stat", text, width=6, height=4, instant=True)


def _bars(title: str, query: str, legend: str, unit: str = "short", text: str = "") -> Panel:
    return Panel(title, ((query, legend),), unit, "bargauge", text, instant=True)


def _heat(title: str, metric: str, selector: str, text: str = "") -> Panel:
    query = f"sum by (le) (increase({metric}_bucket{{{selector}}}[$__rate_interval]))"
    return Panel(title, ((query, "{{le}}"),), "short", "heatmap", text)


OVERVIEW = Dashboard(
    "raglog-overview",
    "RAG overview",
    "Which stage of which service fails, and since when.",
    ("service", "stage"),
    (
        (
            "Now",
            (
                _stat("Runs", _sum("raglog_runs_total", "", _OF, "$__range")),
                _stat(
                    "Faulty runs",
                    _fault_share("", _OF, "$__range"),
                    "percentunit",
                    "Faulty of those that could be judged.",
                ),
                _stat(
                    "Not judged",
                    _sum("raglog_runs_total", "", f'{_OF},verdict="unknown"', "$__range")
                    + " or vector(0)",
                ),
                _stat(
                    "Alerts",
                    'count(ALERTS{alertname=~"Raglog.*",alertstate="firing"}) or vector(0)',
                ),
            ),
        ),
        (
            "Stages",
            (
                Panel(
                    "Fault rate by stage",
                    ((_fault_share("stage", _IN), "{{stage}}"),),
                    "percentunit",
                    text="Faulty of faulty and ok. Diamonds are exemplars: click one for its trace.",
                ),
                _bars(
                    "Where the first fault is",
                    _sum("raglog_first_faulty_stage_total", "stage", _OF, "$__range")
                    + " / ignoring (stage) group_left () "
                    + f"({_sum('raglog_first_faulty_stage_total', '', _OF, '$__range')} > 0)",
                    "{{stage}}",
                    "percentunit",
                    "Share of the faulty runs, by the stage where their first fault is.",
                ),
                Panel(
                    "Fault odds over the usual",
                    (
                        (
                            f"service_stage:raglog_fault_burn:increase1h{{{_IN}}}",
                            "{{service}} {{stage}}",
                        ),
                    ),
                    text="Last hour. RaglogStageFaultsFast fires above 6.",
                    threshold=6,
                ),
                _bars(
                    "Most frequent faults",
                    f"topk(10, {_sum('raglog_faults_total', 'stage, fault_type', _IN, '$__range')})",
                    "{{stage}}: {{fault_type}}",
                ),
            ),
        ),
        (
            "Services",
            (
                Panel(
                    "Faulty runs by service",
                    ((_fault_share("service", _OF), "{{service}}"),),
                    "percentunit",
                ),
                Panel(
                    "Runs a second",
                    (
                        (
                            _sum("raglog_runs_total", "service, verdict", _OF),
                            "{{service}} {{verdict}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Fault rate over six hours, by service and stage",
                    (
                        (
                            f"service_stage:raglog_fault_ratio:increase6h{{{_IN}}}",
                            "{{service}} {{stage}}",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Traces and runs that were not judged",
                    ((_sum("raglog_skipped_total", "reason", ""), "{{reason}}"),),
                    "ops",
                    stacked=True,
                ),
            ),
        ),
    ),
)

STAGE = Dashboard(
    "raglog-stage",
    "RAG stage",
    "One stage: what its faults are, how sure the detector is, how long it takes.",
    ("service", "stage"),
    (
        (
            "Verdicts",
            (
                Panel(
                    "Verdicts a second",
                    (
                        (
                            _sum("raglog_stage_verdicts_total", "stage, verdict", _IN),
                            "{{stage}} {{verdict}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Fault types a second",
                    (
                        (
                            _sum("raglog_faults_total", "stage, fault_type", _IN),
                            "{{stage}}: {{fault_type}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
                _heat("Fault probability", "raglog_stage_fault_probability", _IN),
                Panel(
                    "Fault probability by stage",
                    (
                        (
                            _quantile(0.5, "raglog_stage_fault_probability", "stage", _IN),
                            "{{stage}} median",
                        ),
                        (
                            _quantile(0.95, "raglog_stage_fault_probability", "stage", _IN),
                            "{{stage}} p95",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Fault rate and what is usual",
                    (
                        (
                            f"service_stage:raglog_fault_ratio:increase1h{{{_IN}}}",
                            "{{service}} {{stage}}",
                        ),
                        (
                            f"service_stage:raglog_fault_ratio:usual{{{_IN}}}",
                            "{{service}} {{stage}} usual",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Warnings a second",
                    (
                        (
                            _sum("raglog_warnings_total", "stage, warning", _IN),
                            "{{stage}}: {{warning}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
            ),
        ),
        (
            "Time",
            (
                Panel(
                    "Time in the application, by stage",
                    (
                        (
                            _quantile(0.5, "raglog_stage_duration_seconds", "stage", _IN),
                            "{{stage}} median",
                        ),
                        (
                            _quantile(0.95, "raglog_stage_duration_seconds", "stage", _IN),
                            "{{stage}} p95",
                        ),
                    ),
                    "s",
                ),
                _heat("Distribution of the time (seconds)", "raglog_stage_duration_seconds", _IN),
            ),
        ),
        (
            "Retrieval",
            (
                _heat(
                    "Best score of a run",
                    "raglog_retrieval_top_score",
                    _OF,
                    "In the store's own unit: do not mix score kinds.",
                ),
                Panel(
                    "Best score of a run, by kind",
                    (
                        (
                            _quantile(
                                0.5, "raglog_retrieval_top_score", "service, score_kind", _OF
                            ),
                            "{{service}} {{score_kind}} median",
                        ),
                    ),
                ),
                Panel(
                    "Drift of the best score in six hours",
                    (
                        (
                            f"service_kind:raglog_top_score_drift:increase6h{{{_OF}}}",
                            "{{service}} {{score_kind}}",
                        ),
                    ),
                    "percentunit",
                    text="Largest difference of the distributions from the last seven days; alert above 30 %.",
                    threshold=0.3,
                ),
                Panel(
                    "Chunks of a run",
                    ((_mean("raglog_retrieved_chunks", "service", _OF), "{{service}} mean"),),
                ),
                Panel(
                    "Searches that found nothing",
                    (
                        (
                            _ratio("raglog_retrieval_empty", "raglog_retrievals"),
                            "{{service}}",
                        ),
                    ),
                    "percentunit",
                    text="Of the last hour.",
                ),
            ),
        ),
        (
            "Prompt and answer",
            (
                Panel(
                    "Selected chunks that are whole in the prompt",
                    (
                        (_mean("raglog_context_utilization_ratio", "service", _OF), "{{service}}"),
                        (
                            f"service:raglog_context_utilization:baseline7d{{{_OF}}}",
                            "{{service}} usual",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Share of the model's window that the prompt fills",
                    (
                        (
                            _quantile(0.95, "raglog_prompt_budget_ratio", "service", _OF),
                            "{{service}} p95",
                        ),
                    ),
                    "percentunit",
                    threshold=0.9,
                ),
                Panel(
                    "Answers that were cut off",
                    (
                        (
                            _ratio("raglog_output_truncated", "raglog_answers"),
                            "{{service}}",
                        ),
                    ),
                    "percentunit",
                    text="Of the last hour.",
                ),
                Panel(
                    "Share of the answer's own words that the prompt holds",
                    ((_mean("raglog_groundedness_ratio", "service", _OF), "{{service}}"),),
                    "percentunit",
                ),
            ),
        ),
    ),
)

HEALTH = Dashboard(
    "raglog-health",
    "RAG detector health",
    "Whether otel-raglog keeps up, and whether anything is lost.",
    ("instance",),
    (
        (
            "Now",
            (
                _stat("Answering", 'min(up{job="otel-raglog"})'),
                _stat(
                    "Spans lost",
                    f"{_sum('raglog_spans_dropped_total', '', _AT, '$__range')} or vector(0)",
                ),
                _stat("Spans pending", f"sum(raglog_spans_pending{{{_AT}}})"),
                _stat("Traces that wait for a verdict", f"sum(raglog_backlog_traces{{{_AT}}})"),
            ),
        ),
        (
            "Spans",
            (
                Panel(
                    "Spans a second",
                    (
                        (_sum("raglog_spans_received_total", "", _AT), "received"),
                        (_sum("raglog_spans_forwarded_total", "exporter", _AT), "to {{exporter}}"),
                        (
                            _sum("raglog_spans_recovered_total", "exporter", _AT),
                            "recovered for {{exporter}}",
                        ),
                        (_sum("raglog_late_spans_total", "", _AT), "late"),
                    ),
                    "ops",
                ),
                Panel(
                    "Spans refused and lost",
                    (
                        (_sum("raglog_spans_rejected_total", "reason", _AT), "refused: {{reason}}"),
                        (
                            _sum("raglog_spans_dropped_total", "exporter, reason", _AT),
                            "{{exporter}}: {{reason}}",
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Queues",
                    ((f"raglog_queue_items{{{_AT}}}", "{{instance}} {{exporter}} {{signal}}"),),
                ),
                Panel(
                    "Failed tries",
                    (
                        (
                            _sum("raglog_export_retries_total", "exporter, signal", _AT),
                            "{{exporter}} {{signal}}",
                        ),
                    ),
                    "ops",
                ),
            ),
        ),
        (
            "Holding and judging",
            (
                Panel(
                    "Traces",
                    (
                        (f"raglog_traces_open{{{_AT}}}", "{{instance}} held"),
                        (f"raglog_backlog_traces{{{_AT}}}", "{{instance}} to be judged"),
                        (f"raglog_fragments_pending{{{_AT}}}", "{{instance}} to be joined"),
                    ),
                ),
                Panel(
                    "Traces released early",
                    ((_sum("raglog_traces_evicted_total", "reason", _AT), "{{reason}}"),),
                    "ops",
                ),
                Panel(
                    "Time to judge a run",
                    (
                        (_quantile(0.5, "raglog_analysis_seconds", "", _AT), "median"),
                        (_quantile(0.95, "raglog_analysis_seconds", "", _AT), "p95"),
                    ),
                    "s",
                ),
                Panel(
                    "Checks that raise",
                    (
                        (
                            _sum("raglog_check_failures_total", "check, error", _AT),
                            "{{check}} {{error}}",
                        ),
                    ),
                    "ops",
                ),
            ),
        ),
        (
            "Memory and disk",
            (
                Panel(
                    "Bytes in memory",
                    (
                        (f"raglog_memory_bytes{{{_AT}}}", "{{instance}} of the budget"),
                        (f"raglog_held_bytes{{{_AT}}}", "{{instance}} held"),
                    ),
                    "bytes",
                ),
                Panel("Journal", ((f"raglog_journal_bytes{{{_AT}}}", "{{instance}}"),), "bytes"),
                Panel(
                    "Oldest record in the journal",
                    ((f"raglog_journal_oldest_seconds{{{_AT}}}", "{{instance}}"),),
                    "s",
                ),
                Panel(
                    "Items that wait for their trace or its verdict",
                    ((f"raglog_journal_undecided_items{{{_AT}}}", "{{instance}}"),),
                ),
            ),
        ),
    ),
)

COST = Dashboard(
    "raglog-cost",
    "RAG cost",
    "What judging costs: the LLM's money and tokens, and the local detector's time.",
    ("service",),
    (
        (
            "In this range",
            (
                _stat("USD", _sum("raglog_llm_cost_usd_total", "", "", "$__range"), "currencyUSD"),
                _stat("Calls", _sum("raglog_llm_calls_total", "", "", "$__range")),
                _stat(
                    "USD a thousand runs",
                    f"1000 * {_sum('raglog_llm_cost_usd_total', '', '', '$__range')}"
                    f" / ({_sum('raglog_runs_total', '', '', '$__range')} > 0)",
                    "currencyUSD",
                    "Of all runs, those that no LLM was asked about included.",
                ),
                _stat("Runs at the LLM", "sum(raglog_judge_pending)"),
            ),
        ),
        (
            "The LLM",
            (
                Panel(
                    "USD an hour",
                    ((f"3600 * {_sum('raglog_llm_cost_usd_total', 'model', '')}", "{{model}}"),),
                    "currencyUSD",
                ),
                Panel(
                    "Tokens a second",
                    ((_sum("raglog_llm_tokens_total", "model, kind", ""), "{{model}} {{kind}}"),),
                    stacked=True,
                ),
                Panel(
                    "Runs that no LLM was asked about",
                    ((_sum("raglog_judge_skipped_total", "reason", ""), "{{reason}}"),),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Checks without an answer",
                    (
                        (
                            _sum("raglog_judge_abstained_total", "check, reason", ""),
                            "{{check}} {{reason}}",
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Verdicts that came after the spans had left",
                    ((_sum("raglog_late_verdicts_total", "", ""), "late"),),
                    "ops",
                ),
                Panel(
                    "Texts that try to instruct the LLM",
                    (
                        (
                            _sum("raglog_judge_injection_suspected_total", "service, kind", _OF),
                            "{{service}} {{kind}}",
                        ),
                    ),
                    "ops",
                ),
            ),
        ),
        (
            "The local detector",
            (
                Panel(
                    "Seconds of judging a second",
                    ((_sum("raglog_analysis_seconds_sum", "instance", ""), "{{instance}}"),),
                    text="About the cores that it keeps busy.",
                ),
                Panel(
                    "Runs a second",
                    ((_sum("raglog_runs_total", "service", _OF), "{{service}}"),),
                    "ops",
                ),
            ),
        ),
    ),
)

DASHBOARDS = (OVERVIEW, STAGE, HEALTH, COST)
