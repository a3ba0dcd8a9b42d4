-- The ledger, version 8: what was measured of a call's prompt when its text passed, beyond the
-- tokens of its sections. No text: hashes, keyed where `hash_key` is set, and counts;
-- docs/counting.md says how.

-- The lists have one item for each chunk, in the order of the prompt: a document or a passage that
-- was handed over with the question, or what a tool returned. The last five columns are sums over
-- these lists: duplicate, markup, near-duplicate and untouched tokens exclude each other.
create table prompt_measures (
    call_id varchar not null,             -- of the view that told the prompt
    user_turns bigint,                    -- runs of user messages, this one included; null: no chat
    examples_hash bigint,                 -- of the few-shot examples; null: the prompt shows none
    chunk_hashes bigint[] not null,       -- of each chunk's text, whatever its blanks
    chunk_signatures bigint[] not null,   -- eight minimum hashes of a byte each
    chunk_begins bigint[] not null,       -- its first token, counted over the sections
    chunk_tokens bigint[] not null,
    chunk_markup_tokens bigint[] not null,
    chunk_is_result boolean[] not null,   -- a tool's result; else context
    chunk_is_touched boolean[],           -- a word of it is in the answer; null: none to compare
    chunked_tokens bigint not null,       -- of all chunks
    duplicate_tokens bigint not null,     -- chunks whose text stands in the prompt before
    markup_tokens bigint not null,        -- tags and boilerplate in the others
    near_duplicate_tokens bigint not null, -- the rest of those that are nearly one before
    untouched_tokens bigint               -- the rest of those of which no word is in the answer
);

-- The measures by the call that counts: a call that several views tell has those of one of them,
-- its own before the others'.
create view call_prompts as
with told_by_views as (
    select
        v.counted_as,
        m.call_id,
        row_number() over (
            partition by v.counted_as
            order by (m.call_id <> v.counted_as) asc, m.call_id asc
        ) as place
    from call_views as v
    inner join prompt_measures as m on v.call_id = m.call_id
),

chosen as (
    select
        counted_as,
        call_id
    from told_by_views
    where place = 1
)

select
    m.call_id,
    m.user_turns,
    m.examples_hash,
    m.chunk_hashes,
    m.chunk_signatures,
    m.chunk_begins,
    m.chunk_tokens,
    m.chunk_markup_tokens,
    m.chunk_is_result,
    m.chunk_is_touched,
    m.chunked_tokens,
    m.duplicate_tokens,
    m.markup_tokens,
    m.near_duplicate_tokens,
    m.untouched_tokens
from prompt_measures as m
anti join call_views as v on m.call_id = v.call_id
union all
select
    c.counted_as as call_id,
    m.user_turns,
    m.examples_hash,
    m.chunk_hashes,
    m.chunk_signatures,
    m.chunk_begins,
    m.chunk_tokens,
    m.chunk_markup_tokens,
    m.chunk_is_result,
    m.chunk_is_touched,
    m.chunked_tokens,
    m.duplicate_tokens,
    m.markup_tokens,
    m.near_duplicate_tokens,
    m.untouched_tokens
from prompt_measures as m
inner join chosen as c on m.call_id = c.call_id;
