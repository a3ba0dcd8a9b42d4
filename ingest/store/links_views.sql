-- Views that are to be linked, each as it was told, with what the calls of its combination share.
select
    r.* exclude (call_no, input_tokens, output_tokens, fullness, digest, delivery_id),
    c.* exclude (cohort_id, digest, pool, pool_from, pool_until)
from call_rows as r
semi join linked_views as v on r.call_id = v.call_id
inner join cohorts as c on r.cohort_id = c.cohort_id
order by r.call_id;
