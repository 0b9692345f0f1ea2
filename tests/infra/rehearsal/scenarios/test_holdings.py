from hypothesis import given
from hypothesis import strategies as st

from infra.rehearsal.scenarios.holdings import Gang, holdings, present_workers, spans
from tests.support.binding_log import at, events

GANGS = {"a": Gang(name="a", size=2)}


def test_a_worker_holds_its_gpu_from_binding_to_end():
    [holding] = holdings(events("0 create a-0\n1 bind a-0 n0\n4 succeed a-0"))
    assert (holding.start, holding.end, holding.node) == (at(1), at(4), "n0")


def test_a_worker_that_still_runs_has_no_end():
    [holding] = holdings(events("0 create a-0\n1 bind a-0 n0"))
    assert holding.end is None


def test_a_pod_made_again_under_its_name_ends_the_life_before():
    first, second = holdings(
        events("0 create a-0\n1 bind a-0 n0\n2 leave a-0\n5 create a-0\n6 bind a-0 n1")
    )
    assert (first.end, second.start) == (at(2), at(6))


def test_a_finished_worker_counts_as_present_and_a_deleted_one_does_not():
    held = holdings(
        events(
            "0 create a-0\n0 create a-1\n1 bind a-0 n\n1 bind a-1 m\n2 succeed a-0\n3 delete a-1"
        )
    )
    assert [present_workers(held, at(moment)) for moment in (0, 1, 2, 3)] == [0, 2, 2, 1]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 100),
            st.sampled_from(["bind", "succeed", "fail", "delete"]),
            st.sampled_from(["a-0", "a-1"]),
        ),
        max_size=12,
    )
)
def test_spans_cover_every_holding_exactly_once(steps):
    log = "\n".join(
        ["0 create a-0", "0 create a-1"]
        + [f"{moment} {verb} {pod} n0" for moment, verb, pod in sorted(steps)]
    )
    until = at(200)
    held = holdings(events(log))
    pieces = spans(held, GANGS, until)
    for holding in held:
        own = [piece for piece in pieces if piece.holding == holding]
        end = holding.end if holding.end is not None else until
        assert sum(piece.length for piece in own) == end - holding.start
