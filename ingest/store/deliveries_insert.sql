-- One delivery and what became of its records, in place of what was said of it before.
insert or replace into deliveries (
    delivery_id,
    source,
    format,
    checksum,
    delivered_at,
    read_count,
    new_count,
    duplicate_count,
    rejected_count,
    conflict_count,
    ignored_count
)
values (
    $delivery_id,
    $source,
    $format,
    $checksum,
    $delivered_at,
    $read_count,
    $new_count,
    $duplicate_count,
    $rejected_count,
    $conflict_count,
    $ignored_count
);
