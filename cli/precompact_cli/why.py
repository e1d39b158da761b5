"""`why`: what was decided about a session and for which reason."""

from __future__ import annotations

import sys

from precompact_cli.exits import Exit, print_json
from precompact_cli.sentences import sum_up, tell, tell_candidate, tell_job
from precompact_cli.service_records import Records


def run_why(session: str, *, url: str, key: str, last: int, as_json: bool) -> Exit:
    """Prints the last decisions, newest first, and the jobs and candidates there are."""
    with Records(url, key, session) as records:
        about = records.session()
        decisions, jobs, candidates = (records.listed(what) for what in ("decisions", "jobs", "candidates"))
    answer = sum_up([*decisions], about)
    if as_json:
        print_json(
            {
                "session": session,
                "answer": answer,
                "decisions": decisions[:last],
                "jobs": jobs,
                "candidates": candidates,
            }
        )
        return Exit.OK
    lines = [answer, "", "Decisions, newest first:", *(f"  {tell(one)}" for one in decisions[:last])]
    lines += ["", "Jobs:", *(f"  {tell_job(one)}" for one in jobs)] if jobs else ["", "No jobs yet."]
    lines += ["", "Candidates:", *(f"  {tell_candidate(one)}" for one in candidates)] if candidates else []
    sys.stdout.write("\n".join(lines) + "\n")
    return Exit.OK
