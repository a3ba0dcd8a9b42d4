-- The charges of a chunk of partitions, and their sums, in place of those that they had.
delete from charges
where partition_id in (select partition_id from chunk_partitions);

delete from charge_sums
where partition_id in (select partition_id from chunk_partitions);

insert into charges by name
select * from chunk_charges;

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
from chunk_charges
group by partition_id, cohort_id, rate_id, quarter;

update charge_partitions
set is_stale = false
where partition_id in (select partition_id from chunk_partitions);
