import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import type { Resume, StoreOptions } from '../../../transfer/base/types.ts';

const CHILD = join(import.meta.dirname, '../fixtures/transfer-child.ts');
const saidSchema = z.object({ upload: z.looseObject({}).nullish(), bytes: z.number().optional() });

/**
 * Moves a file in its own process, and kills it once it reports that so many bytes are stored.
 * @returns the upload that it left
 */
export async function killedIn(
  { credentials, ...store }: StoreOptions,
  file: { key: string; url: string },
  bytes: number,
): Promise<Resume> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify({ ...file, store })], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { STORE_KEY: JSON.stringify(await credentials()) },
  });
  const ended = once(child, 'close');
  let upload: Resume | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = saidSchema.parse(JSON.parse(line));
    upload ??= (said.upload ?? undefined) as Resume | undefined;
    if ((said.bytes ?? 0) >= bytes) child.kill('SIGKILL');
  }
  const [, signal] = await ended;
  if (signal === 'SIGKILL' && upload) return upload;
  throw new Error(`The child was to be killed in the middle of an upload, and ended by ${signal}.`);
}
