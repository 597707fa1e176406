import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { onTestFinished } from 'vitest';

/**
 * Lets the garbage collector run until the test ends, three times before a limit of 1.5 s: what nothing holds is gone. Each
 * time takes a tenth of a second where the SDK and CDK are loaded.
 */
export function forceCollections(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const timer = setInterval(collect, 400);
  onTestFinished(() => clearInterval(timer));
}
