"""What texts and spans leave in a ledger, for the calls of a benchmark's ledger.

Owns the made-up measures: sections, leading blocks, answers, chunks, traces of four calls below a
server's span. Refuses texts: none is stored.
"""

from pathlib import Path

from ingest.config import Configuration
from ingest.deliver import derive_again
from ingest.ledger import open_for_writing

MEASURED = """
create or replace table measured as
select
    * replace (
        200 as system_tokens,
        50 as examples_tokens,
        uncached_input_tokens // 3 as context_tokens,
        uncached_input_tokens // 4 as history_tokens,
        20 as user_tokens,
        1024 as max_tokens,
        0 as cache_read_tokens,
        case when call_no % 3 = 0 then 'conversation ' || call_no // 12 end as conversation_id,
        list_transform(
            range(8),
            lambda place: cast(
                hash(place, case when place < 4 then cohort_id else call_no // 4 end) // 2 as bigint
            )
        ) as prefix_hashes,
        16 as prefix_block_tokens,
        case when call_no % 10 = 0 then [0, 12, 1] end as volatile_spans,
        case when call_no % 10 = 0 then
            list_transform(
                range(7), lambda place: cast(hash(place, cohort_id) // 2 as bigint)
            )
        end as stable_prefix_hashes,
        case when call_no % 5 = 0 then 'json' else 'prose' end as answer_shape,
        visible_output_tokens as answer_tokens,
        case when call_no % 5 = 0 then 0 end as preamble_tokens,
        case when call_no % 5 = 0 then visible_output_tokens // 4 end as json_key_tokens,
        case when call_no % 5 = 0 then visible_output_tokens // 8 end as json_repeated_key_tokens,
        case when call_no % 5 = 0 then 9 end as json_key_count,
        case when call_no % 5 = 0 then
            visible_output_tokens - visible_output_tokens // 4
        end as json_value_tokens,
        case when call_no % 5 = 0 then 0 end as json_syntax_tokens,
        case when call_no % 5 = 0 then 0 end as json_blank_tokens,
        case when call_no % 5 = 0 then 0 end as trailing_tokens,
        case when call_no % 5 > 0 then call_no % 7 end as restated_tokens,
        case when call_no % 5 > 0 then
            [cast(hash(call_no) // 2 as bigint), cast(hash(call_no % 1000) // 2 as bigint)]
        end as sentence_hashes,
        case when call_no % 5 > 0 then [20, 12] end as sentence_lengths,
        md5('span ' || call_no)[:16] as span_id,
        md5('root ' || call_no // 4)[:16] as parent_span_id
    )
from call_rows
"""
CHUNKS = """
insert into prompt_measures
select
    call_id, 1 + call_no % 5, 1,
    [cast(hash(call_no % 50000) // 2 as bigint), cast(hash(call_no) // 2 as bigint)],
    [cast(hash(call_no % 50000) // 2 as bigint), cast(hash(call_no) // 2 as bigint)],
    [200, 400], [200, 100], [0, 5], [false, false], [true, call_no % 2 = 0],
    300, 0, 5, 0, case when call_no % 2 = 0 then 0 else 95 end
from call_rows
where call_no % 3 = 0
"""
SPANS = """
insert into spans (
    trace_id, span_id, parent_span_id, name, kind, started_at, ended_at, status, attributes,
    resource, events, fullness, digest, delivery_id
)
select
    trace_id, span_id, parent_span_id, 'chat', 'client', started_at, ended_at, 'ok', '{}', '{}',
    '[]', 1, '', 1
from call_rows
union all
select
    trace_id, min(parent_span_id), null, 'POST /chat', 'server', min(started_at) - 1000000,
    max(ended_at) + 1000000, 'ok', '{}', '{}', '[]', 1, '', 1
from call_rows
group by trace_id
"""


def measure(path: Path) -> None:
    """Give the calls of the ledger at `path` the measures of texts, and their traces spans."""
    with open_for_writing(path) as ledger:
        connection = ledger.connection
        derive_again(ledger, Configuration())  # of no span: from here on all count as derived
        connection.execute(MEASURED)
        columns = ", ".join(
            name
            for name in connection.table("measured").columns
            if name not in {"input_tokens", "output_tokens"}
        )
        connection.execute("delete from call_rows")
        connection.execute(f"insert into call_rows ({columns}) select {columns} from measured")
        connection.execute("drop table measured")
        connection.execute(CHUNKS)
        connection.execute(SPANS)
        connection.execute("checkpoint")
