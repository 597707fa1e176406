import { readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { CommandError, USAGE } from '../support/exit.ts';

/**
 * Takes `FILE.part.lock`: one download at a time writes `FILE.part`.
 * @returns gives it back
 * @throws CommandError (exit code 2) where another has it; the error of the system where none can be made there
 */
export async function lockPart(partPath: string): Promise<() => Promise<void>> {
  const lock = `${partPath}.lock`;
  try {
    await writeFile(lock, `process ${process.pid} on ${hostname()}`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const held = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (held) throw new CommandError(await heldText(lock, partPath), USAGE, { cause: error });
    // On a full disk it is created empty.
    await rm(lock, { force: true });
    throw error;
  }
  return () => rm(lock, { force: true });
}

/** A lock whose process is dead stays: its machine may be another one, so only a person can tell. */
async function heldText(lock: string, partPath: string): Promise<string> {
  const text = await readFile(lock, 'utf8').catch(() => '');
  const holder = /^process \d+ on [\w.-]+$/.exec(text)?.[0] ?? 'another process';
  return `${partPath} is being written by ${holder}: wait for its end, or name another file with -o. If that process is dead, remove ${lock}, then start again.`;
}
