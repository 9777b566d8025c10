"""Weights that are off unless the caller asks: constant recency costs quality (measured). Pure."""

from datetime import datetime

RECENCY_HALF_LIFE_DAYS = 30.0


def age_days(moment: datetime, now: datetime) -> float:
    """Days since `moment`; the future counts as now."""
    return max((now - moment).total_seconds() / 86_400, 0.0)


def recency(age: float) -> float:
    """2^(-age / half-life): 1 for now, ½ after 30 days."""
    return float(2 ** (-age / RECENCY_HALF_LIFE_DAYS))
