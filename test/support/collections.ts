import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { onTestFinished } from 'vitest';

/**
 * Runs the garbage collector repeatedly until the test ends, three times before a limit of 1.5 s, so that unreferenced
 * objects are gone. Each run takes a tenth of a second with the SDK and CDK loaded.
 */
export function forceCollections(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const timer = setInterval(collect, 400);
  onTestFinished(() => clearInterval(timer));
}
