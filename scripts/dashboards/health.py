"""The dashboard that shows whether the detector keeps up."""

from __future__ import annotations

from dashboards.panels import AT, Dashboard, Panel, quantile, stat, total

HEALTH = Dashboard(
    "raglog-health",
    "RAG detector health",
    "Whether otel-raglog keeps up, and whether anything is lost.",
    ("instance",),
    (
        (
            "Now",
            (
                stat("Answering", 'min(up{job="otel-raglog"})'),
                stat(
                    "Spans lost",
                    f"{total('raglog_spans_dropped_total', '', AT, '$__range')} or vector(0)",
                ),
                stat("Spans pending", f"sum(raglog_spans_pending{{{AT}}})"),
                stat("Traces that wait for a verdict", f"sum(raglog_backlog_traces{{{AT}}})"),
            ),
        ),
        (
            "Spans",
            (
                Panel(
                    "Spans a second",
                    (
                        (total("raglog_spans_received_total", "", AT), "received"),
                        (total("raglog_spans_forwarded_total", "exporter", AT), "to {{exporter}}"),
                        (
                            total("raglog_spans_recovered_total", "exporter", AT),
                            "recovered for {{exporter}}",
                        ),
                        (total("raglog_late_spans_total", "", AT), "late"),
                    ),
                    "ops",
                ),
                Panel(
                    "Spans refused and lost",
                    (
                        (total("raglog_spans_rejected_total", "reason", AT), "refused: {{reason}}"),
                        (
                            total("raglog_spans_dropped_total", "exporter, reason", AT),
                            "{{exporter}}: {{reason}}",
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Queues",
                    ((f"raglog_queue_items{{{AT}}}", "{{instance}} {{exporter}} {{signal}}"),),
                ),
                Panel(
                    "Failed tries",
                    (
                        (
                            total("raglog_export_retries_total", "exporter, signal", AT),
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
                        (f"raglog_traces_open{{{AT}}}", "{{instance}} held"),
                        (f"raglog_backlog_traces{{{AT}}}", "{{instance}} to be judged"),
                        (f"raglog_fragments_pending{{{AT}}}", "{{instance}} to be joined"),
                    ),
                ),
                Panel(
                    "Traces released early",
                    ((total("raglog_traces_evicted_total", "reason", AT), "{{reason}}"),),
                    "ops",
                ),
                Panel(
                    "Time to judge a run",
                    (
                        (quantile(0.5, "raglog_analysis_seconds", "", AT), "median"),
                        (quantile(0.95, "raglog_analysis_seconds", "", AT), "p95"),
                    ),
                    "s",
                ),
                Panel(
                    "Checks that raise",
                    (
                        (
                            total("raglog_check_failures_total", "check, error", AT),
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
                        (f"raglog_memory_bytes{{{AT}}}", "{{instance}} of the budget"),
                        (f"raglog_held_bytes{{{AT}}}", "{{instance}} held"),
                    ),
                    "bytes",
                ),
                Panel("Journal", ((f"raglog_journal_bytes{{{AT}}}", "{{instance}}"),), "bytes"),
                Panel(
                    "Oldest record in the journal",
                    ((f"raglog_journal_oldest_seconds{{{AT}}}", "{{instance}}"),),
                    "s",
                ),
                Panel(
                    "Items that wait for their trace or its verdict",
                    ((f"raglog_journal_undecided_items{{{AT}}}", "{{instance}}"),),
                ),
            ),
        ),
    ),
)
