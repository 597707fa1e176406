import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const WITHIN_MS = 300_000;
const run = promisify(execFile);

/** What actionlint finds in the workflows, a line each. It is built from the Go module proxy; `undefined` without Go. */
export async function lintWorkflows(): Promise<string[] | undefined> {
  try {
    await run('go', ['run', ACTIONLINT, '-no-color', '-oneline'], { timeout: WITHIN_MS });
    return [];
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: string | number; stdout?: string; stderr?: string };
    if (code === 'ENOENT') return undefined;
    return `${stdout}${stderr}`.trim().split('\n');
  }
}
