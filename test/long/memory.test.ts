import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import ky from 'ky';
import { expect, inject, it } from 'vitest';
import * as z from 'zod';
import { functionMemory } from '../../core/config/file-settings.ts';
import { streaming } from '../../lib/workflow/node-options.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';

/** CI uses a smaller file and the same limit. */
const BYTES = process.env.CI ? 200_000_000 : 2_000_000_000;
const LIMIT_MB = 256;
/** The smallest function that the configuration allows, in MB. */
const LEAST_MB = functionMemory.minValue ?? 0;

const fieldsSchema = z.array(z.object({ fieldName: z.string() }));
const resultSchema = z.object({
  file: z.object({ bytes: z.int(), crc32: z.string() }),
  facts: z.object({ bytes: z.int(), content: z.object({ records: z.int(), irregular: z.literal(0) }) }),
  downloadMb: z.number(),
  maxMb: z.number(),
});

it(`stores and verifies ${BYTES / 1e6} MB in less than ${LIMIT_MB} MB of memory`, async () => {
  const sandbox = await startSandbox({ bytes: BYTES, jobSeconds: 0, urlSeconds: 3600 });
  try {
    const { endpoint } = inject('cloud');
    const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
    const s3 = new S3Client({ endpoint, region: 'us-east-1', credentials });
    await s3.send(new CreateBucketCommand({ Bucket: 'long' }));
    const work = JSON.stringify({ url: await linkTo(sandbox), bucket: 'long', endpoint });

    const child = join(import.meta.dirname, 'support/download-child.ts');
    // Without the options of a function, V8 sizes its heap for this machine.
    const env = { ...process.env, ...streaming(LEAST_MB) };
    const { stdout } = await promisify(execFile)(process.execPath, [child, work], { env });

    const { file, facts, downloadMb, maxMb } = resultSchema.parse(JSON.parse(stdout));
    expect(file.bytes).toBeGreaterThan(BYTES * 0.99);
    expect(facts.bytes).toBe(file.bytes);
    expect(facts.content.records).toBeGreaterThan(BYTES / 1000);
    expect(downloadMb).toBeLessThan(LIMIT_MB);
    expect(maxMb).toBeLessThan(LIMIT_MB);
  } finally {
    await sandbox.close();
  }
});

async function linkTo(sandbox: Sandbox): Promise<string> {
  const headers = { authorization: `Bearer ${sandbox.issueTokens().accessToken}` };
  const http = ky.create({ baseUrl: `${sandbox.baseUrl}/`, headers });
  const columns = (await http.get('leads/fields').json(fieldsSchema)).map(({ fieldName }) => fieldName);
  const { id } = await http.post('leads/exports', { json: { columns } }).json(z.object({ id: z.string() }));
  await http.get(`leads/exports/${id}`);
  return (await http.post(`leads/exports/${id}/download`).json(z.object({ url: z.string() }))).url;
}
