"""The rules that name an endpoint, in their order, and who pays."""

from typing import Any

import pytest

from ingest.records import Call


def test_a_mapped_attribute_wins_over_the_route(span: Any, chat: Any, one_call: Any) -> None:
    found: Call = one_call(
        span(
            "web", kind="server", attributes={"http.route": "/answer", "product.area": "Help desk"}
        ),
        chat("c", "web"),
        map={"endpoint": ("attribute.product.area",)},
    )
    assert (found.endpoint, found.endpoint_source) == ("Help desk", "map")


def test_the_nearest_route_wins_over_the_workflow_and_the_root(
    span: Any, chat: Any, one_call: Any
) -> None:
    found: Call = one_call(
        span("edge", kind="server", attributes={"http.route": "/edge"}),
        span("web", "edge", kind="server", attributes={"http.route": "/answer"}),
        span("flow", "web", attributes={"traceloop.span.kind": "workflow"}),
        chat("c", "flow"),
    )
    assert (found.endpoint, found.endpoint_source) == ("/answer", "route")


def test_a_model_server_s_own_route_names_no_endpoint_while_a_better_one_encloses_it(
    span: Any, chat: Any, engine: Any, one_call: Any
) -> None:
    route = {"http.route": "/v1/chat/completions"}
    web = span("web", kind="server", attributes={"http.route": "/answer"})
    gateway = span("gateway", "web", kind="server", attributes=route)
    assert one_call(web, gateway, engine("e", "gateway")).endpoint == "/answer"
    alone = span("gateway", kind="server", attributes=route)
    assert one_call(alone, engine("e", "gateway")).endpoint == "/v1/chat/completions"


def test_a_route_between_client_and_engine_does_not_enclose_the_call(
    span: Any, chat: Any, engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        span("job", name="nightly summary"),
        chat("client", "job"),
        span("serve", "client", kind="server", attributes={"http.route": "/internal/llm"}),
        engine("e", "serve"),
    )
    assert (found.endpoint, found.endpoint_source) == ("nightly summary", "root")


def test_the_nearest_workflow_or_agent_wins_over_the_root(
    span: Any, chat: Any, one_call: Any
) -> None:
    found: Call = one_call(
        span("root"),
        span("outer", "root", attributes={"traceloop.span.kind": "workflow"}),
        span("inner", "outer", attributes={"openinference.span.kind": "AGENT"}, name="planner"),
        chat("c", "inner"),
    )
    assert (found.endpoint, found.endpoint_source) == ("planner", "workflow")


def test_the_prompt_s_name_wins_over_the_root(span: Any, chat: Any, one_call: Any) -> None:
    found: Call = one_call(
        span("root"), chat("c", "root", attributes={"gen_ai.prompt.name": "triage"})
    )
    assert (found.endpoint, found.endpoint_source) == ("triage", "prompt")


def test_the_root_names_the_endpoint_unless_it_is_the_call(
    span: Any, chat: Any, one_call: Any
) -> None:
    enclosed: Call = one_call(span("root", name="GET /"), chat("c", "root", service="shop"))
    assert (enclosed.endpoint, enclosed.endpoint_source) == ("GET /", "root")
    alone: Call = one_call(chat("c", service="shop", name="chat model-a"))
    assert (alone.endpoint, alone.endpoint_source) == ("shop chat", "service")


