import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MIB = 1024 * 1024;
/** Larger ones are sparse: no speed depends on the content, and writing 16 GiB takes long. */
const LARGEST_WRITTEN = 1024;

/** Makes a file at the origin, once. @returns its name at both ends */
export function sourceFile(dir: string, mib: number): string {
  const name = `${mib}.csv`;
  const path = join(dir, 'files', 'bench', name);
  if (existsSync(path) && statSync(path).size === mib * MIB) return name;
  const file = openSync(path, 'w');
  const block = randomBytes(16 * MIB);
  writeSync(file, 'id,name\n');
  if (mib <= LARGEST_WRITTEN)
    for (let at = 8; at < mib * MIB; at += block.length) writeSync(file, block, 0, block.length, at);
  ftruncateSync(file, mib * MIB);
  closeSync(file);
  return name;
}
