import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The context of `cdk.json`, which the CDK CLI gives to every app. Without it CDK uses the defaults of old releases.
 */
export function appContext(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'cdk.json'), 'utf8')).context;
}
