"""Run alerts: detect, compare with what is known, write the change points and group them into changes.

``run`` is the entry and lists the stages; ``run_plan`` and ``alert_job`` plan, ``comparison`` compares with the last
run, ``persistence`` writes change points and sums up the run.
"""
