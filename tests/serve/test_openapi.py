"""/openapi.json tells the truth: what the routes take and answer, all of it and nothing else."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from openapi_spec_validator import validate

from bankml.serve import catalogue, ollama, openai, own
from bankml.serve.app import ELSEWHERE, ROUTES
from bankml.serve.schemas import SCHEMAS
from tests.serve import bases
from tests.serve.test_app import GETS, POSTS

SETTINGS = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 15  # per operation; both runs make some 1,500 requests


@pytest.fixture(scope="module")
def document(application) -> dict[str, Any]:
    return application("GET", "/openapi.json").json()


def test_it_is_a_document_of_openapi_3_1(document):
    validate(document)
    assert document["openapi"].startswith("3.1")


def test_every_address_is_in_it_with_its_methods(document):
    described = {
        (path, method.upper()) for path, item in document["paths"].items() for method in item if method != "parameters"
    }
    routed = {(route.path_format, method) for route in ROUTES for method in route.methods - {"HEAD"}}
    elsewhere = {(f"/api/{path}", method) for path in ELSEWHERE for method in ("GET", "POST", "PUT", "DELETE")}
    assert described == routed | elsewhere | {("/", "GET")}
    assert {path for path in [*GETS, *POSTS] if "all-minilm" not in path} <= document["paths"].keys()


def test_only_what_an_encoder_cannot_do_is_called_elsewhere(document):
    called = {path for path, item in document["paths"].items() if item.get("get", {}).get("tags") == ["Elsewhere"]}
    assert called == {f"/api/{path}" for path in ELSEWHERE}
    assert all(
        item.get("post", {}).get("tags") != ["Elsewhere"] or path in called for path, item in document["paths"].items()
    )


def test_a_server_that_forwards_says_what_it_leaves_to_ollama(serving, tiny, tmp_path):
    with serving(tmp_path, "--model", str(tiny), native=False, BANKML_OLLAMA="http://127.0.0.1:9") as server:
        document = httpx.get(f"{server.url}/openapi.json").json()
        validate(document)
        chat, embed = document["paths"]["/api/chat"]["post"], document["paths"]["/api/embed"]["post"]
        assert list(chat["responses"]) == ["default"]
        assert {"200", "400", "default"} <= embed["responses"].keys()
        assert "default" not in document["paths"]["/health"]["get"]["responses"]
        answer = httpx.post(f"{server.url}/api/chat", json={"model": "llama"})
        assert answer.status_code == 502
        assert answer.headers["x-request-id"]
        metrics = httpx.get(f"{server.url}/metrics").text
        assert 'bankml_requests_total{method="POST",route="/api/chat",status="502"} 1.0' in metrics


@pytest.mark.parametrize(
    ("name", "struct"),
    [
        ("EmbedRequest", ollama.EmbedRequest),
        ("EmbeddingsRequest", ollama.EmbeddingsRequest),
        ("ShowRequest", catalogue.ShowRequest),
        ("OpenAIRequest", openai.EmbeddingsRequest),
        ("TokenizeRequest", own.TokenizeRequest),
    ],
)
def test_a_request_has_the_fields_that_are_read_and_words_for_each_that_is_any(name, struct):
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    properties = SCHEMAS[name]["properties"]
    assert properties.keys() == fields.keys()
    assert all(properties[field].get("anyOf") != [{}] for field in fields)


def test_every_operation_has_a_name_of_its_own(document):
    names = [
        operation["operationId"]
        for item in document["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(names) == len(set(names))


def test_an_example_is_answered(application, document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if example := method == "post" and operation.get("requestBody"):
                body = example["content"]["application/json"]["example"]
                assert application("POST", path, json=body).status_code == 200, path


def test_it_is_sent_only_to_those_who_lack_it(application):
    first = application("GET", "/openapi.json")
    assert first.headers["cache-control"] == "no-cache"
    again = application("GET", "/openapi.json", headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    other = application("GET", "/openapi.json", headers={"If-None-Match": '"x"'})
    assert (other.status_code, other.content) == (200, first.content)


def as_served(document: dict[str, Any]) -> dict[str, Any]:
    return document


def of_the_model(document: dict[str, Any]) -> dict[str, Any]:
    """The same with names and limits that the served model has, so that whatever fits it must succeed."""
    narrowed = deepcopy(document)
    schemas = narrowed["components"]["schemas"]
    for name in ("EmbedRequest", "EmbeddingsRequest", "OpenAIRequest", "ShowRequest", "TokenizeRequest"):
        schemas[name]["properties"]["model"] = {"enum": ["tiny", "TINY", "tiny:latest"]}
        schemas[name].pop("anyOf", None)
        schemas[name]["required"] = sorted({*schemas[name].get("required", ()), "model"})
    for name in ("EmbedRequest", "EmbeddingsRequest"):
        options = schemas[name]["properties"]["options"]["anyOf"][0]
        options["properties"]["num_ctx"] = {"anyOf": [{"type": "integer", "minimum": 512}, {"type": "null"}]}
    schemas["TokenizeRequest"]["properties"]["model"] = {"enum": ["tiny", "", None]}
    narrowed["paths"]["/v1/models/{id}"]["parameters"][0]["schema"] = {"enum": ["tiny"]}
    return narrowed


@pytest.mark.parametrize(
    ("narrow", "settings", "excluded"),
    [
        (as_served, ["--config-file", str(SETTINGS)], []),
        # what is narrowed away is accepted all the same
        (of_the_model, [], ["--exclude-checks", "negative_data_rejection"]),
    ],
)
def test_schemathesis_finds_nothing(serving, tiny, tmp_path, narrow, settings: list[str], excluded: list[str]):
    command = [str(Path(sys.executable).with_name("st")), *settings, "run", str(tmp_path / "openapi.json"), *excluded]
    options = f"--phases examples,coverage,fuzzing --max-examples {EXAMPLES} --generation-deterministic"
    quiet = "--continue-on-failure --no-color --warnings off --request-timeout 20"
    store = bases.embedded(bases.write(tmp_path / "kb"), tiny)
    with serving(tmp_path, "--model", str(tiny), "--kb", str(store)) as server:
        document = narrow(httpx.get(f"{server.url}/openapi.json").json())
        (tmp_path / "openapi.json").write_text(json.dumps(document))
        command += ["--url", server.url, *options.split(), *quiet.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert httpx.post(f"{server.url}/api/embed", json={"model": "tiny", "input": "a"}).status_code == 200
