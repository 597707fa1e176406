import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The context of `cdk.json`, which the CDK CLI gives to every app: without it the library behaves as in older releases. */
export function appContext(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'cdk.json'), 'utf8')).context;
}
