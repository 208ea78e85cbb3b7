"""Pages and their cursors."""

import pytest
from kept_runs import EPOCH, kept, report, store

from otel_raglog.web.api.paging import Pages
from otel_raglog.web.api.parameters import BadParameter

PAGES = Pages(EPOCH)


def runs(count):
    """Return kept runs, the newest first."""
    found = store()
    for number in range(1, count + 1):
        found.add(kept(report(number)))
    return found.newest_first()


def test_a_cursor_goes_on_where_the_page_ended():
    """The last page has none."""
    newest = runs(5)
    first, cursor = PAGES.page(newest, None, 2)
    second, cursor_2 = PAGES.page(newest, cursor, 2)
    third, cursor_3 = PAGES.page(newest, cursor_2, 2)
    assert [r.sequence for r in (*first, *second, *third)] == [5, 4, 3, 2, 1]
    assert cursor_3 is None


def test_a_full_last_page_has_no_cursor():
    """A client need not ask again for nothing."""
    assert PAGES.page(runs(4), f"{EPOCH}-3", 2)[1] is None
    assert PAGES.page([], None, 2) == ([], None)


@pytest.mark.parametrize(
    "cursor", ["", "3", "-3", f"{EPOCH}-", f"{EPOCH}--3", f"{EPOCH}-x", f"{EPOCH}-٣", f"{EPOCH}-3 ", f"{EPOCH}-" + "9" * 99, "../x"]
)  # fmt: skip
def test_what_is_no_cursor_is_refused(cursor):
    """It would show the wrong page, or all of them again."""
    with pytest.raises(BadParameter, match="cursor: must be a next_cursor"):
        PAGES.page(runs(2), cursor, 2)


def test_a_cursor_from_before_a_restart_is_told_so():
    """Runs are counted anew then."""
    with pytest.raises(BadParameter, match="begin again without it"):
        PAGES.page(runs(2), "ffff-2", 2)
