"""What mechanisms are worth: none of many lines is without a measurement."""

from benchmarks.mechanisms import table


def test_every_large_mechanism_is_measured():
    assert not table.unmeasured(table.read())


def test_a_large_mechanism_that_nobody_measured_is_named():
    assert "kernel/lagrangian_density" in table.unmeasured([])


def test_the_page_has_every_mechanism():
    page = table.PAGE.read_text()
    assert all(f"{each['mechanism']}" in page for each in table.read())
    assert set(table.FRAME) <= set(table.large())
