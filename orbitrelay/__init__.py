"""OrbitRelay's analysis: completeness of handoffs between agents, from a trace document, with nothing but the standard library."""
