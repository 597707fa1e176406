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
const USUAL_NAMES = ['python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
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
  const { also, env = process.env } = options;
  const home = await ensureEnvironment(MINISTACK, options);
  if (also !== undefined) await add(also, home, { ...options, env, what: MINISTACK.what });
  return { command: interpreter(home), args: ['-I', '-m', 'ministack'] };
}

/** Creates an environment from any requirements. @returns its directory, whose interpreter is `bin/python` */
export async function ensureEnvironment(environment: PythonEnvironment, options: InstallOptions): Promise<string> {
  const { record, onProgress, env = process.env } = options;
  const { name, requirements, modules } = environment;
  const python = await findPython(env);
  const key = await keyOf(requirements, `${python.path} ${python.version}`);
  const home = join(record.cacheDir, `${name}-${key}`);
  if (await works(home, modules)) return home;
  await rm(home, { recursive: true, force: true });
  onProgress?.(`Making a virtual environment with Python ${python.version}`);
  const building = join(record.workDir, 'python');
  await build(building, python, environment, { ...options, env, what: environment.what });
  await moveInto(home, building, modules);
  return home;
}

async function keyOf(requirements: string, more = ''): Promise<string> {
  const content = await readFile(requirements);
  return createHash('sha256').update(content).update(more).digest('hex').slice(0, 16);
}

/** Adds packages to a finished environment, once. Both files pin the same versions: a running MiniStack is safe. */
async function add(requirements: string, home: string, options: BuildOptions): Promise<void> {
  const note = join(home, `added-${await keyOf(requirements)}`);
  if (existsSync(note)) return;
  await pipInstall(requirements, home, options);
  await writeFile(note, '');
}

/**
 * Moves a finished environment into its place in one step: of two concurrent starts, the first wins. It can be moved
 * because only its interpreter is used, never its scripts, whose first lines contain absolute paths.
 */
async function moveInto(home: string, building: string, modules: string): Promise<void> {
  try {
    await rename(building, home);
  } catch (error) {
    if (!(await works(home, modules))) throw error;
    await rm(building, { recursive: true, force: true });
  }
}

async function works(home: string, modules: string): Promise<boolean> {
  const check = run(interpreter(home), ['-I', '-c', `import ${modules}`], { timeout: CHECK_WITHIN_MS });
  return check.then(Boolean, () => false);
}

type BuildOptions = InstallOptions & { env: NodeJS.ProcessEnv; what: string };

async function build(home: string, python: Python, { requirements }: PythonEnvironment, options: BuildOptions) {
  const { record, env, signal } = options;
  const logFile = join(record.workDir, 'python.log');
  const common = { env, cwd: record.workDir, logFile, record, signal };
  const venv = await runCommand({ ...common, name: 'venv', command: python.path, args: ['-m', 'venv', home] });
  if (venv.code !== 0) throw new EnvironmentError(explainVenv(python, venv.lines), { logFile });
  await pipInstall(requirements, home, options);
}

async function pipInstall(requirements: string, home: string, options: BuildOptions) {
  const { record, env, onProgress, signal, what } = options;
  const logFile = join(record.workDir, 'python.log');
  const pip = await runCommand({
    env,
    cwd: record.workDir,
    logFile,
    record,
    signal,
    name: 'pip',
    command: interpreter(home),
    args: ['-m', 'pip', 'install', '--require-hashes', '--no-input', '-r', requirements],
    onLine: (line) => {
      const wanted = /^Collecting (.+?)(?: \(from .*)?$/.exec(line)?.[1];
      if (wanted) onProgress?.(`Fetching ${wanted}`);
    },
  });
  if (pip.code !== 0) throw new EnvironmentError(explainPip(pip.lines, what), { logFile });
}

function explainVenv({ path, version }: Python, lines: string[]): string {
  const minor = version.split('.').slice(0, 2).join('.');
  const missing = lines.some((line) => /ensurepip is not|No module named '?(venv|ensurepip)/.test(line));
  return missing
    ? `Python ${version} (${path}) has no venv module. Install it (Debian, Ubuntu: apt install python${minor}-venv), or name another Python in the variable PYTHON.`
    : `Python ${version} (${path}) could not make a virtual environment. The log says why; the variable PYTHON can name another Python.`;
}

function explainPip(lines: string[], what: string): string {
  const says = (pattern: RegExp) => lines.some((line) => pattern.test(line));
  if (says(/DO NOT MATCH THE HASHES/)) {
    return 'The Python package index delivered a file other than the pinned one, so nothing was installed. Check the index or proxy that pip uses (pip config list), then start again.';
  }
  if (says(/No space left on device/)) {
    return `The disk is full, so ${what} could not be installed. Free about 200 MB and start again.`;
  }
  if (says(/connection|Max retries|timed? ?out|ProxyError|SSLError|CERTIFICATE|name resolution/i)) {
    return `The Python package index could not be reached, and ${what} must be fetched once. Check the network or pip’s settings (PIP_INDEX_URL, PIP_PROXY, PIP_CERT), then start again.`;
  }
  if (says(/No matching distribution found/)) {
    return 'The Python package index that pip uses does not have one of the pinned packages, or does not answer. Check which index that is (pip config list), then start again.';
  }
  return `pip could not install ${what}. The log says why; start again once that is mended.`;
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
    const { stdout } = await run(name, ['-c', PROBE], { env, timeout: CHECK_WITHIN_MS });
    const [version, path] = stdout.trim().split(/\r?\n/);
    return version && path ? { path, version } : undefined;
  } catch {
    return undefined; // missing, or not a working Python
  }
}

function explain(named: string | undefined, tooOld: Python | undefined): string {
  if (tooOld) return `Python ${tooOld.version} (${tooOld.path}) is too old for the local cloud. ${HOW_TO_INSTALL}`;
  if (named) return `The variable PYTHON names ${named}, which does not run as Python. ${HOW_TO_INSTALL}`;
  return `No Python was found, and the local cloud needs one. ${HOW_TO_INSTALL}`;
}
