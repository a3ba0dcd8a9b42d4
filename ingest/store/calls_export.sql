-- Every call in the columns of the native format: what a reader needs to make the same call again.
with native as (
    select * exclude (cohort_id, delivery_id, pool, input_tokens, output_tokens) from calls
),

measures as (
    select
        call_id,
        {
            'user_turns': user_turns,
            'examples_hash': examples_hash,
            'chunk_hashes': chunk_hashes,
            'chunk_signatures': chunk_signatures,
            'chunk_begins': chunk_begins,
            'chunk_tokens': chunk_tokens,
            'chunk_markup_tokens': chunk_markup_tokens,
            'chunk_is_result': chunk_is_result,
            'chunk_is_touched': chunk_is_touched
        } as prompt_measures
    from call_prompts
),

exported as (
    select
        n.*,
        m.prompt_measures,
        t.prompt,
        t.completion
    from native as n
    left join measures as m on n.call_id = m.call_id
    left join contents as t on n.call_id = t.call_id
)

select * exclude (call_no) from exported
order by call_no;
