"""The shapes of the traffic as figures: arrivals, lengths, repeats, failures.

Owns the numbers that `demand` draws with and the manifest carries. Refuses to draw.
"""

from typing import Any

SHAPES: dict[str, Any] = {
    "weekday_weight": [1.15, 1.1, 1.0, 1.0, 0.85, 0.25, 0.2],
    "hour_weight": [
        *(1, 1, 1, 1, 1, 2, 3, 5, 8, 10, 12, 11),
        *(6, 9, 12, 11, 9, 8, 5, 4, 3, 2, 2, 1),
    ],
    "bursts": {
        "/chat": {"per_day": 18, "mean_visits": 3, "mean_gap_s": 40},
        "/agent/run": {"per_day": 4, "mean_visits": 2, "mean_gap_s": 60},
        "/summarize": {
            "per_day": {"2026-09": 12, "2026-10": 38},
            "mean_visits": 2,
            "mean_gap_s": 30,
        },
        "/rag/answer": {"per_day": 88, "mean_visits": 2, "mean_gap_s": 180},
        "/extract": {"per_day": 9, "mean_visits": 3, "mean_gap_s": 4},
    },
    "chat": {
        "system_tokens": 704,
        "turns": [0.45, 0.3, 0.15, 0.1],
        "think_s": [15, 60],
        "reasoning_median_tokens": {"before": 1_200, "after": 1_800},
        "visible_median_tokens": {"before": 480, "after": 720},
        "sigma": 0.45,
        "faq_ratio": 0.35,
        "answers_told_of": 8,
        "closing_ratio": 0.6,
        "restated_ratio": 0.5,
    },
    "agent": {
        "system_tokens": 1_504,
        "steps": [2, 7],
        "output_median_tokens": 480,
        "reasoning_ratio": 0.4,
        "loops_at": [0.3, 0.7, 0.85],
        "loop_steps": [18, 26],
    },
    "summarize": {
        "input_median_tokens": 4_200,
        "input_sigma": 0.35,
        "output_median_tokens": 1_400,
        "pages_told_of": 6,
        "page_repeated_of": 2,
    },
    "rag": {
        "prefix_tokens": 28_000,
        "questions": 300,
        "zipf_exponent": 0.9,
        "chunks": 5,
        "chunk_tokens": 320,
        "repeated_chunk_ratio": 0.3,
        "output_median_tokens": 180,
    },
    "digest": {
        "workers": 3,
        "documents": {"night": 18, "morning": 12},
        "input_median_tokens": 5_800,
        "output_median_tokens": 2_600,
    },
    "extract": {
        "input_median_tokens": 6_200,
        "output_median_tokens": 480,
        "resubmitted_ratio": 0.08,
        "preamble_of": 4,
        "trailing_of": 6,
    },
    "failures": {
        "broken_ratio": 0.008,
        "broken_ratio_in_incident": 0.4,
        "refused_ratio": 0.01,
        "attempts": 3,
        "backoff_s": [1, 2, 4],
    },
}

CHANGES = [
    {"date": "2026-10-01", "letter": "N", "what": "/summarize is opened to a second group"},
    {"date": "2026-10-05", "letter": "L", "what": "/chat gets a prompt that asks for detail"},
    {"date": "2026-10-05", "letter": None, "what": "rag-l4 engines are traced: replicas are known"},
    {"date": "2026-10-12", "letter": "B", "what": "chat-h100 grows from 1 to 2 replicas"},
    {"date": "2026-10-13", "letter": "Tp", "what": "/rag/answer prompts begin with the time"},
    {"date": "2026-10-16", "letter": "p", "what": "an H100 hour rises from 2.99 to 3.49"},
]
"""What changed, when (local date), and which letter of the cost law it moves."""
