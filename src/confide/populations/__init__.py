"""Populations with everything in closed form, each a function that returns a `confide.Population`.

=================== =============================== ==============================================================
function            parameters                      a record
=================== =============================== ==============================================================
`normal_mean`       mean                            N(mean, variance), the variance known
`normal_variance`   variance                        N(mean, variance), the mean known
`normal`            mean, variance                  N(mean, variance)
`lognormal`         loc, scale                      exp of N(loc, scale²)
`laplace`           loc, scale                      density e^{−|x − loc|/scale} / (2 scale)
`uniform_width`     width                           uniform on (−width, width)
`exponential`       rate                            density rate·e^{−rate·x}
`gamma`             concentration, rate             density ∝ x^{concentration − 1} e^{−rate·x}
`beta`              concentration1, concentration0  density ∝ x^{concentration1 − 1} (1 − x)^{concentration0 − 1}
`bernoulli`         probability                     1 with this probability, else 0
`poisson`           rate                            a count with this mean
`negative_binomial` mean                            a count with variance mean + mean²/concentration, that one known
`categorical`       probabilities                   a code 0, …, k − 1
=================== =============================== ==============================================================

`independent(age=…, cost=…)` makes rows of such columns, `linear_regression("y", ["x"])` and
`logistic_regression("y", ["x"])` rows of an outcome and covariates, `with_missing(rows, "cost", 0.0)` those of which a
share lacks a value.

Two calls with the same arguments return equal populations, so that compiled functions are shared.
"""

from confide.populations.continuous import beta as beta
from confide.populations.continuous import exponential as exponential
from confide.populations.continuous import gamma as gamma
from confide.populations.continuous import laplace as laplace
from confide.populations.continuous import uniform_width as uniform_width
from confide.populations.discrete import bernoulli as bernoulli
from confide.populations.discrete import categorical as categorical
from confide.populations.discrete import poisson as poisson
from confide.populations.gaussian import lognormal as lognormal
from confide.populations.gaussian import normal as normal
from confide.populations.gaussian import normal_mean as normal_mean
from confide.populations.gaussian import normal_variance as normal_variance
from confide.populations.overdispersed import negative_binomial as negative_binomial
from confide.populations.regression import linear_regression as linear_regression
from confide.populations.regression import logistic_regression as logistic_regression
from confide.populations.tables import independent as independent
from confide.populations.tables import with_missing as with_missing
