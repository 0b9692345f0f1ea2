"""The rehearsal's own API server as the emulated EKS reaches it: plain HTTP calls with a token."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_TIMEOUT_SECONDS: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesApi:
    """Endpoint, certificate authority and token of the local control plane."""

    endpoint: str
    ca_pem_base64: str
    token: str

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object or a list, None when there is none."""
        return self._call("GET", path)

    def apply(self, collection: str, manifest: Mapping[str, Any]) -> None:
        """Create an object, or bring the one of that name to the manifest."""
        path = f"{collection}/{manifest['metadata']['name']}?fieldManager=eks&force=true"
        self._call("PATCH", path, manifest, "application/apply-patch+yaml")

    def delete(self, path: str) -> None:
        """Delete an object; one that is not there is deleted already."""
        self._call("DELETE", path)

    def ready_provider_ids(self) -> set[str]:
        """Return the provider ids of the nodes that are Ready."""
        nodes = self.get("/api/v1/nodes") or {}
        return {
            node["spec"].get("providerID", "")
            for node in nodes.get("items", [])
            if any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in node.get("status", {}).get("conditions", [])
            )
        }

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any] | None:
        request = urllib.request.Request(  # noqa: S310 - the control plane's own https address
            self.endpoint + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
        )
        context = ssl.create_default_context(
            cadata=base64.b64decode(self.ca_pem_base64).decode("ascii")
        )
        try:
            with urllib.request.urlopen(  # noqa: S310 - see above
                request, timeout=_TIMEOUT_SECONDS, context=context
            ) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as error:
            if error.code == _NOT_FOUND:
                return None
            raise


def control_plane(state_dir: Path) -> KubernetesApi | None:
    """Return the control plane that the rehearsal runs, None when it runs none."""
    file = state_dir / "rehearsal.json"
    if not file.exists():
        return None
    found = json.loads(file.read_text("utf-8")).get("kubernetes")
    if not found:
        return None
    return KubernetesApi(
        endpoint=found["endpoint"], ca_pem_base64=found["ca_pem_base64"], token=found["token"]
    )
