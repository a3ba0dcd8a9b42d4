-- The engine's processor seconds of each replayed call of a scenario, prompt and decode apart.
-- Spans of engines that do not tell them have none and give no row.
select
    trace_id,
    max(
        cast(
            json_extract_string(attributes, '$."gpuledger.prefill_processor_s"') as double
        )
    ) as prefill_processor_s,
    max(
        cast(
            json_extract_string(attributes, '$."gpuledger.decode_processor_s"') as double
        )
    ) as decode_processor_s
from spans
where json_extract_string(resource, '$."gpuledger.scenario"') = $scenario
group by trace_id
having count(json_extract_string(attributes, '$."gpuledger.prefill_processor_s"')) > 0
