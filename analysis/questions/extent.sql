-- name: extent
-- question: From when to when does the ledger tell of calls?
-- grain: the ledger
-- unit: first_at and last_at in nanoseconds since 1970, call_count in calls
-- params: none
-- nulls: null where no call has such an instant
-- identity: first_at is the first service start, last_at the last end that was observed, of all
--   calls: extent_by_origin leaves out those whose times contradict each other

-- Without a filter or a group the database answers from what it keeps of each column.
select
    min(coalesce(started_at, arrived_at, ended_at)) as first_at,
    max(coalesce(ended_at, first_token_at, started_at, arrived_at)) as last_at,
    count(*) as call_count
from call_rows
