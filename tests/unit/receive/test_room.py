"""Room that several requests share."""

from __future__ import annotations

from otel_raglog.receive.room import Room


def test_a_request_fits_beside_others_up_to_the_bound() -> None:
    """One that does not fit takes no room from others."""
    room = Room(100)
    with room.holding(60) as first, room.holding(41) as second, room.holding(40) as third:
        assert (first, second, third) == (True, False, True)


def test_one_alone_always_fits() -> None:
    """It must not be refused for ever."""
    with Room(100).holding(1000) as alone:
        assert alone


def test_room_comes_back() -> None:
    """Also after an error."""
    room = Room(100)
    try:
        with room.holding(100):
            raise ValueError
    except ValueError:
        pass
    with room.holding(60) as first, room.holding(40) as second:
        assert first
        assert second
