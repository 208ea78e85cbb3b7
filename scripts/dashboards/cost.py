"""The dashboard that shows what judging costs."""

from __future__ import annotations

from dashboards.panels import OF, Dashboard, Panel, stat, total

COST = Dashboard(
    "raglog-cost",
    "RAG cost",
    "What judging costs: the LLM's money and tokens, and the local detector's time.",
    ("service",),
    (
        (
            "In this range",
            (
                stat("USD", total("raglog_llm_cost_usd_total", "", "", "$__range"), "currencyUSD"),
                stat("Calls", total("raglog_llm_calls_total", "", "", "$__range")),
                stat(
                    "USD a thousand runs",
                    f"1000 * {total('raglog_llm_cost_usd_total', '', '', '$__range')}"
                    f" / ({total('raglog_runs_total', '', '', '$__range')} > 0)",
                    "currencyUSD",
                    "Of all runs, those that no LLM was asked about included.",
                ),
                stat("Runs at the LLM", "sum(raglog_judge_pending)"),
            ),
        ),
        (
            "The LLM",
            (
                Panel(
                    "USD an hour",
                    ((f"3600 * {total('raglog_llm_cost_usd_total', 'model', '')}", "{{model}}"),),
                    "currencyUSD",
                ),
                Panel(
                    "Tokens a second",
                    ((total("raglog_llm_tokens_total", "model, kind", ""), "{{model}} {{kind}}"),),
                    stacked=True,
                ),
                Panel(
                    "Runs that no LLM was asked about",
                    ((total("raglog_judge_skipped_total", "reason", ""), "{{reason}}"),),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Checks without an answer",
                    (
                        (
                            total("raglog_judge_abstained_total", "check, reason", ""),
                            "{{check}} {{reason}}",
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Verdicts that came after the spans had left",
                    ((total("raglog_late_verdicts_total", "", ""), "late"),),
                    "ops",
                ),
                Panel(
                    "Texts that try to instruct the LLM",
                    (
                        (
                            total("raglog_judge_injection_suspected_total", "service, kind", OF),
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
                    ((total("raglog_analysis_seconds_sum", "instance", ""), "{{instance}}"),),
                    text="About the cores that it keeps busy.",
                ),
                Panel(
                    "Runs a second",
                    ((total("raglog_runs_total", "service", OF), "{{service}}"),),
                    "ops",
                ),
            ),
        ),
    ),
)
