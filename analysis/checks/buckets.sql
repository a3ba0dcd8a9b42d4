-- name: buckets
-- question: Do the five token buckets add up to what was reported?
-- grain: the ledger
-- unit: calls
-- params: none
-- nulls: a call that reports no number is compared with nothing
-- identity: unexplained_count is 0: a difference has a note that says what was assumed
with compared as (
    select
        tokens_note,
        input_tokens <> reported_input_tokens
        or output_tokens <> reported_output_tokens
        or input_tokens + output_tokens <> reported_total_tokens as differs
    from call_rows
)

select
    count(*) filter (where differs) as different_count,
    count(*) filter (where differs and tokens_note is null) as unexplained_count,
    count(differs) as compared_count
from compared
