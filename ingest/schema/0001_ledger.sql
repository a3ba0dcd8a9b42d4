-- The ledger, version 1. Read it top to bottom: what came in, what it became, what it cost.
--
-- Instants (`*_at`) are bigint nanoseconds since 1970-01-01T00:00:00Z. Durations end in `_s`.
-- Null means "not known"; no column uses 0 or -1 for that.

-- One file or one received request. read_count = new_count + duplicate_count + rejected_count.
create table deliveries (
    delivery_id bigint primary key,
    source varchar not null,              -- the path, or the address of the sender
    format varchar not null,              -- the reader's name
    checksum varchar not null,            -- sha-256 of the bytes as delivered
    delivered_at bigint not null,
    read_count bigint not null,
    new_count bigint not null,
    duplicate_count bigint not null,
    rejected_count bigint not null,
    conflict_count bigint not null,       -- of the duplicates: same identity, other content
    check (read_count = new_count + duplicate_count + rejected_count)
);

-- One record that could not be taken.
create table rejects (
    delivery_id bigint not null,
    position varchar not null,            -- "line 12", "resourceSpans[0].scopeSpans[1].spans[7]"
    reason varchar not null,
    record varchar                        -- the record, or its hash, by the privacy setting
);

-- One span as received; of two versions of a span the fuller one is kept.
create table spans (
    trace_id varchar not null,
    span_id varchar not null,
    parent_span_id varchar,
    name varchar not null,
    kind varchar not null,                -- server, client, internal, producer, consumer, ...
    started_at bigint,
    ended_at bigint,
    status varchar not null,              -- unset, ok, error
    status_message varchar,
    service varchar,
    scope varchar,
    attributes varchar not null,          -- one JSON object
    resource varchar not null,            -- one JSON object
    events varchar not null,              -- one JSON list
    fullness integer not null,            -- how much this version says; the larger wins
    digest varchar not null,              -- of the content; the last tie-breaker
    delivery_id bigint not null
);

-- One row for each distinct combination of what calls have in common: who pays, what ran, how
-- the figures were obtained. Totals are computed per cohort first, so a question scans numbers.
create table cohorts (
    cohort_id integer primary key,
    origin varchar not null,              -- production, replay
    endpoint varchar,
    endpoint_source varchar,              -- the rule that named the endpoint
    feature varchar,
    team varchar,
    tenant varchar,
    service varchar,
    environment varchar,
    region varchar,
    operation varchar not null,           -- chat, text_completion, embeddings, ...
    provider varchar,
    model_requested varchar,
    model varchar,
    pool_reported varchar,                -- as the telemetry or the mapping says
    adapter varchar,
    status varchar not null,              -- ok, error, timeout, cancelled
    timing_source varchar not null,       -- engine, stream, span, tokens
    timing_quality varchar not null,      -- ok, invalid, unknown
    tokens_source varchar not null,       -- reported, counted, estimated, unknown
    pairing varchar not null,             -- single, ancestor: how views of one call were joined
    scenario varchar,                     -- of a replay
    arm varchar,                          -- baseline, candidate, ...
    pool varchar,                         -- what is charged, resolved from the configuration
    digest varchar not null               -- of the columns above but pool
);

-- One model call. Read it through the view `calls`, which adds the cohort's columns.
create table call_rows (
    call_no bigint not null,              -- internal number; joins to charges
    call_id varchar not null,             -- deterministic, from the identity of the call
    cohort_id integer not null,
    trace_id varchar,
    span_id varchar,
    parent_span_id varchar,
    conversation_id varchar,
    user_id varchar,
    delivery_id bigint not null,
    replica varchar,
    arrived_at bigint,
    started_at bigint,
    first_token_at bigint,
    ended_at bigint,
    uncached_input_tokens bigint,         -- five exclusive buckets: each token is in one
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    visible_output_tokens bigint,
    reasoning_tokens bigint,
    input_tokens bigint generated always as (
        uncached_input_tokens + coalesce(cache_read_tokens, 0) + coalesce(cache_write_tokens, 0)
    ) virtual,
    output_tokens bigint generated always as (
        visible_output_tokens + coalesce(reasoning_tokens, 0)
    ) virtual,
    reported_input_tokens bigint,
    reported_output_tokens bigint,
    reported_total_tokens bigint,
    tokens_note varchar,                  -- what had to be assumed or did not agree
    system_tokens bigint,
    tools_tokens bigint,
    examples_tokens bigint,
    context_tokens bigint,
    history_tokens bigint,
    user_tokens bigint,
    max_tokens bigint,
    temperature double,
    top_p double,
    seed bigint,
    stream boolean,
    stop varchar,
    response_format varchar,
    n_choices integer,
    error_type varchar,
    http_status integer,
    finish_reason varchar,
    attempt integer,
    retry_of varchar,
    prompt_hash varchar,
    input_hash varchar,
    output_hash varchar,
    prefix_hashes bigint[],
    prefix_block_tokens integer,
    reported_cost decimal(18, 9),
    reported_currency varchar,
    fullness integer not null,
    digest varchar not null
);

-- Optional text of a call (content = "full"), with a retention of its own.
create table contents (
    call_id varchar not null,
    prompt varchar,
    completion varchar
);

