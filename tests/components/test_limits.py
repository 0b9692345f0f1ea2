"""What both components and settings hold to."""

from components import limits


def test_zones_leave_room_for_the_public_subnets() -> None:
    """An eighth for each zone, and one for all public subnets together."""
    assert limits.FEWEST_ZONES <= limits.MOST_ZONES == 8 - 1


def test_a_zone_without_eks_is_named_by_id() -> None:
    assert all("-az" in zone for zone in limits.ZONES_WITHOUT_EKS)


def test_a_bucket_name_has_3_to_63_characters_and_no_dot() -> None:
    names = {"ab": False, "abc": True, "a" * 63: True, "a" * 64: False, "a.b": False, "A-b": False}
    assert {name: bool(limits.BUCKET_NAME.fullmatch(name)) for name in names} == names
