"""The dashboard that shows one stage in detail."""

from __future__ import annotations

from dashboards.panels import IN, OF, Dashboard, Panel, heat, mean, quantile, ratio, total

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
                            total("raglog_stage_verdicts_total", "stage, verdict", IN),
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
                            total("raglog_faults_total", "stage, fault_type", IN),
                            "{{stage}}: {{fault_type}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
                heat("Fault probability", "raglog_stage_fault_probability", IN),
                Panel(
                    "Fault probability by stage",
                    (
                        (
                            quantile(0.5, "raglog_stage_fault_probability", "stage", IN),
                            "{{stage}} median",
                        ),
                        (
                            quantile(0.95, "raglog_stage_fault_probability", "stage", IN),
                            "{{stage}} p95",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Fault rate and what is usual",
                    (
                        (
                            f"service_stage:raglog_fault_ratio:increase1h{{{IN}}}",
                            "{{service}} {{stage}}",
                        ),
                        (
                            f"service_stage:raglog_fault_ratio:usual{{{IN}}}",
                            "{{service}} {{stage}} usual",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Warnings a second",
                    (
                        (
                            total("raglog_warnings_total", "stage, warning", IN),
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
                            quantile(0.5, "raglog_stage_duration_seconds", "stage", IN),
                            "{{stage}} median",
                        ),
                        (
                            quantile(0.95, "raglog_stage_duration_seconds", "stage", IN),
                            "{{stage}} p95",
                        ),
                    ),
                    "s",
                ),
                heat("Distribution of the time (seconds)", "raglog_stage_duration_seconds", IN),
            ),
        ),
        (
            "Retrieval",
            (
                heat(
                    "Best score of a run",
                    "raglog_retrieval_top_score",
                    OF,
                    "In the store's own unit: do not mix score kinds.",
                ),
                Panel(
                    "Best score of a run, by kind",
                    (
                        (
                            quantile(0.5, "raglog_retrieval_top_score", "service, score_kind", OF),
                            "{{service}} {{score_kind}} median",
                        ),
                    ),
                ),
                Panel(
                    "Drift of the best score in six hours",
                    (
                        (
                            f"service_kind:raglog_top_score_drift:increase6h{{{OF}}}",
                            "{{service}} {{score_kind}}",
                        ),
                    ),
                    "percentunit",
                    text="Largest difference of the distributions from the last seven days; alert above 30 %.",
                    threshold=0.3,
                ),
                Panel(
                    "Chunks of a run",
                    ((mean("raglog_retrieved_chunks", "service", OF), "{{service}} mean"),),
                ),
                Panel(
                    "Searches that found nothing",
                    (
                        (
                            ratio("raglog_retrieval_empty", "raglog_retrievals"),
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
                        (mean("raglog_context_utilization_ratio", "service", OF), "{{service}}"),
                        (
                            f"service:raglog_context_utilization:baseline7d{{{OF}}}",
                            "{{service}} usual",
                        ),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Share of the model's window that the prompt fills",
                    (
                        (
                            quantile(0.95, "raglog_prompt_budget_ratio", "service", OF),
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
                            ratio("raglog_output_truncated", "raglog_answers"),
                            "{{service}}",
                        ),
                    ),
                    "percentunit",
                    text="Of the last hour.",
                ),
                Panel(
                    "Share of the answer's own words that the prompt holds",
                    ((mean("raglog_groundedness_ratio", "service", OF), "{{service}}"),),
                    "percentunit",
                ),
            ),
        ),
    ),
)
