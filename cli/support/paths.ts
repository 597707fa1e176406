import { resolve } from 'node:path';

const PACKAGE = resolve(import.meta.dirname, '../..');

/** A path from where the person is: npm runs scripts in the package, and says in INIT_CWD where it was called. */
export function pathArgument(path: string): string {
  const here = process.cwd() === PACKAGE ? process.env.INIT_CWD : undefined;
  return resolve(here ?? process.cwd(), path);
}

/** The same for an output, where `-` is standard output. */
export function outputArgument(path: string): string {
  return path === '-' ? path : pathArgument(path);
}
