"""An audit that stays: random models at round numbers against computations that share no code with the library.

`populations`, `statistics` and `questions` make models as people write them: θ on a bound, on a threshold, at 0, ½ and 1,
bounds that meet the support, n from 1. `laws`, `means`, `ranks` and `oracle` compute the same p(y | θ) from SciPy's
distribution functions alone, `scores` its Fisher information by numeric differences. `verdict` asks the library and says
whether an answer is right, wrong, silently approximate, refused or slow.

    python -m tests.audit --models 200 --seed 1
    python -m tests.audit --models 2000 --seed 1 2 3 --workers 16 --seconds 540 --save audit.jsonl --report audit.txt

The second stops after nine minutes; asked again, it goes on where it was. A process that dies is a complaint (`crew`), and
each complaint says how its question is asked again, alone (`--seed 1 --number 17`).

What `optimize` finds for the forty populations of `choices` is held against plain channels that people write by hand:
`brute_force` computes their information, `optimum` judges the winner.

    python -m tests.audit --optimize Cauchy Pareto --save table.csv
    python -m tests.audit --optimize --cases 20 --seed 1 --workers 2
"""
