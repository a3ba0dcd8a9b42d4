-- name: price_rules
-- question: By which entry of the price book does each call that is priced by the token cost?
-- grain: a cohort and a price rule
-- unit: call_count in calls
-- params: $since and $until in nanoseconds or null, half-open; $user_id and $conversation_id are
--   those wanted, unless $any_user and $any_conversation
-- nulls: none
-- identity: call_count adds up to the calls of the window that have a cost by the token
select
    t.cohort_id,
    t.price_rule,
    count(*) as call_count
from token_charges as t
inner join call_rows as r on t.call_no = r.call_no
where
    ($since is null or coalesce(r.started_at, r.arrived_at, r.ended_at) >= $since)
    and ($until is null or coalesce(r.started_at, r.arrived_at, r.ended_at) < $until)
    and ($any_user or r.user_id is not distinct from $user_id)
    and ($any_conversation or r.conversation_id is not distinct from $conversation_id)
group by t.cohort_id, t.price_rule
order by t.cohort_id, t.price_rule
