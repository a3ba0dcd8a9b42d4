"""A control set: the same company for two weeks in which nothing is wasted.

Owns its traffic: every prompt, search and tool run is the only one of its kind, nothing fails,
prompts begin alike, lengths hardly vary, days are alike, and calls come at an even pace. What a
question about waste finds here, it finds wrongly. Refuses what the sample has planted.
"""

import json
from collections.abc import Callable, Iterator
from datetime import date
from random import Random

from sample_data import answers, company, texts
from sample_data.arrivals import stream
from sample_data.company import (
    AGENT,
    CHAT,
    DIGEST,
    EXTRACT,
    RAG,
    SECOND_NS,
    SUMMARIZE,
    EndpointFacts,
)
from sample_data.planned import Request, Retrieval, Step, ToolUse, Visit
from sample_data.provisioning import Windows, days, local_ns, open_windows

FIRST_DAY, LAST_DAY = date(2026, 11, 9), date(2026, 11, 20)
"""Two working weeks and the weekend between, after everything that changed in the sample."""

VISITS_A_DAY = {CHAT: 12, AGENT: 8, SUMMARIZE: 10, RAG: 24, EXTRACT: 10}
RULES_TOKENS = 2_048
"""More than an estimate of their text, so that no more could have been read from a cache."""
OFFICE_HOURS: Windows = ((0, 4, 9.0, 17.0),)
MARGIN_NS = 600 * SECOND_NS
"""Nothing arrives so shortly before a pool goes down."""

RequestsOf = Callable[[Random, int], Iterator[Request]]
"""The requests of one visit, by its number among those of the endpoint."""


def control_visits() -> list[Visit]:
    """Every visit of the two weeks, by arrival."""
    random = stream("control")
    visits = [
        *_even(random, CHAT, company.CHAT_HOURS, _chat),
        *_even(random, AGENT, company.CHAT_HOURS, _agent),
        *_even(random, SUMMARIZE, company.CHAT_HOURS, _summarize),
        *_even(random, RAG, company.RAG_HOURS, _rag),
        *_even(random, EXTRACT, OFFICE_HOURS, _extract),
        *_digest(random),
    ]
    return sorted(visits, key=lambda visit: visit.arrived_at)


def _even(
    random: Random, endpoint: EndpointFacts, windows: Windows, requests_of: RequestsOf
) -> Iterator[Visit]:
    """So many visits on each open day, each in its own part of the opening hours."""
    count, number = VISITS_A_DAY[endpoint], 0
    for day in days(FIRST_DAY, LAST_DAY):
        for opens, closes in open_windows(windows, day):
            part_ns = (closes - MARGIN_NS - opens) // count
            for place in range(count):
                late_ns = round(part_ns * random.uniform(0.3, 0.7)) // 1_000 * 1_000
                requests = tuple(requests_of(random, number))
                yield Visit(arrived_at=opens + place * part_ns + late_ns, requests=requests)
                number += 1


def _about(random: Random, tokens: int) -> int:
    """Nearly so many `tokens`."""
    return round(tokens * random.uniform(0.95, 1.05))


def _chat(random: Random, number: int) -> Iterator[Request]:
    """A conversation of two turns."""
    said = 0
    for turn in range(2):
        visible = _about(random, 400)
        step = Step(
            input_tokens=max(said, 704) + 40,
            output_tokens=visible + 300,
            reasoning_tokens=300,
            shared_tokens=704,
            thread_tokens=said,
            message=None if turn else texts.fee_question(number),
            answer=answers.reply(random, visible, restated=None, has_closing=False),
        )
        said = step.input_tokens + visible
        yield Request(
            endpoint=CHAT,
            steps=(step,),
            pause_before_s=20.0 if turn else 0.0,
            conversation=f"conv-{number:010x}",
        )


def _agent(random: Random, number: int) -> Iterator[Request]:
    """A run of three calls, with another tool before each further one."""
    steps: list[Step] = []
    context = 1_600
    for place in range(3):
        output = _about(random, 300)
        steps.append(
            Step(
                input_tokens=context,
                output_tokens=output,
                reasoning_tokens=100,
                shared_tokens=1_504,
                thread_tokens=steps[-1].input_tokens if steps else 0,
                tool=_tool(number * 3 + place) if place else None,
            )
        )
        context += output - 100 + 200
    yield Request(endpoint=AGENT, steps=tuple(steps), conversation=f"run-{number:010x}")


def _tool(number: int) -> ToolUse:
    return ToolUse(
        name=texts.TOOLS[number % len(texts.TOOLS)],
        arguments=json.dumps({"id": 20_000 + number, "page": 1}, separators=(",", ":")),
        result=json.dumps({"rows": 3, "of": 20_000 + number}, separators=(",", ":")),
        duration_s=0.3,
    )


def _summarize(random: Random, _number: int) -> Iterator[Request]:
    step = Step(
        input_tokens=_about(random, 4_000), output_tokens=_about(random, 900), shared_tokens=208
    )
    yield Request(endpoint=SUMMARIZE, steps=(step,))


def _rag(random: Random, number: int) -> Iterator[Request]:
    """A question that nobody asked before, about chunks that nobody found before."""
    text = texts.question(number)
    chunks = tuple(f"handbook#{number * 3 + place:03d}" for place in range(3))
    step = Step(
        input_tokens=RULES_TOKENS + _about(random, 900),
        output_tokens=_about(random, 180),
        shared_tokens=RULES_TOKENS,
        system=texts.handbook_rules(),
        message=text,
        retrieval=Retrieval(query=text, chunks=chunks, duration_s=0.08),
    )
    yield Request(endpoint=RAG, steps=(step,))


def _extract(random: Random, number: int) -> Iterator[Request]:
    output_tokens = _about(random, 400)
    step = Step(
        input_tokens=_about(random, 6_000),
        output_tokens=output_tokens,
        shared_tokens=1_280,
        message=texts.contract(number),
        answer=answers.extracted(number, output_tokens, has_preamble=False, has_trailing=False),
    )
    yield Request(endpoint=EXTRACT, steps=(step,))


def _digest(random: Random) -> Iterator[Visit]:
    """Two batches a day of six documents each, one after the other."""
    for day in days(FIRST_DAY, LAST_DAY):
        for hour in (-13 / 60, 9 - 7 / 60):
            requests = tuple(
                Request(
                    endpoint=DIGEST,
                    pause_before_s=0.2,
                    steps=(
                        Step(
                            input_tokens=_about(random, 3_000),
                            output_tokens=_about(random, 500),
                            shared_tokens=256,
                        ),
                    ),
                )
                for _ in range(6)
            )
            yield Visit(arrived_at=local_ns(day, hour), requests=requests)
