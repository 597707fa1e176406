import * as z from 'zod';
import type { StepName } from '../../../core/step/steps.ts';
import type { Deployed } from './deployed.ts';

const versionSchema = z.object({ Version: z.string() });

/**
 * Gives a function another timeout, in whole seconds, and makes the machine use it: publishes a new version and moves
 * the alias to it. The stack does not know this setting.
 */
export async function setTimeoutOf({ cloud, target }: Deployed, step: StepName, seconds: number): Promise<void> {
  const address = `${cloud.endpoint}/2015-03-31/functions/${target.stack}-${step}`;
  await ask('PUT', `${address}/configuration`, { Timeout: seconds });
  const { Version } = versionSchema.parse(await ask('POST', `${address}/versions`, {}));
  await ask('PUT', `${address}/aliases/live`, { FunctionVersion: Version });
}

async function ask(method: string, url: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
