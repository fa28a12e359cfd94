"""The paper, reproduced and corrected: *Statistic Selection and MCMC for Differentially Private Bayesian Estimation*.

A function per example and section does the experiment again, from the library's public verbs, and returns a `Result`:
claims checked, figures, tables, and a verdict. `reproduce` runs them and writes a page; so does `confide reproduce`.
Nothing else in Confide imports this package.
"""

from confide.paper.batches import batches
from confide.paper.bits import example_4
from confide.paper.examples import example_1, example_2, example_3
from confide.paper.gaussian_noise import section_5_1
from confide.paper.laplace_noise import section_5_2
from confide.paper.mixing import section_5_3
from confide.paper.order_statistics import section_5_4
from confide.paper.pilot_release import section_5_6
from confide.paper.result import Check, Effect, Result
from confide.paper.running import EXPERIMENTS, reproduce
from confide.paper.sequential import section_5_5

__all__ = [
    "EXPERIMENTS",
    "Check",
    "Effect",
    "Result",
    "batches",
    "example_1",
    "example_2",
    "example_3",
    "example_4",
    "reproduce",
    "section_5_1",
    "section_5_2",
    "section_5_3",
    "section_5_4",
    "section_5_5",
    "section_5_6",
]
