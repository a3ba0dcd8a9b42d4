-- name: streams_without_usage
-- question: Which calls streamed their whole answer without reporting what it used?
-- grain: endpoint, service and model
-- unit: calls
-- params: none
-- nulls: endpoint, service and model are null where they are not known
-- identity: call_count - unknown_count is the calls of which both counts were taken from the texts
select
    endpoint,
    service,
    model,
    count(*) as call_count,
    count(case when input_tokens is null or output_tokens is null then 1 end) as unknown_count
from calls
where
    stream
    and status = 'ok'
    and coalesce(http_status, 200) < 400
    and tokens_source <> 'reported'
    and reported_output_tokens is null
    and is_cache_hit is not true
group by endpoint, service, model
order by
    call_count desc,
    endpoint asc nulls last,
    service asc nulls last,
    model asc nulls last
