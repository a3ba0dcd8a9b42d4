-- name: rejects
-- question: Which records could not be taken, where do they stand, and why?
-- grain: a record that was rejected, in the order of its delivery
-- unit: delivered_at in nanoseconds since 1970, fitting_count in records
-- params: $since and $until in nanoseconds since 1970, half-open, of the delivery, may be null;
--   $source, $format and $delivery_id select one, null selects every one; $most_rows at most
-- nulls: record is null where the privacy setting keeps nothing, or where a stretch of the file
--   has no form as text
-- identity: per delivery the rows are its rejected_count
with selected as (
    select
        d.delivery_id,
        d.delivered_at,
        d.source,
        d.format,
        r.position,
        r.reason,
        r.record
    from rejects as r
    inner join deliveries as d on r.delivery_id = d.delivery_id
    where
        ($since is null or d.delivered_at >= $since)
        and ($until is null or d.delivered_at < $until)
        and ($source is null or d.source = $source)
        and ($format is null or d.format = $format)
        and ($delivery_id is null or d.delivery_id = $delivery_id)
)

select
    delivery_id,
    delivered_at,
    source,
    format,
    position,
    reason,
    record,
    count(*) over () as fitting_count
from selected
order by
    delivery_id asc,
    length(position) asc,
    position asc,
    reason asc,
    record asc nulls last
limit $most_rows
