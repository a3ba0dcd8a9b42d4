-- Rows of calls that end between $since and $until and have the response id or the token counts of
-- a changed call, found by these columns alone: only theirs are read whole.
create or replace temp table link_candidates as
with changed_ids as (
    select distinct response_id from changed_calls
    where response_id is not null
),

changed_counts as (
    select distinct
        input_tokens,
        output_tokens
    from changed_calls
)

select r.rowid as row_no
from call_rows as r
semi join changed_counts as n
    on r.input_tokens = n.input_tokens and r.output_tokens = n.output_tokens
where r.ended_at between $since and $until
union
select r.rowid as row_no
from call_rows as r
semi join changed_ids as i on r.response_id = i.response_id
where r.ended_at between $since and $until;
