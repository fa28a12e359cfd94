"""The tables of a ledger. No entry is ever deleted from them.

Each row that says what was spent carries a *seal*, a keyed digest of all that is in it. An entry's seal covers that of
the entry before, and the data set's covers the last: a row that changed, went missing or came back from an older state
is noticed, and nothing is released from a ledger that does not agree with itself.
"""

from __future__ import annotations

import sqlalchemy as sa

#: the version of the tables; an older ledger is brought to it when it is opened
VERSION = 2

metadata = sa.MetaData()
about = sa.Table(
    "confide_ledger",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    # the public name of the ledger, and the key of its digests, which never leaves it
    sa.Column("identity", sa.String(64), nullable=False),
    sa.Column("secret", sa.String(64)),
)
datasets = sa.Table(
    "confide_datasets",
    metadata,
    sa.Column("name", sa.String(1000), primary_key=True),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("opened", sa.String(40), nullable=False),
    sa.Column("canonical", sa.String(1000), index=True),
    # how many releases there are, what they cost together, and the seal of the last
    sa.Column("count", sa.Integer),
    sa.Column("spent", sa.Text),
    sa.Column("head", sa.String(64)),
    sa.Column("seal", sa.String(64)),
)
releases = sa.Table(
    "confide_releases",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("dataset", sa.String(1000), sa.ForeignKey(datasets.c.name), nullable=False),
    sa.Column("request", sa.String(64), nullable=False),
    sa.Column("guarantee", sa.Text, nullable=False),
    sa.Column("part", sa.Text),
    sa.Column("source", sa.String(64)),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("made", sa.String(40), nullable=False),
    # its place among the releases of the data set: 1, 2, …
    sa.Column("position", sa.Integer),
    # a keyed digest of what was read; what decides who is in its part, and what the worst place of that was promised
    sa.Column("content", sa.String(64)),
    sa.Column("scheme", sa.String(64)),
    sa.Column("worst", sa.Text),
    # the seal of the release before, and its own
    sa.Column("previous", sa.String(64)),
    sa.Column("seal", sa.String(64)),
    sa.Index("confide_by_position", "dataset", "position"),
    sa.Index("confide_by_content", "request", "content", "position"),
    sa.Index("confide_by_scheme", "dataset", "scheme", "position"),
    sa.Index("confide_by_source", "source", "dataset"),
)
pieces = sa.Table(
    "confide_pieces",
    metadata,
    sa.Column("dataset", sa.String(1000), sa.ForeignKey(datasets.c.name), primary_key=True),
    sa.Column("scheme", sa.String(64), primary_key=True),
    sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("total", sa.Text, nullable=False),
    sa.Column("seal", sa.String(64), nullable=False),
)
chunks = sa.Table(
    "confide_chunks",
    metadata,
    sa.Column("release", sa.Integer, sa.ForeignKey(releases.c.id), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
