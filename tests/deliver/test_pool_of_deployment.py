"""The pool of a call that names only a deployment."""

from pathlib import Path

import orjson

from ingest.config import Configuration, Pool
from ingest.deliver import deliver_paths
from ingest.ledger import Ledger

ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "azure.ai.openai",
    "gen_ai.request.model": "prod-chat-eu",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 2,
}


def test_a_deployment_s_name_alone_finds_the_pool(ledger: Ledger, tmp_path: Path) -> None:
    span = {
        "name": "chat",
        "startTimeUnixNano": "1790812800000000000",
        "endTimeUnixNano": "1790812810000000000",
        "attributes": ATTRIBUTES,
    }
    path = tmp_path / "one.json"
    path.write_bytes(orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    pools = (Pool(name="provisioned", models=("prod-chat-eu",)),)
    deliver_paths(ledger, [str(path)], Configuration(pools=pools))
    found = ledger.connection.execute("select model, model_requested, pool from calls").fetchall()
    assert found == [(None, "prod-chat-eu", "provisioned")]
