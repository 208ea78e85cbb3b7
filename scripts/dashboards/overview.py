"""The dashboard that shows which stage of which service fails."""

from __future__ import annotations

from dashboards.panels import IN, OF, Dashboard, Panel, bars, fault_share, stat, total

OVERVIEW = Dashboard(
    "raglog-overview",
    "RAG overview",
    "Which stage of which service fails, and since when.",
    ("service", "stage"),
    (
        (
            "Now",
            (
                stat("Runs", total("raglog_runs_total", "", OF, "$__range")),
                stat(
                    "Faulty runs",
                    fault_share("", OF, "$__range"),
                    "percentunit",
                    "Faulty of those that could be judged.",
                ),
                stat(
                    "Not judged",
                    total("raglog_runs_total", "", f'{OF},verdict="unknown"', "$__range")
                    + " or vector(0)",
                ),
                stat(
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
                    ((fault_share("stage", IN), "{{stage}}"),),
                    "percentunit",
                    text="Faulty of faulty and ok. Diamonds are exemplars: click one for its trace.",
                ),
                bars(
                    "Where the first fault is",
                    total("raglog_first_faulty_stage_total", "stage", OF, "$__range")
                    + " / ignoring (stage) group_left () "
                    + f"({total('raglog_first_faulty_stage_total', '', OF, '$__range')} > 0)",
                    "{{stage}}",
                    "percentunit",
                    "Share of the faulty runs, by the stage where their first fault is.",
                ),
                Panel(
                    "Fault odds over the usual",
                    (
                        (
                            f"service_stage:raglog_fault_burn:increase1h{{{IN}}}",
                            "{{service}} {{stage}}",
                        ),
                    ),
                    text="Last hour. RaglogStageFaultsFast fires above 6.",
                    threshold=6,
                ),
                bars(
                    "Most frequent faults",
                    f"topk(10, {total('raglog_faults_total', 'stage, fault_type', IN, '$__range')})",
                    "{{stage}}: {{fault_type}}",
                ),
            ),
        ),
        (
            "Services",
            (
                Panel(
                    "Faulty runs by service",
                    ((fault_share("service", OF), "{{service}}"),),
                    "percentunit",
                ),
                Panel(
                    "Runs a second",
                    (
                        (
                            total("raglog_runs_total", "service, verdict", OF),
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
                            f"service_stage:raglog_fault_ratio:increase6h{{{IN}}}",
                            "{{service}} {{stage}}",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Traces and runs that were not judged",
                    ((total("raglog_skipped_total", "reason", ""), "{{reason}}"),),
                    "ops",
                    stacked=True,
                ),
            ),
        ),
    ),
)
