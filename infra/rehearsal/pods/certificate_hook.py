"""What the admission chart's certificate hook does: a CA and a server certificate in a Secret.

The image's shell script makes both with openssl and applies them with kubectl; this makes the
same Secret with the pod's own service account.
"""

import argparse
import base64
import datetime
import os
from collections.abc import Sequence
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from infra.rehearsal.kubernetes_api import MERGE, ApiError, KubernetesApi

LIFETIME = datetime.timedelta(days=3650)


def server_certificate(service: str, namespace: str) -> dict[str, bytes]:
    """Secret key -> PEM of a new CA and of a certificate for the service's in-cluster names."""
    names = [service, f"{service}.{namespace}", f"{service}.{namespace}.svc"]
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{service}-ca")])
    ca = (
        _builder(ca_name, ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[-1])])
    certificate = (
        _builder(subject, ca_name, key)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return {
        "ca.crt": ca.public_bytes(pem),
        "tls.crt": certificate.public_bytes(pem),
        "tls.key": key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    }


def apply_secret(api: KubernetesApi, namespace: str, name: str, data: dict[str, bytes]) -> None:
    """Create the Secret, or replace its data when it exists."""
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "Opaque",
        "data": encoded,
    }
    path = f"/api/v1/namespaces/{namespace}/secrets"
    try:
        api.create(path, secret)
    except ApiError as error:
        if not error.is_conflict:
            raise
        api.patch(f"{path}/{name}", {"data": encoded}, content_type=MERGE)


def main(words: Sequence[str] | None = None) -> None:
    """Take the script's arguments and the pod's kubeconfig, write the Secret."""
    parser = argparse.ArgumentParser()
    for option in ("--service", "--namespace", "--secret"):
        parser.add_argument(option, required=True)
    options = parser.parse_args(words)
    api = _api_of(Path(os.environ["KUBECONFIG"]))
    data = server_certificate(options.service, options.namespace)
    apply_secret(api, options.namespace, options.secret, data)


def _api_of(kubeconfig: Path) -> KubernetesApi:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    ca_pem = base64.b64decode(cluster["certificate-authority-data"]).decode()
    token = Path(user["tokenFile"]).read_text(encoding="utf-8")
    return KubernetesApi(cluster["server"], ca_pem, token)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


if __name__ == "__main__":
    main()
