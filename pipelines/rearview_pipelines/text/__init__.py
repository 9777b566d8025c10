"""Reading text without a model: terms, language, token counts."""
