import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from infra.rehearsal.kubernetes_api import ApiError
from infra.rehearsal.pods.certificate_hook import apply_secret, server_certificate


def test_the_certificate_is_the_services_and_signed_by_its_authority() -> None:
    data = server_certificate("volcano-admission-service", "volcano-system")
    authority = x509.load_pem_x509_certificate(data["ca.crt"])
    certificate = x509.load_pem_x509_certificate(data["tls.crt"])
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [
        "volcano-admission-service",
        "volcano-admission-service.volcano-system",
        "volcano-admission-service.volcano-system.svc",
    ]
    key = load_pem_private_key(data["tls.key"], password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == certificate.public_key()


class FakeApi:
    def __init__(self, status: int | None = None) -> None:
        self._status = status
        self.patched: list[Any] = []
        self.created: list[Any] = []

    def create(self, path: str, body: Any) -> None:
        if self._status is not None:
            message = "refused"
            raise ApiError(message, status=self._status, reason="")
        self.created.append((path, body))

    def patch(self, path: str, body: Any, **_: str) -> None:
        self.patched.append((path, body))


def test_the_secret_is_created() -> None:
    api = FakeApi()
    apply_secret(api, "volcano-system", "s", {"ca.crt": b"x"})  # type: ignore[arg-type]
    ((path, body),) = api.created
    assert path == "/api/v1/namespaces/volcano-system/secrets"
    assert base64.b64decode(body["data"]["ca.crt"]) == b"x"


def test_an_existing_secret_gets_the_new_data() -> None:
    api = FakeApi(409)
    apply_secret(api, "volcano-system", "s", {"ca.crt": b"x"})  # type: ignore[arg-type]
    assert api.patched[0][0].endswith("/secrets/s")


def test_rejects_what_the_account_may_not_do() -> None:
    with pytest.raises(ApiError, match="refused"):
        apply_secret(FakeApi(403), "n", "s", {})  # type: ignore[arg-type]
