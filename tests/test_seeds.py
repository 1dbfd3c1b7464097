"""Seeds of simulations: a seed that no generator takes is named."""

import pytest

import malleable as mb


@pytest.mark.parametrize("seed", [10**30, -1, 1.5])
def test_a_wrong_seed_is_named(seed):
    wrong = pytest.raises(ValueError, match=r"rng = .*: must be a whole number from 0 to")
    with wrong:
        mb.simulate(mb.ClusterJobs([1], 1.0), "fifo", cluster=mb.Cluster([{"slots": 1}]), rng=seed)
    with wrong:
        mb.simulate(mb.MapShuffleJobs([1.0], 1.0), "max-srpt", rng=seed)
