"""[code]: which code of a kernel leaves RAM, and on which pages it lies. The planners are here."""

from tautochrone.plan.code.section import document, from_table, header, rule_broken, told

__all__ = ["document", "from_table", "header", "rule_broken", "told"]
