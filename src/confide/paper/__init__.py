"""The paper, reproduced and corrected: *Statistic Selection and MCMC for Differentially Private Bayesian Estimation*.

A function per example and section does the experiment again, from the library's public verbs, and returns a `Result`:
claims checked, figures, tables, and a verdict. `reproduce` runs them and writes a page; so does `confide reproduce`.
Nothing else in Confide imports this package.
"""

from confide.paper.example_4 import example_4
from confide.paper.examples import example_1, example_2, example_3
from confide.paper.result import Check, Effect, Result
from confide.paper.running import EXPERIMENTS, reproduce
from confide.paper.section_5_1 import section_5_1
from confide.paper.section_5_2 import section_5_2
from confide.paper.section_5_3 import section_5_3
from confide.paper.section_5_4 import section_5_4
from confide.paper.section_5_5 import section_5_5
from confide.paper.section_5_6 import section_5_6

__all__ = [
    "EXPERIMENTS",
    "Check",
    "Effect",
    "Result",
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
