"""Random cluster jobs: reproducible, and in range."""

import numpy as np
import pytest

import malleable as mb


def test_generated_jobs_are_the_same_for_a_seed():
    one, two = (mb.generate_cluster_jobs(50, 3, users=3) for _ in range(2))
    assert one.maps.tolist() == two.maps.tolist()
    assert one.user == two.user
    assert set(one.user) == {"user0", "user1", "user2"}
    assert (np.diff(one.arrival) > 0).all()
    assert mb.generate_cluster_jobs(5, 3, gap=0).arrival.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("jobs", -1),
        ("users", 0),
        ("mean_maps", 0.0),
        ("gap", -1.0),
        ("spread", np.nan),
        ("reduce_share", -0.1),
    ],
)
def test_a_parameter_of_generated_jobs_that_is_out_of_its_range_is_named(field, value):
    with pytest.raises(ValueError, match=f"^{field} = "):
        mb.generate_cluster_jobs(**{"jobs": 3, "rng": 1, field: value})
