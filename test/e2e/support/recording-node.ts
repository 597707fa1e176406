import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The folder in which this test run records the functions' calls, the same for all files. */
const CALLS_DIR = process.env.RECORDED_CALLS ?? join(import.meta.dirname, '../../../.cache/calls', String(process.pid));

/**
 * Creates a directory with a `node` that loads record-calls.ts before a function's code. So the functions' variables,
 * including NODE_OPTIONS, stay as in the template.
 */
export async function recordingNode(): Promise<string> {
  await forgetEarlierRuns();
  const dir = join(CALLS_DIR, randomUUID());
  await mkdir(dir, { recursive: true });
  const source = await readFile(join(import.meta.dirname, 'record-calls.ts'), 'utf8');
  const recorder = join(dir, 'record-calls.mjs');
  await writeFile(recorder, stripTypeScriptTypes(source));
  const node = join(dir, 'node');
  await writeFile(node, `#!/bin/sh\nexec '${process.execPath}' '--import=${pathToFileURL(recorder)}' "$@"\n`);
  await chmod(node, 0o755);
  return dir;
}

/** Removes the folders of earlier runs. vitest.config.ts names a run's folder after its process. */
async function forgetEarlierRuns(): Promise<void> {
  const all = dirname(CALLS_DIR);
  const runs = await readdir(all).catch(() => []);
  const over = runs.filter((name) => /^\d+$/.test(name) && !isAlive(Number(name)));
  await Promise.all(over.map((name) => rm(join(all, name), { recursive: true, force: true })));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
