-- The traces of one part are to be derived again.
insert into touched_traces
select trace_id from planned_traces
where part_no = $part_no;
