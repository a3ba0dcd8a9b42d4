-- name: trace_calls
-- question: Which calls does a replay send, when, and how long are they?
-- grain: one call
-- unit: nanoseconds, tokens
-- params: origin, endpoint, team, tenant, service, model, environment, since, until; each null: any
-- nulls: arrived_at, input_tokens and output_tokens may be null; the replay leaves those out aloud
-- identity: every call that the parameters allow is one row
select
    call_id,
    endpoint,
    team,
    feature,
    tenant,
    service,
    operation,
    conversation_id,
    coalesce(arrived_at, started_at) as arrived_at,
    ended_at,
    input_tokens,
    output_tokens,
    prefix_hashes,
    prefix_block_tokens,
    input_hash
from calls
where
    ($origin is null or origin = $origin)
    and ($endpoint is null or endpoint = $endpoint)
    and ($team is null or team = $team)
    and ($tenant is null or tenant = $tenant)
    and ($service is null or service = $service)
    and ($model is null or model = $model)
    and ($environment is null or environment = $environment)
    and ($since is null or coalesce(arrived_at, started_at) >= $since)
    and ($until is null or coalesce(arrived_at, started_at) < $until)
order by arrived_at, call_id
