import { readFileSync } from 'node:fs';

/** The release of this checkout. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
