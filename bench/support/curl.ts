import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ky from 'ky';
import * as z from 'zod';
import type { Session } from '../../local/session.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

const run = promisify(execFile);

/** Seconds for `curl` to fetch a fresh export of leads, whose link is ready, and for `curl` to put it to the same S3. */
export async function curlSeconds({ sandbox, target, cloud }: Session, dir: string): Promise<number> {
  if (!sandbox) throw new Error('the comparison needs the sandbox');
  const link = await readyLink(sandbox);
  const file = join(dir, 'curl.csv');
  const sigv4 = ['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', '000000000000:local'];
  const started = performance.now();
  await run('curl', ['-sSf', '-o', file, link]);
  await run('curl', ['-sSf', ...sigv4, '-T', file, `${cloud.endpoint}/${target.BucketName}/runs/curl.csv`]);
  return (performance.now() - started) / 1000;
}

const fieldsSchema = z.array(z.object({ fieldName: z.string() }));

/** An export that is processed, and the link to its file. */
async function readyLink(sandbox: Sandbox): Promise<string> {
  const { accessToken } = sandbox.issueTokens();
  const http = ky.create({ baseUrl: `${sandbox.baseUrl}/`, headers: { authorization: `Bearer ${accessToken}` } });
  const fields = await http.get('leads/fields').json(fieldsSchema);
  const json = { columns: fields.map(({ fieldName }) => fieldName) };
  const { id } = await http.post('leads/exports', { json }).json(z.object({ id: z.string() }));
  await http.get(`leads/exports/${id}`);
  return (await http.post(`leads/exports/${id}/download`).json(z.object({ url: z.string() }))).url;
}
