"""Contracts: which fields each role must be handed, as files under review."""

from collector.contracts.loader import ContractError, Problem, load
from collector.contracts.model import (
    IN_BAND_ATTRIBUTE,
    NO_CONTRACT,
    ContractBook,
    Requirement,
    ResolvedContract,
    Rule,
    resolved,
)
from collector.contracts.names import role_of_name, snake_case

__all__ = [
    "IN_BAND_ATTRIBUTE",
    "NO_CONTRACT",
    "ContractBook",
    "ContractError",
    "Problem",
    "Requirement",
    "ResolvedContract",
    "Rule",
    "load",
    "resolved",
    "role_of_name",
    "snake_case",
]
