"""KWOK Stages of the rehearsal: how pods and nodes that are only played move on.

Pods that run as real processes match none of the pod stages, so KWOK leaves them alone.
A played pod starts at once and runs until it is deleted, unless its annotations say otherwise;
KWOK's own rule would complete each pod of a Volcano Job at once, because its owner's kind is Job.
"""

from collections.abc import Sequence
from typing import Any, Final

from infra.rehearsal.pods.selection import (
    EXIT_CODE_ANNOTATION,
    IMAGE_PULL_BACKOFF_ANNOTATION,
    NOT_READY_ANNOTATION,
    RUN_SECONDS_ANNOTATION,
    real_pod_query,
)

Expression = dict[str, Any]

_STATUS_HEAD: Final = "{{ $now := Now }}\n{{ $root := . }}\n"

_RUNNING: Final = (
    _STATUS_HEAD
    + """phase: Running
startTime: {{ $now | Quote }}
conditions:
{{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ range .spec.readinessGates }}
- {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ if .spec.initContainers }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  {{ if eq (or .restartPolicy "") "Always" }}
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
  {{ else }}
  state:
    terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
  {{ end }}
{{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
{{ with NodeIPWith .spec.nodeName }}
hostIP: {{ . | Quote }}
hostIPs: [{ip: {{ . | Quote }}}]
{{ end }}
{{ with PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) }}
podIP: {{ . | Quote }}
podIPs: [{ip: {{ . | Quote }}}]
{{ end }}
"""  # noqa: E501 - one line per YAML value
)

_ENDED: Final = (
    _STATUS_HEAD
    + f"""{{{{ $annotations := or .metadata.annotations dict }}}}
{{{{ $code := or ( index $annotations "{EXIT_CODE_ANNOTATION}" ) "0" }}}}
phase: {{{{ if eq $code "0" }}}}Succeeded{{{{ else }}}}Failed{{{{ end }}}}
conditions:
{{{{ range $type := list "ContainersReady" "Ready" }}}}
- type: {{{{ $type }}}}
  status: "False"
  reason: {{{{ if eq $code "0" }}}}PodCompleted{{{{ else }}}}PodFailed{{{{ end }}}}
  lastTransitionTime: {{{{ $now | Quote }}}}
{{{{ end }}}}
containerStatuses:
{{{{ range .spec.containers }}}}
- name: {{{{ .name | Quote }}}}
  image: {{{{ .image | Quote }}}}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: {{{{ $code }}}}
      reason: {{{{ if eq $code "0" }}}}Completed{{{{ else }}}}Error{{{{ end }}}}
      startedAt: {{{{ or $root.status.startTime $now | Quote }}}}
      finishedAt: {{{{ $now | Quote }}}}
{{{{ end }}}}
"""
)

_PULL_BACKOFF: Final = (
    _STATUS_HEAD
    + """phase: Pending
startTime: {{ $now | Quote }}
conditions:
{{ range $type := list "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "False"
  reason: ContainersNotReady
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state:
    waiting:
      reason: ImagePullBackOff
      message: {{ printf "Back-off pulling image %s" .image | Quote }}
{{ end }}
"""
)

_NODE_CONDITION: Final = """{{ $now := Now }}
conditions:
- type: Ready
  status: "%(status)s"
  reason: %(reason)s
  message: %(message)s
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
"""


def _is(key: str, operator: str, *values: str) -> Expression:
    expression: Expression = {"key": key, "operator": operator}
    return expression | ({"values": list(values)} if values else {})


def _annotation(name: str) -> str:
    return f'.metadata.annotations["{name}"]'


_ALIVE: Final = _is(".metadata.deletionTimestamp", "DoesNotExist")
_PLAYED: Final = _is(real_pod_query(), "DoesNotExist")
_PULL_FAILS: Final = _annotation(IMAGE_PULL_BACKOFF_ANNOTATION)
_BATCH_OWNER: Final = (
    '.metadata.ownerReferences[]? | select(.kind == "Job" and .apiVersion == "batch/v1") | .kind'
)


def _stage(
    name: str,
    kind: str,
    selector: Sequence[Expression],
    next_step: dict[str, Any],
    delay: dict[str, Any] | None = None,
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(selector)},
        "next": next_step,
    }
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": spec | ({"delay": delay} if delay else {}),
    }


def pod_stages() -> list[dict[str, Any]]:
    """Start, end by annotation, end of finished hooks, image trouble, deletion of played pods."""
    running = _is(".status.phase", "In", "Running")
    run_seconds = _annotation(RUN_SECONDS_ANNOTATION)
    return [
        _stage(
            "gangway-pod-start",
            "Pod",
            [
                _PLAYED,
                _ALIVE,
                _is(".status.phase", "In", "Pending"),
                _is(_PULL_FAILS, "DoesNotExist"),
            ],
            {"statusTemplate": _RUNNING},
        ),
        _stage(
            "gangway-pod-image-pull-backoff",
            "Pod",
            [
                _PLAYED,
                _ALIVE,
                _is(_PULL_FAILS, "Exists"),
                _is(".status.containerStatuses[]?.state.waiting.reason", "DoesNotExist"),
            ],
            {"statusTemplate": _PULL_BACKOFF},
        ),
        _stage(
            "gangway-pod-end-by-annotation",
            "Pod",
            [_PLAYED, _ALIVE, running, _is(run_seconds, "Exists")],
            {"statusTemplate": _ENDED},
            {
                "durationMilliseconds": 0,
                "durationFrom": {"expressionFrom": f'{run_seconds} + "s"'},
            },
        ),
        _stage(
            "gangway-pod-end-of-batch-job",
            "Pod",
            [
                _PLAYED,
                _ALIVE,
                running,
                _is(_BATCH_OWNER, "Exists"),
                _is(run_seconds, "DoesNotExist"),
            ],
            {"statusTemplate": _ENDED},
        ),
        _stage(
            "gangway-pod-delete",
            "Pod",
            [_PLAYED, _is(".metadata.deletionTimestamp", "Exists")],
            {"finalizers": {"empty": True}, "delete": True},
        ),
    ]


def node_stages() -> list[dict[str, Any]]:
    """A node goes NotReady and back by annotation; its leases are KWOK's in both cases."""
    ready = '.status.conditions[]? | select(.type == "Ready") | .status'
    unready = _is(_annotation(NOT_READY_ANNOTATION), "Exists")
    healthy = _is(_annotation(NOT_READY_ANNOTATION), "DoesNotExist")
    down = {"status": "False", "reason": "KubeletNotReady", "message": "stopped by annotation"}
    up = {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return [
        _stage(
            "gangway-node-not-ready",
            "Node",
            [unready, _is(ready, "In", "True")],
            {"statusTemplate": _NODE_CONDITION % down},
        ),
        _stage(
            "gangway-node-ready",
            "Node",
            [healthy, _is(ready, "NotIn", "True")],
            {"statusTemplate": _NODE_CONDITION % up},
        ),
    ]
