"""Between the engine's protocol and plain data, there and back."""

from infra.preview import wire


def test_plain_data_comes_back_as_it_was() -> None:
    data = {"a": [1, "b", None, {"c": True}], "d": 1.5}
    assert wire.from_struct(wire.to_struct(data)) == (data, ())


def test_a_secret_is_in_clear_and_its_path_is_kept() -> None:
    struct = wire.to_struct({"outer": {"key": [wire.secret("hidden")]}})
    assert wire.from_struct(struct) == ({"outer": {"key": ["hidden"]}}, ("outer.key[0]",))


def test_a_reference_becomes_the_id_it_points_to() -> None:
    struct = wire.to_struct({"cluster": wire.reference("urn:x", "gangway-dev")})
    assert wire.from_struct(struct) == ({"cluster": "gangway-dev"}, ())
