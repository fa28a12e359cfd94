"""The model of one record: `Population`."""

from confide.population.population import Population as Population
