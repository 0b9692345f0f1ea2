"""A gang of training pods as local processes, with moto as AWS, for the trainer's real tests."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

REPOSITORY = Path(__file__).parents[2]
ROLE = "trainer"
ROLE_ARN = f"arn:aws:iam::123456789012:role/{ROLE}"
REGION = "us-east-1"
PATIENCE_SECONDS = 300.0
PRICES = {
    "date": "2026-11-30",
    "region": REGION,
    "usd_per_hour": {"g4dn.xlarge": {"on_demand": 0.526, "spot_low": 0.15, "spot_high": 0.3}},
}


@dataclass
class Aws:
    """One moto server with the bucket, the role, and credentials of a session of the role."""

    bucket: str
    credentials: dict[str, str]
    endpoint: str

    def s3(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",  # noqa: S106 - moto takes anything
        )

    def object_keys(self) -> list[str]:
        pages = self.s3().list_objects_v2(Bucket=self.bucket)
        return [entry["Key"] for entry in pages.get("Contents", [])]

    def body(self, key: str) -> bytes:
        found: bytes = self.s3().get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return found

    def document(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body(key))
        return found

    def job_documents(self) -> list[dict[str, Any]]:
        keys = [key for key in self.object_keys() if key.startswith("logs/volcano_training_")]
        return [self.document(key) for key in keys]

    def checkpoint_steps(self) -> list[int]:
        return [int(key[-15:-5]) for key in self.object_keys() if key.endswith(".ckpt")]


@contextmanager
def emulated_aws() -> Iterator[Aws]:
    # Every moto server of a process shares one state, so each user gets a bucket of its own.
    bucket = f"results-{uuid.uuid4().hex[:12]}"
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    try:
        admin: dict[str, Any] = {
            "endpoint_url": endpoint,
            "region_name": REGION,
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "testing",
        }
        boto3.client("s3", **admin).create_bucket(Bucket=bucket)
        session = boto3.client("sts", **admin).assume_role(RoleArn=ROLE_ARN, RoleSessionName="pod")[
            "Credentials"
        ]
        yield Aws(
            bucket=bucket,
            credentials={
                "AWS_ACCESS_KEY_ID": session["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
                "AWS_SESSION_TOKEN": session["SessionToken"],
                "AWS_ENDPOINT_URL": endpoint,
            },
            endpoint=endpoint,
        )
    finally:
        server.stop()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@dataclass
class Rank:
    """One pod's process and its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")


@dataclass
class Attempt:
    """The pods of one attempt of a job."""

    ranks: list[Rank] = field(default_factory=list)

    def exit_codes(self, seconds: float = PATIENCE_SECONDS) -> list[int]:
        end = time.monotonic() + seconds
        return [rank.process.wait(timeout=max(0.1, end - time.monotonic())) for rank in self.ranks]

    def logs(self) -> str:
        return "\n".join(rank.text() for rank in self.ranks)

    def end(self) -> None:
        for rank in self.ranks:
            if rank.process.poll() is None:
                os.killpg(rank.process.pid, signal.SIGKILL)
                rank.process.wait()


@dataclass
class GangJob:
    """A job to run in attempts: settings that its pods get, and where they log."""

    aws: Aws
    folder: Path
    framework: str
    interpreter: Path
    arguments: tuple[str, ...] = ()
    size: int = 2
    settings: dict[str, str] = field(default_factory=dict)

    def environment(self, rank: int, version: int, port: int) -> dict[str, str]:
        addresses = [f"127.0.0.1:{port + 10 * index}" for index in range(self.size)]
        cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.aws.credentials,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "GANGWAY_BATCH_SIZE_PER_WORKER": "256",
            "GANGWAY_CHECKPOINT_INTERVAL_STEPS": "50",
            "GANGWAY_EPOCHS": "5",
            "GANGWAY_EXPECTED_ROLE_ARN": ROLE_ARN,
            "GANGWAY_FRAMEWORK": self.framework,
            "GANGWAY_MAX_RETRY": "10",
            "GANGWAY_MIXED_PRECISION": "false",
            "GANGWAY_PRICES": json.dumps(PRICES),
            "GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS": "60",
            "GANGWAY_RESULTS_BUCKET": self.aws.bucket,
            "GANGWAY_RESULTS_PREFIX": "logs/",
            "GANGWAY_SEED": "1",
            "GANGWAY_SERVICE_ACCOUNT_DIR": str(self.folder / "no-service-account"),
            "JOB_NAME": "gang-train",
            "JOB_VERSION": str(version),
            "LIMIT_CPU_MILLICORES": "1000",
            "LIMIT_GPUS": "1",
            "LIMIT_MEMORY_BYTES": "4294967296",
            "NODE_NAME": f"node-{rank}",
            "POD_GROUP_NAME": "gang-train-7a1c0d5e",
            "POD_IP": "127.0.0.1",
            "POD_NAME": f"gang-train-{rank}",
            "POD_NAMESPACE": "training",
            "POD_UID": f"pod-uid-{rank}",
            "QUEUE_NAME": "ml-queue",
            "SERVICE_ACCOUNT_NAME": "trainer",
            "TASK_NAME": "worker" if rank else "master",
            "ZONE": "us-east-1a",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "RANK": str(rank),
            "WORLD_SIZE": str(self.size),
            "TF_CONFIG": json.dumps(cluster),
            **self.settings,
        }

    @contextmanager
    def attempt(self, version: int = 0, ranks: tuple[int, ...] | None = None) -> Iterator[Attempt]:
        """Start the pods of one attempt; whatever still runs at the end is ended."""
        port = free_port() % 20_000 + 20_000
        attempt = Attempt()
        try:
            for rank in range(self.size) if ranks is None else ranks:
                log = self.folder / f"attempt-{version}-rank-{rank}.log"
                with log.open("wb") as output:
                    process = subprocess.Popen(  # noqa: S603 - our own package
                        [str(self.interpreter), "-m", "trainer", *self.arguments],
                        env=self.environment(rank, version, port),
                        cwd=self.folder,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                attempt.ranks.append(Rank(process, log))
            yield attempt
        finally:
            attempt.end()


def wait_for(probe: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Return the probe's first truthy answer; None when none came in time."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < end:
        answer = probe()
        if answer:
            return answer
        pause.wait(0.05)
    return None
