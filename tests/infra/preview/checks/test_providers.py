"""Explicit providers."""

from infra.preview.checks import providers
from tests.support.recorded import KUBERNETES_PROVIDER, only_sentence, recording, resource

PROVIDER = resource("pulumi:providers:kubernetes", "cluster")


def test_the_stacks_own_provider_is_fine() -> None:
    namespace = resource(
        "kubernetes:core/v1:Namespace", "training", provider=f"{KUBERNETES_PROVIDER}::id"
    )
    assert only_sentence(providers.CHECK, "ok", recording(PROVIDER, namespace))


def test_rejects_a_resource_that_forgets_its_provider() -> None:
    namespace = resource("kubernetes:core/v1:Namespace", "training")
    said = only_sentence(providers.CHECK, "refused", recording(PROVIDER, namespace))
    assert said.startswith('Namespace "training" names no provider')
