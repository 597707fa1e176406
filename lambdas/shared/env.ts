import { readFileSync } from 'node:fs';
import { type Deployment, deploymentSchema } from './deployment.ts';
import { RunError } from './errors.ts';

/**
 * The named variables of a function's environment.
 * @throws RunError `ConfigInvalid` naming every one that is missing, before any work is done.
 */
export function readEnv<N extends string>(env: NodeJS.ProcessEnv, ...names: N[]): Record<N, string> {
  const missing = names.filter((name) => !env[name]);
  if (missing.length > 0) {
    throw new RunError(
      'ConfigInvalid',
      `The function's environment lacks ${missing.join(', ')}: deploy the stack again.`,
    );
  }
  return Object.fromEntries(names.map((name) => [name, env[name]])) as Record<N, string>;
}

/**
 * The configuration that was bundled with the function's code (`lib/step-function.ts`).
 * @throws RunError `ConfigInvalid` naming the fields that do not hold.
 */
export function readDeployment(file: string | URL): Deployment {
  const parsed = deploymentSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join('.'));
  throw new RunError('ConfigInvalid', `The configuration bundled with the function is wrong at ${paths.join(', ')}.`);
}
