"""Channels of every kind of plan, with the expressions that have been trouble."""

import confide as cf

#: a difference that is 0 in the reals and not in doubles: the joint sensitivity must not take the switch for constant
TRAP = cf.Channel(cf.Mean(["x", "1000*((x+1e10)-1e10 > x)"], (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=2)

CHANNELS = [
    cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100),
    TRAP,
    cf.Channel(cf.Mean(["x", "x**2"], (-3, 7)), cf.Gaussian(cf.ZCDP(0.5)), n=50),
    cf.Channel(cf.Mean(["x", "where((x+273.15)-273.15 > x, 1000, 0)"], (0, 50)), cf.Gaussian(cf.GDP(1.0)), n=20),
    cf.Channel(cf.Mean("where(x > 0.1, log1p(x), -x)", (-0.5, 1e6)), cf.Gaussian(cf.ApproxDP(1.0, 1e-6)), n=1000),
    cf.Channel(cf.Mean("interp(x, [0, 1, 3, 7], [0, 2, -1, 5])", (-1, 9)), cf.Laplace(cf.ZCDP(0.1)), n=30),
    cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.5), n=2),
    cf.Channel(cf.Mean("x >= 3", (0, 5)), cf.Gaussian(cf.ZCDP(0.5), step=0.25), n=12),
    cf.Channel(cf.Median("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), n=40),
    cf.Channel(cf.Median("x", (0, 10)), cf.SmoothCauchy(cf.PureDP(1.0)), n=40),
    cf.Channel(cf.Quantile("abs(x)", 0.8, (-5, 5)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-5)), n=40),
    cf.Channel(cf.Median("sqrt(x)", (0, 100)), cf.Exponential(cf.PureDP(1.0)), n=40),
    cf.Channel(cf.Maximum("x", (-1, 1)), cf.Exponential(cf.PureDP(0.5)), n=40),
    cf.Channel(cf.Minimum("x", (-1, 1)), cf.Gaussian(cf.ZCDP(0.5)), n=40),
    cf.Channel(cf.Each("clip(x, -1, 2)", (-3, 3)), cf.Laplace(cf.PureDP(2.0)), n=30),
    cf.Channel(cf.Each("x", (0, 8)), cf.Gaussian(cf.ZCDP(0.5), step=1.0), n=30),
    cf.Channel(cf.Each("x > 2", (0, 5)), cf.RandomizedResponse(cf.PureDP(1.0)), n=30),
    cf.Channel(cf.TrimmedMean("abs(x)", 0.1, (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=40),
    cf.Channel(cf.TrimmedMean("x", 0.25, (0, 8)), cf.Gaussian(cf.ZCDP(0.5), step=0.5), n=10),
    cf.Channel(cf.Each("x", (0, 4)), cf.RandomizedResponse(cf.PureDP(1.0)), n=30),
    cf.Channel(cf.Each("x", (0, 5)), cf.RandomizedResponse(cf.PureDP(1.0), columns=(2, 3)), n=30),
]
