"""What governing arrays has gained, against the order of arrival."""

import pytest

from malleable.live.slurm.gain import gain_of
from tests.live.fake_slurm import FakeSlurm
from tests.live.test_govern import SIZES, go, governed, mean_response


def test_what_was_gained():
    world = FakeSlurm()
    for size in SIZES:
        world.submit(size, 2.0)
    governor = governed(world)
    assert gain_of(governor.jobs, governor.most_slots) is None
    go(governor, world)
    governor.end("done")
    gain = gain_of(governor.jobs, governor.most_slots)
    assert gain.response == pytest.approx(mean_response(world), abs=5.0)  # looks see ends late
    plain = FakeSlurm()
    for size in SIZES:
        plain.submit(size, 2.0)
    plain.advance(10_000.0)
    assert gain.in_order == pytest.approx(mean_response(plain), rel=0.1)
    assert gain.ratio < 0.75
