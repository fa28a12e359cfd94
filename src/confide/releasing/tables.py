"""The tables of a ledger. Nothing is ever deleted from them."""

from __future__ import annotations

import sqlalchemy as sa

#: the version of the tables; a ledger of another version is refused
VERSION = 1

metadata = sa.MetaData()
about = sa.Table(
    "confide_ledger",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("identity", sa.String(64), nullable=False),
)
datasets = sa.Table(
    "confide_datasets",
    metadata,
    sa.Column("name", sa.String(1000), primary_key=True),
    sa.Column("budget", sa.Text, nullable=False),
    sa.Column("opened", sa.String(40), nullable=False),
)
releases = sa.Table(
    "confide_releases",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("dataset", sa.String(1000), sa.ForeignKey(datasets.c.name), nullable=False, index=True),
    sa.Column("request", sa.String(64), nullable=False, index=True),
    sa.Column("guarantee", sa.Text, nullable=False),
    sa.Column("part", sa.Text),
    sa.Column("source", sa.String(64)),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("made", sa.String(40), nullable=False),
)
chunks = sa.Table(
    "confide_chunks",
    metadata,
    sa.Column("release", sa.Integer, sa.ForeignKey(releases.c.id), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
