"""Figure 12 of Nagarajan et al. 2013 (FlowFlex), at its smallest."""

from malleable.papers import flowflex, reproduce


def test_figure_12(monkeypatch):
    monkeypatch.setattr(flowflex, "FLOWS", 4)
    figure = reproduce("flowflex-fig12", 1, seed=2)
    shown = figure.as_dict()
    assert shown["complete"]
    gain = {row["metric"]: row for row in shown["panels"]["all at once"]}
    assert gain["average stretch"]["fifo"]["mean"] > 0
    assert set(gain) == {metric for metric, _, _ in flowflex.METRICS}
    assert (len(figure.panels), len(figure.claims)) == (2, 16)
