"""What the EKS Pod Identity agent does: AWS credentials for pods whose account has a role."""

import contextlib
import http.server
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.ports import LOOPBACK
from infra.rehearsal.state import write_atomically

JsonObject = Mapping[str, Any]
RoleOf = Callable[[str, str], str | None]
AssumeRole = Callable[[str, str], Mapping[str, str]]
"""Role ARN and session name -> AccessKeyId, SecretAccessKey, Token, Expiration."""

PATH: Final = "/v1/credentials"
STOP_LOOK_SECONDS: Final = 0.05
"""How often the server looks whether it is to stop."""

RENEW_SECONDS: Final = 1800
"""Half of what an assumed role's credentials last."""


class CredentialServer:
    """A loopback server that answers each pod's own token with its role's credentials.

    `role_of` takes a namespace and a service account; the association is read when a pod starts,
    as EKS does, so a pod started before its association has none.
    """

    def __init__(self, folder: Path, role_of: RoleOf, assume_role: AssumeRole) -> None:
        self._folder = folder
        self._role_of = role_of
        self._assume_role = assume_role
        self._pods: dict[str, tuple[str, str]] = {}
        self._given: dict[str, tuple[Mapping[str, str], float]] = {}
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer((LOOPBACK, 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            args=(STOP_LOOK_SECONDS,),
            name="credentials",
            daemon=True,
        )

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()

    def variables(self, pod: JsonObject) -> dict[str, str]:
        """The variables that EKS injects into the pod; none without an association."""
        metadata = pod["metadata"]
        account = pod["spec"].get("serviceAccountName", "default")
        role = self._role_of(metadata["namespace"], account)
        if role is None:
            return {}
        token = secrets.token_urlsafe(32)
        self._pods[token] = (role, f"eks-{metadata['name']}"[:64])
        # Asked for now: the SDKs wait for an answer two seconds only.
        with contextlib.suppress(GangwayError):
            self._credentials_of(token)
        token_file = self._folder / metadata["uid"] / "eks-pod-identity-token"
        write_atomically(token_file, token)
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://{LOOPBACK}:{self.port}{PATH}",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token_file),
        }

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def answer(self, path: str, token: str) -> tuple[int, JsonObject]:
        """HTTP status and body for a request."""
        if path != PATH or token not in self._pods:
            return 403, {"message": "no pod of this rehearsal has this token"}
        try:
            return 200, self._credentials_of(token)
        except GangwayError as error:
            return 500, {"message": str(error)}

    def _credentials_of(self, token: str) -> Mapping[str, str]:
        with self._lock:
            known, asked = self._given.get(token, ({}, float("-inf")))
            if time.monotonic() - asked > RENEW_SECONDS:
                known, asked = self._assume_role(*self._pods[token]), time.monotonic()
                self._given[token] = (known, asked)
            return known

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers one GET."""

            def do_GET(self) -> None:
                """Answer with credentials or a refusal."""
                status, body = answer(self.path, self.headers.get("Authorization", ""))
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Keep quiet: a request says nothing that a log needs."""

        return Handler
