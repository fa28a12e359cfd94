# %% [markdown]
# # A table: several columns, texts, gaps and groups
#
# 344 penguins, as if they were patients: measurements, some of them missing, and texts. What is public is the number of
# rows, the bounds of each column, the lists of texts, and how many are female and male.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import confide as cf
from confide.datasets import penguins

folder = Path(tempfile.mkdtemp())
print(penguins().read_text()[:150])

# %% [markdown]
# ## Relations, not only means
#
# Three moments say how mass depends on flippers. One row moves all of them together by less than each by itself, and
# noise is calibrated to that.

# %%
bounds = {"flipper_length_mm": (170, 235), "body_mass_g": (2500, 6500)}
moments = cf.Mean(
    [
        "(flipper_length_mm - 200) / 30",
        "(body_mass_g - 4500) / 2000",
        "(flipper_length_mm - 200) / 30 * (body_mass_g - 4500) / 2000",
    ],
    bounds=bounds,
)
channel = cf.Channel(moments, cf.Gaussian(cf.ZCDP(0.5)), n=344)
print(channel)
widths = np.linalg.norm([high - low for low, high in moments.ranges])
print(f"one row moves the sums by {moments.sensitivity(1, norm=2):.2f}, and not by {widths:.2f}")
assert moments.sensitivity(1, norm=2) < widths

# %% [markdown]
# A budget, then the release. Two birds were not measured: a public number stands in for each column that may lack one.
# A cell that is no number never stops a release with an error that would tell of it, and never decides how another one
# is read.

# %%
book = cf.Ledger(folder / "budget.db")
book.open("penguins", budget=cf.ZCDP(2.0))
gaps = {"flipper_length_mm": 200.0, "body_mass_g": 4000.0}
release = cf.release(channel, penguins(), ledger=book, dataset="penguins", missing=gaps, purpose="mass and flippers")
print(release)

# %% [markdown]
# Beside what is really in the file, which only the data holder may see:

# %%
table = pd.read_csv(penguins()).fillna(gaps)
flippers, mass = (table.flipper_length_mm - 200) / 30, (table.body_mass_g - 4500) / 2000
exact = np.array([flippers.mean(), mass.mean(), (flippers * mass).mean()])
print(exact.round(3), np.asarray(release.value).round(3))
assert np.all(np.abs(release.value - exact) < 6 * channel.law.noise.scale)

# %% [markdown]
# ## Texts
#
# A column of text has a public list. Its codes are used in expressions; any other text has the code after the last.
# Gentoo is not on this list, and counts as other: neither an error nor a way to learn what is in the file.

# %%
species = cf.Mean(
    ["species == 0", "species == 1", "species == 2"],
    categories={"species": ["Adelie", "Chinstrap"]},
)
shares = cf.release(cf.Channel(species, cf.Gaussian(cf.ZCDP(0.5)), n=344), penguins(), ledger=book, dataset="penguins")
for name, share in zip(["Adelie", "Chinstrap", "any other"], shares.value, strict=True):
    print(f"{name:10s} {share:.3f}")
assert abs(shares.value[2] - 124 / 344) < 0.06

# %% [markdown]
# ## Groups
#
# Sizes are public and nobody changes groups, so that each row pays for one of the two releases only.

# %%
by_mass = cf.Channel(cf.Mean("body_mass_g", bounds={"body_mass_g": (2500, 6500)}), cf.Gaussian(cf.ZCDP(0.5)), n=333)
groups = cf.release(
    by_mass,
    penguins(),
    by="sex",
    groups={"female": 165, "male": 168},
    ledger=book,
    dataset="penguins",
    missing={"body_mass_g": 4000.0},
)
for name, each in groups.items():
    print(f"{name:7s} {each.value:7.1f} g ± {each.channel.margin():.1f}")
plt.errorbar(
    list(groups), [each.value for each in groups.values()], [each.channel.margin() for each in groups.values()]
)
plt.ylabel("grams, ± 90% of the noise")
print(f"spent: {book.spent('penguins')}")
assert groups["female"].value < groups["male"].value
assert book.spent("penguins").rho == 1.5

# %% [markdown]
# ## Files and reports
#
# A file says all of this: columns, bounds, lists, the group, what stood in for gaps, and that one row is protected.

# %%
groups["male"].save(folder / "male.json")
print(cf.Release.load(folder / "male.json").part)
print(cf.verify(folder / "male.json", ledger=book))
cf.report(release, folder / "page.html")
assert "ONE ROW" in (folder / "page.html").read_text()
