import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { EnvironmentError } from '../processes/environment-error.ts';
import { runCommand } from '../processes/processes.ts';
import type { RunRecord } from '../processes/run-record.ts';

const CHECK_WITHIN_MS = 20_000;
/** A program that fails if its Python is too old for MiniStack. It runs as MiniStack does, without PYTHONHOME (-I). */
const PROBE =
  'import sys; assert sys.version_info >= (3, 10); print("%d.%d.%d" % sys.version_info[:3], sys.executable)';
const NAMES = ['python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
const HOW_TO_INSTALL =
  'Install Python 3.10 or newer (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python3), or name one in the variable PYTHON.';

/** `env` is the caller's environment: PATH, PYTHON, and the user's PIP_ settings apply. */
export type InstallOptions = {
  record: RunRecord;
  env?: NodeJS.ProcessEnv;
  onProgress?: (step: string) => void;
  signal?: AbortSignal | undefined;
};

/** The command that runs MiniStack. */
export type MinistackCommand = { command: string; args: string[] };

/**
 * Installs MiniStack, as pinned in requirements.txt, once per Python version and set of requirements.
 * @throws EnvironmentError when Python is missing, too old or without venv, or when pip cannot install
 */
export async function ensureMinistack(options: InstallOptions): Promise<MinistackCommand> {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const home = await ensureEnvironment({ name: 'ministack', requirements, what: 'the local cloud' }, options);
  return { command: interpreter(home), args: ['-I', '-m', 'ministack'] };
}

/**
 * Creates a virtual environment in its own folder of the cache directory. Its modules are compiled when they are used.
 * @param environment `requirements`: the file of pinned packages with hashes; `what`: its name in error messages
 * @returns its directory, whose interpreter is `bin/python`
 */
export async function ensureEnvironment(
  environment: Record<'name' | 'requirements' | 'what', string>,
  options: InstallOptions,
): Promise<string> {
  const { record, onProgress, env = process.env } = options;
  const { path, version } = await findPython(env);
  const requirements = await readFile(environment.requirements);
  const key = createHash('sha256').update(requirements).update(`${path} ${version}`).digest('hex').slice(0, 16);
  const home = join(record.cacheDir, `${environment.name}-${key}`);
  if (existsSync(interpreter(home))) return home;
  await rm(home, { recursive: true, force: true });
  onProgress?.(`Installing the environment once, with Python ${version}`);
  const building = join(record.workDir, 'python');
  await python3('venv', path, ['venv', building], options, [
    `Python ${version} (${path}) could not make a virtual environment`,
    'Install its venv module (Debian, Ubuntu: apt install python3-venv), or name another Python in the variable PYTHON',
  ]);
  const install = ['pip', 'install', '--require-hashes', '--no-input', '-r', resolve(environment.requirements)];
  await python3('pip', interpreter(building), [...install, '--no-compile'], options, [
    `pip could not install ${environment.what}`,
    'Check the network, the disk and the settings of pip (pip config list), then start again',
  ]);
  // The rename is one step, so of two concurrent starts the first wins. The environment can be moved because only its
  // interpreter is used, never its scripts, whose first lines contain absolute paths.
  await rename(building, home).catch((error: unknown) => {
    if (!existsSync(interpreter(home))) throw error;
  });
  return home;
}

/** Runs a module of Python. @throws EnvironmentError with the error lines of the module, and the remedy */
async function python3(
  name: string,
  command: string,
  module: string[],
  { record, env = process.env, signal }: InstallOptions,
  [problem, remedy]: [string, string],
): Promise<void> {
  const args = ['-I', '-m', ...module];
  const { code, lines, logFile } = await runCommand({ name, command, args, env, record, signal });
  if (code === 0) return;
  const errors = lines.flatMap((line) => /^ERROR: (.+?)\.?$/.exec(line)?.[1] ?? []);
  throw new EnvironmentError(`${[problem, ...errors].join(': ')}. ${remedy}.`, { logFile });
}

function interpreter(home: string): string {
  return join(home, 'bin', 'python');
}

/**
 * Finds a Python that is new enough for MiniStack: that of the variable PYTHON, else the first of the usual names in
 * PATH.
 * @throws EnvironmentError when there is none
 */
async function findPython(env: NodeJS.ProcessEnv): Promise<{ path: string; version: string }> {
  const named = env.PYTHON;
  for (const name of named ? [named] : NAMES) {
    const limits = { env, extendEnv: false, timeout: CHECK_WITHIN_MS, reject: false } as const;
    const { stdout = '' } = await execa(name, ['-I', '-c', PROBE], limits);
    const [, version, path] = /^(\S+) (.+)/.exec(stdout) ?? [];
    if (version && path) return { path, version };
  }
  const missing = named
    ? `The variable PYTHON names ${named}, which does not run as Python 3.10 or newer.`
    : 'No Python 3.10 or newer was found, and the local cloud needs one.';
  throw new EnvironmentError(`${missing} ${HOW_TO_INSTALL}`);
}