def test_a_call_that_nothing_else_describes_has_its_own_name(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", service="unknown_service:python", name="chat model-a"))
    assert (found.endpoint, found.endpoint_source) == ("chat model-a", "root")


def test_who_pays_is_asked_of_the_client_and_where_it_ran_of_the_engine(
    chat: Any, engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        chat(
            "client",
            service="shop",
            resource={
                "k8s.namespace.name": "support",
                "deployment.environment": "prod",
                "service.instance.id": "web-7",
                "cloud.region": "eu-west-1",
            },
            attributes={"user.id": 42, "session.id": "s-1", "tenant.id": "acme"},
        ),
        engine(
            "e",
            "client",
            service="vllm",
            resource={
                "k8s.namespace.name": "inference",
                "service.instance.id": "gpu-0",
                "gpuledger.pool": "h100",
            },
        ),
    )
    assert (found.team, found.environment, found.region) == ("support", "prod", "eu-west-1")
    assert (found.user_id, found.conversation_id, found.tenant) == ("42", "s-1", "acme")
    assert (found.replica, found.pool_reported) == ("gpu-0", "h100")


@pytest.mark.parametrize(
    "said",
    [
        {"gen_ai.conversation.id": "c-1"},
        {"session.id": "c-1"},
        {"langfuse.session.id": "c-1"},
        {"traceloop.association.properties.session_id": "c-1"},
        {"traceloop.association.properties.thread_id": "c-1"},
        {"ai.telemetry.metadata.sessionId": "c-1"},
        {"gen_ai.thread.id": "c-1"},
        {"langsmith.trace.session_id": "c-1"},
        {"mlflow.trace.session": "c-1"},
        {"metadata": '{"thread_id": "c-1"}'},
    ],
)
def test_a_conversation_has_its_id_under_every_name_it_is_sent_by(
    span: Any, chat: Any, engine: Any, one_call: Any, said: dict[str, str]
) -> None:
    found: Call = one_call(
        span("web", kind="server", attributes=said),
        chat("client", "web"),
        engine("vllm", "client"),
    )
    assert found.conversation_id == "c-1"


def test_a_conversation_that_nobody_names_is_not_the_trace(chat: Any, one_call: Any) -> None:
    assert one_call(chat("client")).conversation_id is None


@pytest.mark.parametrize(
    "name",
    [
        "traceloop.entity.path",
        "traceloop.workflow.name",
        "gen_ai.agent.name",
        "gen_ai.workflow.name",
        "agent.name",
        "ai.telemetry.functionId",
    ],
)
def test_a_workflow_names_the_endpoint_under_every_name_it_is_sent_by(
    span: Any, chat: Any, one_call: Any, name: str
) -> None:
    found: Call = one_call(span("root"), chat("client", "root", attributes={name: "planner"}))
    assert (found.endpoint, found.endpoint_source) == ("planner", "workflow")


def test_an_engine_alone_is_paid_by_what_it_says_itself(engine: Any, one_call: Any) -> None:
    found: Call = one_call(engine("e", resource={"k8s.namespace.name": "inference"}))
    assert found.team == "inference"


def test_a_call_without_an_engine_span_names_no_replica_by_default(
    chat: Any, one_call: Any
) -> None:
    resource = {"service.instance.id": "web-7"}
    assert one_call(chat("c", resource=resource)).replica is None
    mapped = one_call(
        chat("c", resource=resource), map={"replica": ("resource.service.instance.id",)}
    )
    assert mapped.replica == "web-7"


def test_a_source_is_looked_for_outward_before_the_next_is_tried(
    span: Any, chat: Any, one_call: Any
) -> None:
    found: Call = one_call(
        span("web", attributes={"cost_center": "4711"}),
        chat("c", "web", resource={"squad": "blue"}),
        map={"team": ("attribute.cost_center", "resource.squad")},
    )
    assert found.team == "4711"


def test_a_configured_source_replaces_the_defaults(chat: Any, one_call: Any) -> None:
    found: Call = one_call(
        chat("c", resource={"k8s.namespace.name": "support"}),
        map={"team": ("attribute.cost_center",)},
    )
    assert found.team is None


def test_metadata_sent_as_json_can_be_mapped(chat: Any, one_call: Any) -> None:
    found: Call = one_call(chat("c", attributes={"metadata": '{"user_id": "u1", "plan": "pro"}'}))
    assert found.user_id == "u1"
    mapped = one_call(
        chat("c", attributes={"metadata": '{"plan": "pro"}'}),
        map={"feature": ("attribute.metadata.plan",)},
    )
    assert mapped.feature == "pro"


def test_a_replay_says_so_in_resource_or_span(chat: Any, engine: Any, one_call: Any) -> None:
    found: Call = one_call(
        engine(
            "e",
            resource={
                "gpuledger.origin": "replay",
                "gpuledger.scenario": "prefix-cache",
                "gpuledger.arm": "candidate",
            },
        )
    )
    assert (found.origin, found.scenario, found.arm) == ("replay", "prefix-cache", "candidate")
    assert one_call(chat("c", attributes={"gpuledger.origin": "nonsense"})).origin == "production"


def test_model_and_provider_can_be_mapped_where_the_engine_does_not_say(
    engine: Any, one_call: Any
) -> None:
    found: Call = one_call(
        engine("e", resource={"deployment": "llama-70b", "vendor": "own"}),
        map={"model": ("resource.deployment",), "provider": ("resource.vendor",)},
    )
    assert (found.model, found.provider) == ("llama-70b", "own")
