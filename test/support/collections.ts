import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { onTestFinished } from 'vitest';

/** Lets the garbage collector run ten times a second until the test ends: what nothing holds is gone at once. */
export function forceCollections(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const timer = setInterval(collect, 100);
  onTestFinished(() => clearInterval(timer));
}
