import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { EnvironmentError } from '../processes/environment-error.ts';

const run = promisify(execFile);

/** The oldest Python that MiniStack runs on. */
const OLDEST = '3.10';
const USUAL_NAMES = ['python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
const PROBE = 'import sys; print("%d.%d.%d" % sys.version_info[:3]); print(sys.executable)';
const PROBE_WITHIN_MS = 20_000;
const HOW_TO_INSTALL =
  'Install Python 3.10 or newer (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python3), or name one in the variable PYTHON.';

/** A Python interpreter: absolute path and version, such as 3.11.7. */
export type Python = { path: string; version: string };

/**
 * Finds a Python that is new enough for MiniStack: that of the variable PYTHON, else the first of the usual names in PATH.
 * @throws EnvironmentError when there is none
 */
export async function findPython(env: NodeJS.ProcessEnv): Promise<Python> {
  const names = env.PYTHON ? [env.PYTHON] : USUAL_NAMES;
  const tooOld: Python[] = [];
  for (const name of names) {
    const python = await probe(name, env);
    if (python === undefined) continue;
    if (python.version.localeCompare(OLDEST, 'en', { numeric: true }) >= 0) return python;
    tooOld.push(python);
  }
  throw new EnvironmentError(explain(env.PYTHON, tooOld[0]));
}

async function probe(name: string, env: NodeJS.ProcessEnv): Promise<Python | undefined> {
  try {
    const { stdout } = await run(name, ['-c', PROBE], { env, timeout: PROBE_WITHIN_MS });
    const [version, path] = stdout.trim().split(/\r?\n/);
    return version && path ? { path, version } : undefined;
  } catch {
    return undefined; // not there, or not a Python that works
  }
}

function explain(named: string | undefined, tooOld: Python | undefined): string {
  if (tooOld) return `Python ${tooOld.version} (${tooOld.path}) is too old for the local cloud. ${HOW_TO_INSTALL}`;
  if (named) return `The variable PYTHON names ${named}, which does not run as Python. ${HOW_TO_INSTALL}`;
  return `No Python was found, and the local cloud needs one. ${HOW_TO_INSTALL}`;
}
