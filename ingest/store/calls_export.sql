-- Every call in the columns of the native format: what a reader needs to make the same call again.
with native as (
    select * exclude (cohort_id, delivery_id, pool, input_tokens, output_tokens) from calls
),

exported as (
    select
        n.*,
        t.prompt,
        t.completion
    from native as n
    left join contents as t on n.call_id = t.call_id
)

select * exclude (call_no) from exported
order by call_no;
