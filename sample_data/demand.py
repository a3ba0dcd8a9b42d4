"""Who asks for what and when: every endpoint's visits, drawn from the seed.

Owns lengths, conversations, repeats and the agent's steps; the figures stand in `SHAPES`, which
the manifest carries. Refuses to know how long a call takes.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random

from sample_data import answers, company, texts
from sample_data.arrivals import FIRST_DAY, LAST_DAY, bursts, length, stream
from sample_data.company import (
    AGENT,
    CHAT,
    DIGEST,
    EXTRACT,
    INCIDENT,
    NEW_CHAT_PROMPT,
    RAG,
    RAG_PREFIX_LOST,
    SECOND_NS,
    SUMMARIZE,
)
from sample_data.planned import Request, Retrieval, Step, Visit
from sample_data.provisioning import Windows, days, local_ns
from sample_data.shapes import SHAPES


def all_visits() -> list[Visit]:
    """Every visit of the two months and their edges, by arrival."""
    visits = [*_chat(), *_agent(), *_summarize(), *_rag(), *_digest(), *_extract()]
    return sorted(visits, key=lambda visit: visit.arrived_at)


def _failing(random: Random, step: Step, arrived_at: int) -> Step:
    """`step`, now and then with an engine that breaks off in the middle."""
    ratio = SHAPES["failures"]["broken_ratio"]
    if INCIDENT[0] <= arrived_at < INCIDENT[1]:
        ratio = SHAPES["failures"]["broken_ratio_in_incident"]
    return replace(step, failure="broken") if random.random() < ratio else step


def _chat() -> Iterator[Visit]:
    random, shape = stream("/chat"), SHAPES["chat"]
    for arrived_at in bursts(random, CHAT.route, company.CHAT_HOURS):
        conversation = f"conv-{random.getrandbits(40):010x}"
        is_told = int(conversation[-2:], 16) % shape["answers_told_of"] == 0
        words = stream(f"answers of {conversation}") if is_told else None
        requests = [
            Request(
                endpoint=CHAT,
                steps=(_failing(random, step, arrived_at),),
                pause_before_s=random.uniform(*shape["think_s"]) if turn else 0.0,
                conversation=conversation,
            )
            for turn, step in enumerate(_turns(random, arrived_at, words))
        ]
        yield Visit(arrived_at=arrived_at, requests=tuple(requests))


def _turns(random: Random, arrived_at: int, words: Random | None) -> Iterator[Step]:
    """The calls of one conversation: each prompt repeats what was said before.

    Their answers are written with `words`; without it they are not told.
    """
    shape = SHAPES["chat"]
    when = "after" if arrived_at >= NEW_CHAT_PROMPT else "before"
    is_faq = random.random() < shape["faq_ratio"]
    message = texts.chat_message(random, is_faq=is_faq)
    said = 0
    for turn in range(random.choices((1, 2, 3, 4), shape["turns"])[0]):
        question = random.randint(20, 160) if turn else len(message) // 4
        reasoning = length(random, shape["reasoning_median_tokens"][when], shape["sigma"], 4_400)
        visible = length(random, shape["visible_median_tokens"][when], shape["sigma"], 1_800)
        step = Step(
            input_tokens=max(said, shape["system_tokens"]) + question,
            output_tokens=reasoning + visible,
            reasoning_tokens=reasoning,
            shared_tokens=shape["system_tokens"],
            thread_tokens=said,
            message=None if turn else message,
            answer=_reply(words, visible, message if is_faq and not turn else None),
        )
        said = step.input_tokens + visible
        yield step


def _reply(words: Random | None, tokens: int, question: str | None) -> str | None:
    """The text of an answer to one of the frequent questions, or to another message."""
    if words is None:
        return None
    is_restated = words.random() < SHAPES["chat"]["restated_ratio"]
    return answers.reply(
        words,
        tokens,
        restated=question if is_restated else None,
        has_closing=words.random() < SHAPES["chat"]["closing_ratio"],
    )


def _agent() -> Iterator[Visit]:
    random, shape = stream("/agent/run"), SHAPES["agent"]
    arrivals = list(bursts(random, AGENT.route, company.CHAT_HOURS))
    looping = {arrivals[round(len(arrivals) * share)] for share in shape["loops_at"]}
    for arrived_at in arrivals:
        steps = _agent_steps(random, is_loop=arrived_at in looping)
        steps[0] = _failing(random, steps[0], arrived_at)
        request = Request(
            endpoint=AGENT,
            steps=tuple(steps),
            conversation=f"run-{random.getrandbits(40):010x}",
        )
        yield Visit(arrived_at=arrived_at, requests=(request,))


def _agent_steps(random: Random, *, is_loop: bool) -> list[Step]:
    """The calls of one run, each after a tool; a loop uses one tool again and again."""
    shape, repeated = SHAPES["agent"], texts.tool_use(random)
    steps: list[Step] = []
    context = shape["system_tokens"] + random.randint(60, 220)
    for number in range(random.randint(*(shape["loop_steps"] if is_loop else shape["steps"]))):
        tool = None
        if number:
            tool = repeated if is_loop else texts.tool_use(random)
            tool = replace(tool, duration_s=round(random.uniform(0.08, 0.9), 3))
            context += 96 if is_loop else random.randint(120, 420)
        output = length(random, shape["output_median_tokens"], 0.4, 1_800)
        reasoning = round(output * shape["reasoning_ratio"])
        steps.append(
            Step(
                input_tokens=context,
                output_tokens=output,
                reasoning_tokens=reasoning,
                shared_tokens=shape["system_tokens"],
                thread_tokens=steps[-1].input_tokens if steps else 0,
                tool=tool,
            )
        )
        context += output - reasoning
    return steps


def _summarize() -> Iterator[Visit]:
    random, shape = stream("/summarize"), SHAPES["summarize"]
    for number, arrived_at in enumerate(bursts(random, SUMMARIZE.route, company.CHAT_HOURS)):
        step = Step(  # what it reasons is output: its telemetry cannot tell the two apart
            input_tokens=length(random, shape["input_median_tokens"], shape["input_sigma"], 12_000),
            output_tokens=length(random, shape["output_median_tokens"], 0.3, 3_000),
            shared_tokens=208,
            message=_pages(number),
        )
        yield Visit(
            arrived_at=arrived_at,
            requests=(Request(endpoint=SUMMARIZE, steps=(_failing(random, step, arrived_at),)),),
        )


def _pages(number: int) -> str | None:
    """The pages of a request to summarise, where they are told: of every so many requests."""
    shape = SHAPES["summarize"]
    if number % shape["pages_told_of"]:
        return None
    is_repeated = number % (shape["pages_told_of"] * shape["page_repeated_of"]) == 0
    return answers.pages(stream(f"pages {number}"), is_first_repeated=is_repeated)


def _rag() -> Iterator[Visit]:
    random, shape = stream("/rag/answer"), SHAPES["rag"]
    ranks = range(shape["questions"])
    weights = [1.0 / (rank + 1) ** shape["zipf_exponent"] for rank in ranks]
    for arrived_at in bursts(random, RAG.route, company.RAG_HOURS):
        question = random.choices(ranks, weights)[0]
        yield Visit(
            arrived_at=arrived_at,
            requests=(Request(endpoint=RAG, steps=(_answer(random, question, arrived_at),)),),
        )


def _answer(random: Random, question: int, arrived_at: int) -> Step:
    """One RAG call; the chunks and the length of the prompt follow from the question."""
    shape, fixed = SHAPES["rag"], stream(f"question {question}")
    chunks = [f"handbook#{fixed.randrange(220):03d}" for _ in range(shape["chunks"])]
    if fixed.random() < shape["repeated_chunk_ratio"]:
        chunks[-1] = chunks[0]
    text = texts.question(question)
    has_prefix = arrived_at < RAG_PREFIX_LOST
    timestamp_tokens = 0 if has_prefix else 18
    return Step(
        input_tokens=shape["prefix_tokens"]
        + sum(fixed.randint(shape["chunk_tokens"] - 80, shape["chunk_tokens"]) for _ in chunks)
        + len(text) // 4
        + timestamp_tokens,
        output_tokens=length(random, shape["output_median_tokens"], 0.4, 1_024),
        shared_tokens=shape["prefix_tokens"] if has_prefix else 0,
        system=texts.handbook_rules() if has_prefix else texts.rules_after_the_time(arrived_at),
        message=text,
        retrieval=Retrieval(
            query=text, chunks=tuple(chunks), duration_s=round(random.uniform(0.03, 0.14), 3)
        ),
    )


def _digest() -> Iterator[Visit]:
    """A batch over every midnight here, and one over every midnight in UTC, edges included."""
    random, documents = stream("/digest"), SHAPES["digest"]["documents"]
    for day in days(FIRST_DAY, LAST_DAY + timedelta(days=1)):
        night = round(documents["night"] * random.uniform(0.85, 1.15))
        yield from _batch(random, local_ns(day, -13 / 60), night)
        morning = round(documents["morning"] * random.uniform(0.85, 1.15))
        yield from _batch(random, local_ns(day, 9 - 7 / 60), morning)


def _batch(random: Random, began: int, documents: int) -> Iterator[Visit]:
    """One run of the batch service: each worker takes the next document when it is free."""
    shape = SHAPES["digest"]
    for worker in range(shape["workers"]):
        requests = [
            Request(
                endpoint=DIGEST,
                pause_before_s=round(random.uniform(0.05, 0.3), 3),
                steps=(
                    Step(
                        input_tokens=length(random, shape["input_median_tokens"], 0.3, 12_000),
                        output_tokens=length(random, shape["output_median_tokens"], 0.2, 4_096),
                        shared_tokens=256,
                    ),
                ),
            )
            for _ in range(worker, documents, shape["workers"])
        ]
        yield Visit(arrived_at=began + worker * 40_000_000, requests=tuple(requests))


def _extract() -> Iterator[Visit]:
    random = stream("/extract")
    always: Windows = ((0, 6, 0.0, 24.0),)
    arrivals = list(bursts(random, EXTRACT.route, always))
    for midnight in company.MONTH_STARTS:
        arrivals += [midnight - SECOND_NS, midnight + (9 * 3_600 - 1) * SECOND_NS]
    sent: list[Step] = []
    for arrived_at in sorted(arrivals):
        step = _contract(random, sent)
        is_refused = random.random() < SHAPES["failures"]["refused_ratio"]
        is_trial = company.TRIAL[0] <= arrived_at < company.TRIAL[1]
        request = Request(
            endpoint=EXTRACT,
            steps=(replace(step, failure="refused") if is_refused else step,),
            model=company.UNKNOWN_MODEL if is_trial else None,
        )
        yield Visit(arrived_at=arrived_at, requests=(request,))


def _contract(random: Random, sent: list[Step]) -> Step:
    """The next contract, or one of those sent lately once more; `sent` grows by a new one."""
    shape = SHAPES["extract"]
    if sent and random.random() < shape["resubmitted_ratio"]:
        return random.choice(sent[-40:])
    number = len(sent)
    input_tokens = length(random, shape["input_median_tokens"], 0.4, 24_000)
    output_tokens = length(random, shape["output_median_tokens"], 0.4, 2_048)
    step = Step(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        shared_tokens=1_280 if random.random() < 0.6 else 0,
        system=answers.extraction_rules(),
        message=texts.contract(number),
        answer=answers.extracted(
            number,
            output_tokens,
            has_preamble=number % shape["preamble_of"] == 0,
            has_trailing=number % shape["trailing_of"] == 0,
        ),
    )
    sent.append(step)
    return step
