"""Runs a script as often as it is told to, each time in a process of its own, and kills it at a line where that is wanted.

Reads lines of {"args": [...], "killAt": number or null}, and answers each with {"status", "said", "lines"}: the exit code (null: killed), what it
said at its end, and how many lines of it were run. What the script imports, and what its client knows of S3, is read once, before all of them.
"""

import json
import os
import signal
import sys
import traceback

import boto3
import duckdb  # noqa: F401

SCRIPT = "recipe"


def run(code, args, kill_at):
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != SCRIPT:
            return None
        if event == "line":
            lines += 1
            if lines == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    status, said = 0, ""
    sys.argv = [SCRIPT, *args]
    sys.settrace(trace)
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        status, said = (0, "") if end.code in (None, 0) else (1, str(end.code))
    except BaseException:
        status, said = 2, traceback.format_exc()
    sys.settrace(None)
    return {"status": status, "said": said, "lines": lines}


def answer(code, job):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, json.dumps(run(code, job["args"], job["killAt"])).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        told = said.read()
    os.waitpid(child, 0)
    return told or json.dumps({"status": None, "said": "", "lines": job["killAt"]})


with open(sys.argv[1], encoding="utf-8") as file:
    compiled = compile(file.read(), SCRIPT, "exec")
boto3.client("s3")
for line in sys.stdin:
    print(answer(compiled, json.loads(line)), flush=True)
