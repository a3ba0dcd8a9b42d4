-- The charges of each cohort by partition, rate and quarter-hour, in whole picoseconds, so that
-- the sums are the same whatever the order of the pieces. Written with the charges, in the same
-- transaction, and always equal to their sums: the law of a large ledger reads these.
create table charge_sums (
    partition_id integer not null,
    cohort_id integer not null,
    rate_id integer not null,
    quarter integer not null,             -- quarter-hours since 1970
    prefill_ps decimal(38, 0) not null,
    decode_ps decimal(38, 0) not null,
    prefill_gpu_ps decimal(38, 0) not null,
    decode_gpu_ps decimal(38, 0) not null
);

insert into charge_sums by name
select
    partition_id,
    cohort_id,
    rate_id,
    quarter,
    cast(sum(cast(prefill_s * 1e12 as bigint)) as decimal(38, 0)) as prefill_ps,
    cast(sum(cast(decode_s * 1e12 as bigint)) as decimal(38, 0)) as decode_ps,
    cast(sum(cast(prefill_gpu_seconds * 1e12 as bigint)) as decimal(38, 0)) as prefill_gpu_ps,
    cast(sum(cast(decode_gpu_seconds * 1e12 as bigint)) as decimal(38, 0)) as decode_gpu_ps
from charges
group by partition_id, cohort_id, rate_id, quarter
order by partition_id, quarter, cohort_id, rate_id;
