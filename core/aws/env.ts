import { readFileSync } from 'node:fs';
import type { Deployment } from '../config/deployment.ts';
import { RunError } from '../errors.ts';

/** @throws RunError `ConfigInvalid` naming every variable that is missing */
export function readEnv<N extends string>(env: NodeJS.ProcessEnv, ...names: N[]): Record<N, string> {
  const missing = names.filter((name) => !env[name]);
  if (missing.length > 0) {
    const what = `The function's environment lacks ${missing.join(', ')}: deploy the stack again.`;
    throw new RunError('ConfigInvalid', what);
  }
  return Object.fromEntries(names.map((name) => [name, env[name]])) as Record<N, string>;
}

/** The configuration that is bundled with the code. It is not checked again: the schema is too large. */
export function readDeployment(file: string | URL): Deployment {
  return JSON.parse(readFileSync(file, 'utf8'));
}
