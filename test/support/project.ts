import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { tree } from '../lib/support/files.ts';

export const PROJECT = join(import.meta.dirname, '..', '..');
export const NODE_BIN = join(PROJECT, 'node_modules', '.bin');
/** The project's own cache, so that MiniStack is installed once. */
export const CACHE = join(PROJECT, '.cache');

/** A directory that is removed when the test ends. */
export async function tempDir(): Promise<string> {
  return tree({});
}

/** A file that is removed when the test ends. @returns its path */
export function tempFile(content: string | Uint8Array, name: string): string {
  return join(tree({ [name]: content }), name);
}

/** A record that is closed, with all its processes, when the test ends. */
export async function tempRecord(cacheDir?: string): Promise<RunRecord> {
  const record = await openRunRecord(cacheDir ?? (await tempDir()));
  onTestFinished(() => record.close());
  return record;
}

export async function script(file: string, body: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

/** Every running process except zombies: in a container, they may stay forever. */
export function runningProcesses() {
  const text = execFileSync('ps', ['-axo', 'pid=,ppid=,pgid=,stat=,args='], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, command = ''] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+[^Z\s]\S*\s+(.*)$/.exec(line) ?? [];
    return pid ? [{ pid: Number(pid), parent: Number(parent), group: Number(group), command }] : [];
  });
}

export function isAlive(pid: number): boolean {
  return runningProcesses().some((process) => process.pid === pid);
}

/** Only guards against hanging: a machine that is ten times slower needs less. */
export const LONGEST_WAIT_MS = 50_000;

/** Waits for a value or a condition that is about to come. @throws Error if it does not come for a long time */
export async function eventually<T>(
  look: () => T | Promise<T>,
  { everyMs = 25, withinMs = LONGEST_WAIT_MS } = {},
): Promise<NonNullable<T>> {
  let found: T | undefined;
  const holds = async () => {
    found = await look();
    return Boolean(found);
  };
  if ((await waitUntil(holds, { withinMs, everyMs })) && found) return found;
  throw new Error(`Not within ${withinMs / 1000} seconds: ${look}`);
}
