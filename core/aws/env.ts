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

/** @throws RunError `ConfigInvalid` */
export function bucketAddress(env: NodeJS.ProcessEnv): { bucket: string; region: string; urlSuffix: string } {
  const { BUCKET_NAME, AWS_REGION, URL_SUFFIX } = readEnv(env, 'BUCKET_NAME', 'AWS_REGION', 'URL_SUFFIX');
  return { bucket: BUCKET_NAME, region: AWS_REGION, urlSuffix: URL_SUFFIX };
}

/** The configuration that is bundled with the code. It is not checked again: the schema is too large. */
export function readDeployment(file: string | URL): Deployment {
  return JSON.parse(readFileSync(file, 'utf8'));
}
