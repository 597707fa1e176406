import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EnvironmentError } from '../processes/environment-error.ts';
import { runCommand } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';

const MINISTACK: PythonEnvironment = {
  name: 'ministack',
  requirements: join(import.meta.dirname, 'requirements.txt'),
  modules: 'ministack, hypercorn, botocore, yaml',
  what: 'the local cloud',
};
const CHECK_WITHIN_MS = 20_000;
const run = promisify(execFile);
/** The oldest Python version that MiniStack supports. */
const OLDEST = '3.10';
const PROBE = 'import sys; print("%d.%d.%d" % sys.version_info[:3]); print(sys.executable)';
const HOW_TO_INSTALL =
  'Install Python 3.10 or newer (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python3), or name one in the variable PYTHON.';

/** A Python interpreter: absolute path and version, such as 3.11.7. */
type Python = { path: string; version: string };

/** `env` is the caller's environment: PATH, PYTHON, and the user's PIP_ settings apply. */
export type InstallOptions = {
  record: RunRecord;
  env?: NodeJS.ProcessEnv;
  /** A file of additional requirements for tests, which `npm start` never installs. */
  also?: string;
  /** Receives one short phrase per step. */
  onProgress?: ((step: string) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** A virtual environment in its own folder of the cache directory. */
export type PythonEnvironment = {
  name: string;
  /** The requirements file: pinned packages with hashes. */
  requirements: string;
  /** Modules to import as a test that the environment is complete, as in a Python import. */
  modules: string;
  /** The name of the environment in error messages: `the local cloud`. */
  what: string;
};

/** The command that runs MiniStack. */
export type MinistackCommand = { command: string; args: string[] };

/**
 * Installs MiniStack, as pinned in requirements.txt, once per Python version and set of requirements.
 * @throws EnvironmentError when Python is missing, too old or without venv, or when pip cannot install
 */
export async function ensureMinistack(options: InstallOptions): Promise<MinistackCommand> {
  const { also } = options;
  const home = await ensureEnvironment(MINISTACK, options);
  // Both files pin the same versions: a running MiniStack is safe.
  const note = also && join(home, `added-${digestOf(await readFile(also))}`);
  if (also && note && !existsSync(note)) {
    await pipInstall(home, { ...MINISTACK, requirements: also }, options);
    await writeFile(note, '');
  }
  return { command: interpreter(home), args: ['-I', '-m', 'ministack'] };
}

/** Creates an environment from any requirements. @returns its directory, whose interpreter is `bin/python` */
export async function ensureEnvironment(environment: PythonEnvironment, options: InstallOptions): Promise<string> {
  const { record, onProgress, env = process.env } = options;
  const python = await findPython(env);
  const key = digestOf(await readFile(environment.requirements), `${python.path} ${python.version}`);
  const home = join(record.cacheDir, `${environment.name}-${key}`);
  if (await works(home, environment)) return home;
  await rm(home, { recursive: true, force: true });
  onProgress?.(`Making a virtual environment with Python ${python.version}`);
  const building = join(record.workDir, 'python');
  const venv = await python3('venv', python.path, ['-m', 'venv', building], options);
  if (venv.code !== 0) throw new EnvironmentError(explainVenv(python, venv.lines), venv);
  await pipInstall(building, environment, options);
  try {
    // In one step: of two concurrent starts, the first wins. The environment can be moved because only its interpreter
    // is used, never its scripts, whose first lines contain absolute paths.
    await rename(building, home);
  } catch (error) {
    if (!(await works(home, environment))) throw error;
  }
  return home;
}

function digestOf(content: Uint8Array, more = ''): string {
  return createHash('sha256').update(content).update(more).digest('hex').slice(0, 16);
}

async function works(home: string, { modules }: PythonEnvironment): Promise<boolean> {
  const check = run(interpreter(home), ['-I', '-c', `import ${modules}`], { timeout: CHECK_WITHIN_MS });
  return check.then(Boolean, () => false);
}

async function pipInstall(home: string, { requirements, what }: PythonEnvironment, options: InstallOptions) {
  const args = ['-m', 'pip', 'install', '--require-hashes', '--no-input', '-r', requirements];
  const pip = await python3('pip', interpreter(home), args, options);
  if (pip.code !== 0) throw new EnvironmentError(explainPip(pip.lines, what), pip);
}

async function python3(name: string, command: string, args: string[], options: InstallOptions) {
  const { record, env = process.env, signal, onProgress } = options;
  const logFile = join(record.workDir, 'python.log');
  const onLine = (line: string) => {
    const wanted = /^Collecting (.+?)(?: \(from .*)?$/.exec(line)?.[1];
    if (wanted) onProgress?.(`Fetching ${wanted}`);
  };
  const ended = await runCommand({ name, command, args, env, cwd: record.workDir, logFile, record, signal, onLine });
  return { ...ended, logFile };
}

function explainVenv({ path, version }: Python, lines: string[]): string {
  const minor = version.split('.').slice(0, 2).join('.');
  const missing = lines.some((line) => /ensurepip is not|No module named '?(venv|ensurepip)/.test(line));
  return missing
    ? `Python ${version} (${path}) has no venv module. Install it (Debian, Ubuntu: apt install python${minor}-venv), or name another Python in the variable PYTHON.`
    : `Python ${version} (${path}) could not make a virtual environment. The log says why; the variable PYTHON can name another Python.`;
}

/** What pip prints, and what the user can do. The first match applies. */
const PIP_FAILURES: [RegExp, (what: string) => string][] = [
  [
    /DO NOT MATCH THE HASHES/,
    () =>
      'The Python package index delivered a file other than the pinned one, so nothing was installed. Check the index or proxy that pip uses (pip config list), then start again.',
  ],
  [
    /No space left on device/,
    (what) => `The disk is full, so ${what} could not be installed. Free about 200 MB and start again.`,
  ],
  [
    /connection|Max retries|timed? ?out|ProxyError|SSLError|CERTIFICATE|name resolution/i,
    (what) =>
      `The Python package index could not be reached, and ${what} must be fetched once. Check the network or pip’s settings (PIP_INDEX_URL, PIP_PROXY, PIP_CERT), then start again.`,
  ],
  [
    /No matching distribution found/,
    () =>
      'The Python package index that pip uses does not have one of the pinned packages, or does not answer. Check which index that is (pip config list), then start again.',
  ],
];

function explainPip(lines: string[], what: string): string {
  const [, explain] = PIP_FAILURES.find(([pattern]) => lines.some((line) => pattern.test(line))) ?? [];
  return explain?.(what) ?? `pip could not install ${what}. The log says why; fix that, then start again.`;
}

function interpreter(home: string): string {
  return join(home, 'bin', 'python');
}

/**
 * Finds a Python that is new enough for MiniStack: that of the variable PYTHON, else the first of the usual names in
 * PATH.
 * @throws EnvironmentError when there is none
 */
async function findPython(env: NodeJS.ProcessEnv): Promise<Python> {
  const named = env.PYTHON;
  const tooOld: Python[] = [];
  for (const name of named ? [named] : ['python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'python3.10']) {
    const answer = await run(name, ['-c', PROBE], { env, timeout: CHECK_WITHIN_MS }).catch(() => ({ stdout: '' }));
    const [version, path] = answer.stdout.trim().split(/\r?\n/);
    if (!version || !path) continue; // missing, or not a working Python
    if (version.localeCompare(OLDEST, 'en', { numeric: true }) >= 0) return { path, version };
    tooOld.push({ path, version });
  }
  const [old] = tooOld;
  if (old)
    throw new EnvironmentError(`Python ${old.version} (${old.path}) is too old for the local cloud. ${HOW_TO_INSTALL}`);
  throw new EnvironmentError(
    named
      ? `The variable PYTHON names ${named}, which does not run as Python. ${HOW_TO_INSTALL}`
      : `No Python was found, and the local cloud needs one. ${HOW_TO_INSTALL}`,
  );
}
