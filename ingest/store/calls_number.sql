-- The highest number that a call ever had: numbers are not given twice, even after a call is gone.
insert or replace into ledger_facts
with numbers as (
    select max(call_no) as call_no from call_rows
    union all
    select cast(value as bigint) as call_no from ledger_facts
    where name = 'last_call_no'
)

select
    'last_call_no' as name,
    cast(coalesce(max(call_no), 0) as varchar) as value
from numbers;
