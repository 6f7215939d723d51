"""`make run`: a recorded multi-agent session played into a collector of its own, to see what comes out.

The recording is of a Strands Agents swarm (planner, researcher, engineer, reviewer; OTLP JSON, one request a line).
"""
