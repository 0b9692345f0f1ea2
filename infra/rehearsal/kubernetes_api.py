"""A small client of the rehearsal's API server: plain objects in, plain objects out."""

import base64
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from infra.errors import GangwayError
from infra.rehearsal.state import StateFolder

JsonObject = dict[str, Any]

STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
JSON_PATCH: Final = "application/json-patch+json"

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_ERRORS_FROM: Final = 400


class ApiError(GangwayError):
    """The API server refused a request; `status` and `reason` are its own."""

    def __init__(self, message: str, *, status: int, reason: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason

    @property
    def is_not_found(self) -> bool:
        """Whether the object does not exist."""
        return self.status == _NOT_FOUND

    @property
    def is_conflict(self) -> bool:
        """Whether the object exists already or was changed meanwhile."""
        return self.status == _CONFLICT


class ApiUnreachableError(GangwayError):
    """The API server does not answer."""


class KubernetesApi:
    """Requests with one bearer token; usable from several threads."""

    def __init__(self, endpoint: str, ca_pem: str, token: str) -> None:
        context = ssl.create_default_context(cadata=ca_pem)
        self._endpoint = endpoint
        self._pool = urllib3.PoolManager(
            maxsize=16,
            ssl_context=context,
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            retries=False,
        )

    @classmethod
    def of(cls, state: StateFolder) -> "KubernetesApi":
        """The client of a running rehearsal, as its administrator."""
        kubernetes = state.section("kubernetes")
        if not kubernetes:
            message = f"rehearsal {state.name} has no control plane: run `gangway rehearse up`"
            raise GangwayError(message)
        ca_pem = base64.b64decode(kubernetes["ca_pem_base64"]).decode()
        return cls(kubernetes["endpoint"], ca_pem, kubernetes["token"])

    def get(self, path: str, **query: str) -> JsonObject:
        """The object or list at `path`, for example `/api/v1/nodes`."""
        return self._request("GET", path, query=query)

    def find(self, path: str) -> JsonObject | None:
        """The object at `path`, or None when there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.is_not_found:
                return None
            raise

    def items(self, path: str, **query: str) -> list[JsonObject]:
        """The items of the list at `path`; an empty list when the kind is not served."""
        try:
            items: list[JsonObject] = self.get(path, **query)["items"]
        except ApiError as error:
            if error.is_not_found:
                return []
            raise
        return items

    def apply(self, collection: str, manifest: Mapping[str, Any], *, manager: str) -> JsonObject:
        """Create an object, or bring the one of that name to the manifest as `manager`."""
        path = f"{collection}/{manifest['metadata']['name']}"
        query = {"fieldManager": manager, "force": "true"}
        return self._request("PATCH", path, query=query, body=manifest, content_type=APPLY)

    def create(self, path: str, body: Mapping[str, Any]) -> JsonObject:
        """Post an object (or a subresource such as a token request)."""
        return self._request("POST", path, body=body)

    def patch(self, path: str, body: Any, *, content_type: str = STRATEGIC_MERGE) -> JsonObject:
        """Patch an object or a subresource."""
        return self._request("PATCH", path, body=body, content_type=content_type)

    def delete(
        self, path: str, *, grace_seconds: int | None = None, uid: str | None = None
    ) -> None:
        """Delete an object; one that is gone already is no error."""
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        try:
            self._request("DELETE", path, body=options)
        except ApiError as error:
            if not error.is_not_found:
                raise

    def text(self, path: str) -> str:
        """A plain text answer, for example of `/readyz`."""
        return self._send("GET", path).data.decode()

    def watch(self, path: str, *, seconds: int, **query: str) -> Iterator[bytes]:
        """Lines of a watch, each one event as JSON, until it ends by itself after `seconds`."""
        query = query | {"watch": "true", "timeoutSeconds": str(seconds)}
        response = self._send("GET", path, query=query, stream=True, read_seconds=seconds + 30)
        buffer = b""
        try:
            for chunk in response.stream(amt=None, decode_content=True):
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                yield from lines
        except urllib3.exceptions.HTTPError as error:
            message = f"the watch of {path} broke: {error}"
            raise ApiUnreachableError(message) from error
        finally:
            response.close()
            response.release_conn()

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> JsonObject:
        response = self._send(method, path, query=query, body=body, content_type=content_type)
        answer: JsonObject = json.loads(response.data)
        return answer

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        stream: bool = False,
        read_seconds: float = 30,
    ) -> urllib3.BaseHTTPResponse:
        url = f"{self._endpoint}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.request(
                method,
                url,
                body=json.dumps(body).encode() if body is not None else None,
                headers={**self._pool.headers, "Content-Type": content_type},
                preload_content=not stream,
                timeout=urllib3.Timeout(connect=5, read=read_seconds),
            )
        except urllib3.exceptions.HTTPError as error:
            message = f"the API server at {self._endpoint} does not answer: {error}"
            raise ApiUnreachableError(message) from error
        if response.status >= _ERRORS_FROM:
            raise _refusal(method, path, response)
        return response


def _refusal(method: str, path: str, response: urllib3.BaseHTTPResponse) -> ApiError:
    raw = response.data
    try:
        answer = json.loads(raw)
        message, reason = str(answer["message"]), str(answer.get("reason", ""))
    except (ValueError, KeyError, TypeError):
        message, reason = raw.decode(errors="replace").strip(), ""
    return ApiError(f"{method} {path}: {message}", status=response.status, reason=reason)
