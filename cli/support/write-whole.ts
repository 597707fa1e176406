import { rmSync, writeFileSync } from 'node:fs';
import { CommandError, ENVIRONMENT, USAGE } from './exit.ts';

/**
 * Writes a file whole or not at all.
 * @param place puts the finished file, which has another name until then, where it belongs
 * @throws CommandError, also where `place` says that there is one already
 */
export function writeWhole(file: string, text: string, place: (finished: string) => void): void {
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(unfinished, text, { flag: 'wx' });
    place(unfinished);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') throw new CommandError(`${file} exists, and is never overwritten.`, USAGE, { cause: error });
    throw new CommandError(`${file} could not be written (${code}).`, ENVIRONMENT, { cause: error });
  } finally {
    rmSync(unfinished, { force: true });
  }
}
