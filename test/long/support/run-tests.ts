import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PROJECT } from '../../support/project.ts';

/** Runs test files of these projects, by default all, with these variables. @returns the output if a test fails; else '' */
export async function runTests(
  projects: string[],
  files: string[],
  variables: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<{ red: string; tests: number }> {
  // Vitest marks its child processes as its workers by variables.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_OPTIONS|NODE_ENV)/.test(name));
  const env = { ...Object.fromEntries(own), NO_COLOR: '1', ...variables };
  const chosen = projects.flatMap((name) => ['--project', name]);
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...chosen, ...files];
  const ran = promisify(execFile)(process.execPath, args, { cwd: PROJECT, env, maxBuffer: 1 << 28, signal });
  const red = (error: { stdout?: string }) => ({ red: error.stdout || String(error), tests: 0 });
  return ran.then(({ stdout }) => ({ red: '', tests: Number(/Tests +(\d+) passed/.exec(stdout)?.[1]) }), red);
}
