import pytest
from botocore.exceptions import NoCredentialsError, ProfileNotFound

from infra.errors import GangwayError
from infra.operate.reports import Reports, one_per_run
from tests.support.training_reports import Bucket, a_job, a_rank, client_error


def reports(bucket: Bucket) -> Reports:
    return Reports("results", "logs/", bucket)


def test_reports_are_listed_by_start() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_b.json": a_job("b", started="12"),
            "logs/volcano_training_success_1_a.json": a_job("a", started="09"),
            "logs/checkpoints/x/y.json": {"not": "a report"},
        }
    )
    assert [one["run_id"] for one in reports(bucket).read()] == ["a", "b"]


def test_a_success_replaces_the_failures_of_the_same_run() -> None:
    documents = [a_job("a", "failed"), a_job("a"), a_job("a", "failed")]
    assert [one["status"] for one in one_per_run(documents)] == ["success"]


def test_ranks_whose_job_document_did_not_come_are_joined() -> None:
    bucket = Bucket({f"logs/ranks/aaaa1111-x/rank-{rank}.json": a_rank(rank) for rank in (1, 0)})
    (found,) = reports(bucket).read()
    assert found["status"] == "2 of 2 ranks"
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]
    assert found["gpu_seconds"] == 120.0


def test_ranks_of_a_reported_job_are_not_listed_twice() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_a.json": a_job("a"),
            "logs/ranks/a/rank-0.json": a_rank(0, "a"),
        }
    )
    assert len(reports(bucket).read()) == 1


def test_one_run_can_be_asked_for_by_the_beginning_of_its_uid() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_abc.json": a_job("abc"),
            "logs/volcano_training_success_1_xyz.json": a_job("xyz"),
        }
    )
    assert [one["run_id"] for one in reports(bucket).read("ab")] == ["abc"]


def test_an_object_is_read_once() -> None:
    bucket = Bucket({"logs/volcano_training_success_1_a.json": a_job("a")})
    source = reports(bucket)
    source.read()
    source.read()
    assert bucket.reads == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NoCredentialsError(), "no AWS credentials were found"),
        (ProfileNotFound(profile="zz"), r"\(zz\) could not be found: name one of"),
        (client_error("ExpiredToken"), "not valid any more: log in again"),
        (client_error("NoSuchBucket"), "there is no bucket 'results'"),
        (client_error("AccessDenied"), "may not read s3://results/logs/"),
        (client_error("SlowDown"), "s3://results/logs/ could not be read: .*SlowDown"),
    ],
    ids=["no credentials", "no profile", "expired", "no bucket", "refused", "other"],
)
def test_rejects_an_unreadable_bucket_in_one_sentence(error: Exception, sentence: str) -> None:
    with pytest.raises(GangwayError, match=sentence):
        reports(Bucket(error=error)).read()


def test_rejects_what_is_not_a_report() -> None:
    bucket = Bucket({"logs/volcano_training_success_1_a.json": ["nothing"]})
    with pytest.raises(GangwayError, match=r"_a\.json is not a report"):
        reports(bucket).read()


def test_rejects_a_prefix_without_its_slash() -> None:
    with pytest.raises(GangwayError, match="--prefix is 'logs'; it must end with /"):
        Reports("results", "logs", Bucket())
