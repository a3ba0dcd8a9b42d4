-- name: identities
-- question: Which traces and calls have an identity that begins like this?
-- grain: one trace or call
-- unit: none
-- params: $prefix is how the identity begins; $most_rows rows at most
-- nulls: none
-- identity: a whole identity finds one row
with found as (
    select
        'trace' as kind,
        trace_id as identity
    from spans
    where substr(trace_id, 1, length($prefix)) = $prefix
    union
    select
        'trace' as kind,
        trace_id as identity
    from call_rows
    where substr(trace_id, 1, length($prefix)) = $prefix
    union
    select
        'call' as kind,
        call_id as identity
    from call_rows
    where substr(call_id, 1, length($prefix)) = $prefix
)

select
    kind,
    identity
from found
order by kind, identity
limit $most_rows
