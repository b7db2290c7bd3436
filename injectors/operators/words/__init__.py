"""The words that operators use, as pure data: synonyms, vocabularies, sentences."""
