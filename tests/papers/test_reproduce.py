"""Figures are named without importing their experiments; the names must be those the experiments have."""

from malleable.cli import reproduce_command
from malleable.papers import adaptive_figures, asrpt_figures, flowflex_figures, overlap_figures

EXPERIMENTS = {
    reproduce_command._adaptive: adaptive_figures.ADAPTIVE_FIGURES,
    reproduce_command._asrpt: asrpt_figures.FIGURES,
    reproduce_command._flowflex: flowflex_figures.FIGURES,
    reproduce_command._overlap: overlap_figures.FIGURES,
}


def test_names_are_those_of_the_experiments():
    for loader, names in EXPERIMENTS.items():
        offered = [name for name, used in reproduce_command.FIGURES.items() if used is loader]
        assert sorted(offered) == sorted(names)


def test_every_figure_loads():
    for name, loader in reproduce_command.FIGURES.items():
        assert callable(loader(name).run)
