-- The charges of a chunk of partitions in place of those that they had.
delete from charges
where partition_id in (select partition_id from chunk_partitions);

insert into charges by name
select * from chunk_charges;

update charge_partitions
set is_stale = false
where partition_id in (select partition_id from chunk_partitions);