-- One tool or retrieval span: latency outside the model.
create table tool_runs (
    trace_id varchar not null,
    span_id varchar not null,
    parent_span_id varchar,
    tool varchar,
    started_at bigint,
    ended_at bigint,
    status varchar not null,
    arguments_hash varchar,
    result_hash varchar,
    delivery_id bigint not null
);

create table retrievals (
    trace_id varchar not null,
    span_id varchar not null,
    parent_span_id varchar,
    source varchar,
    started_at bigint,
    ended_at bigint,
    status varchar not null,
    query_hash varchar,
    result_hash varchar,
    delivery_id bigint not null
);

-- One pool over one stretch of time with constant size and price.
create table pools (
    rate_id integer primary key,
    pool varchar not null,
    effective_from bigint not null,
    effective_to bigint,                  -- null: until further notice
    gpu varchar,
    gpus_per_replica double not null,
    replicas integer,                     -- null: not configured, so idle is not known
    price_per_gpu_hour decimal(18, 9),    -- null: no price is known, the pool is unpriced
    currency varchar,
    schedule varchar not null,            -- "always", or a JSON list of windows
    is_configured boolean not null        -- false: named by the telemetry alone
);

create table budgets (
    scope varchar not null,               -- JSON object of column and value
    month varchar not null,
    amount decimal(18, 2) not null,
    currency varchar not null
);

-- What a call was charged for one piece of its time in service. A call is cut at every quarter
-- of an hour (so at every hour, day and month of every time zone) and where its pool changes;
-- most calls have one piece. The parts of a call sum to the call, and over all calls to the
-- busy GPU-seconds.
create table charges (
    call_no bigint not null,
    cohort_id integer not null,
    rate_id integer not null,
    partition_id integer not null,
    quarter integer not null,             -- quarter-hours since 1970 in which the piece lies
    prefill_s double not null,
    decode_s double not null,
    prefill_gpu_seconds double not null,
    decode_gpu_seconds double not null
);

-- One replica over one UTC day: the unit of computing charges again.
create table charge_partitions (
    partition_id integer primary key,
    pool varchar,                         -- null: calls that are priced by the token
    replica varchar,                      -- null: calls of which only the pool is known
    day integer not null,                 -- days since 1970
    is_stale boolean not null
);

-- What a call that is priced by the token costs.
create table token_charges (
    call_no bigint not null,
    cohort_id integer not null,
    partition_id integer not null,
    token_cost decimal(18, 9) not null,
    currency varchar not null,
    price_source varchar not null,        -- "configuration", "reported", or the catalogue's version
    price_rule varchar not null,          -- which entry matched the model's name
    listed_cost decimal(18, 9),           -- by configuration or catalogue; null: not listed
    listed_currency varchar
);

-- One what-if run and one of its passes over the trace.
create table scenarios (
    scenario varchar not null,
    created_at bigint not null,
    description varchar not null          -- JSON: engine, trace, flags, seed
);

create table replays (
    scenario varchar not null,
    arm varchar not null,                 -- baseline, candidate
    pass_no integer not null,
    started_at bigint not null,
    ended_at bigint not null,
    result varchar not null               -- JSON: send lag, verified counts, engine flags read back
);

-- Facts about this ledger: its schema version, the configuration that charges were made with.
create table ledger_facts (
    name varchar primary key,
    value varchar not null
);

-- The fact table as everyone reads it.
create view calls as
select
    r.call_no,
    r.call_id,
    r.trace_id,
    r.span_id,
    r.parent_span_id,
    r.conversation_id,
    c.origin,
    r.delivery_id,
    c.endpoint,
    c.endpoint_source,
    c.feature,
    c.team,
    c.tenant,
    r.user_id,
    c.service,
    c.environment,
    c.region,
    c.operation,
    c.provider,
    c.model_requested,
    c.model,
    c.pool,
    c.pool_reported,
    r.replica,
    c.adapter,
    r.arrived_at,
    r.started_at,
    r.first_token_at,
    r.ended_at,
    c.timing_source,
    c.timing_quality,
    r.uncached_input_tokens,
    r.cache_read_tokens,
    r.cache_write_tokens,
    r.visible_output_tokens,
    r.reasoning_tokens,
    r.input_tokens,
    r.output_tokens,
    r.reported_input_tokens,
    r.reported_output_tokens,
    r.reported_total_tokens,
    c.tokens_source,
    r.tokens_note,
    r.system_tokens,
    r.tools_tokens,
    r.examples_tokens,
    r.context_tokens,
    r.history_tokens,
    r.user_tokens,
    r.max_tokens,
    r.temperature,
    r.top_p,
    r.seed,
    r.stream,
    r.stop,
    r.response_format,
    r.n_choices,
    c.status,
    r.error_type,
    r.http_status,
    r.finish_reason,
    r.attempt,
    r.retry_of,
    r.prompt_hash,
    r.input_hash,
    r.output_hash,
    r.prefix_hashes,
    r.prefix_block_tokens,
    r.reported_cost,
    r.reported_currency,
    c.pairing,
    c.scenario,
    c.arm,
    r.cohort_id
from call_rows as r
inner join cohorts as c on r.cohort_id = c.cohort_id;
