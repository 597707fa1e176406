import { readFileSync } from 'node:fs';
import { RunError } from '../errors.ts';
import type { Deployment } from './deployment.ts';

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
 * The bucket, and where it is.
 * @throws RunError `ConfigInvalid`
 */
export function bucketPlace(env: NodeJS.ProcessEnv): { bucket: string; region: string; urlSuffix: string } {
  const { BUCKET_NAME, AWS_REGION, URL_SUFFIX } = readEnv(env, 'BUCKET_NAME', 'AWS_REGION', 'URL_SUFFIX');
  return { bucket: BUCKET_NAME, region: AWS_REGION, urlSuffix: URL_SUFFIX };
}

/**
 * The configuration that is bundled with the code. Not checked again: synth did that with the schema of this same
 * release, and the schema is too large for a function.
 */
export function readDeployment(file: string | URL): Deployment {
  return JSON.parse(readFileSync(file, 'utf8'));
}
