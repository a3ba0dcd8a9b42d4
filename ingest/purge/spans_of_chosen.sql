-- Spans of the chosen traces.
delete from spans
where trace_id in (select trace_id from chosen_traces);
