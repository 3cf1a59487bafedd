"""Finding what answers: embedding and admission, pure where they can be."""
