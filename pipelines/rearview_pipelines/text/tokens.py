"""A conservative count of tokens that needs no tokenizer: the contract's formula."""

from rearview_pipelines.text.language import is_cjk

CHARACTERS_A_TOKEN = 4


def count_tokens(text: str) -> int:
    """One for each CJK character, one for each four other characters begun."""
    cjk = sum(1 for char in text if is_cjk(char))
    others = len(text) - cjk
    return cjk + -(-others // CHARACTERS_A_TOKEN)
