"""Hindsight: finished tasks reviewed, rules distilled from episodes, lessons kept as strong as what they rest on."""
