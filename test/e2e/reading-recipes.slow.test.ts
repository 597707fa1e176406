import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { type Options, parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import type { Run } from '../../cli/runs/run.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { folderForAll } from '../lib/support/files.ts';
import { writtenAs } from '../support/dialect.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { hasShellTools } from '../support/installed.ts';
import { pythonWith } from '../support/python-with.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

/** Tests the recipes of docs/reading.md for the shell and Python on one deployment with two published runs. */

let system: Deployed;
const dir = folderForAll();
let today: string;
let older: Run;

beforeAll(async () => {
  system = await deployForTests('reading-recipes', {}, { rows: 300 });
  older = await system.run('leads', { date: '2026-01-05' });
  expect([older.error, (await system.run('leads')).error]).toEqual([null, null]);
  today = (await createManifests(system.target).pointer('leads', 'latest'))?.date ?? '';
});

afterAll(() => system?.close());

it.skipIf(!hasShellTools())(
  'the shell lines of docs/reading.md fetch the newest file, and fail if it was changed',
  async () => {
    const lines = fencedBlock('docs/reading.md', '### Shell', 'sh');
    const { PATH, HOME } = process.env;
    const env = { ...system.cloud.env, PATH, HOME, BUCKET: system.target.BucketName };
    const shell = async (text: string) => promisify(execFile)('bash', ['-e', '-c', text], { cwd: dir, env });

    await shell(lines);
    expect(await readFile(join(dir, 'leads.csv'), 'utf8')).toContain('\r\n');
    await expect(shell(lines.replace(/^crc=/m, 'echo >> leads.csv\ncrc='))).rejects.toMatchObject({ code: 1 });
  },
);

describe('docs/recipes/read_file.py', () => {
  let python: string;
  beforeAll(async () => {
    python = await pythonWith('moto', '');
  });

  /** The records that the command prints. */
  async function records(entity: string, which: string): Promise<Record<string, string>[]> {
    const { env } = system.cloud;
    const args = ['-I', resolve('docs/recipes/read_file.py'), system.target.BucketName, entity, which];
    const { stdout } = await promisify(execFile)(python, args, { cwd: dir, env, maxBuffer: 1 << 26 });
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  /** The file of the newest published run of an entity, as another parser reads it. */
  async function parsed(entity: string, decode: (bytes: Buffer) => string, options: Options) {
    const file = join(dir, `parsed-${entity}.csv`);
    expect(await runCli('download', entity, '-o', file, '--force', ...system.place)).toMatchObject({ code: 0 });
    return parse(decode(await readFile(file)), { bom: true, columns: true, ...options });
  }

  it('prints every record of the newest file', async () => {
    const expected = await parsed('leads', String, {});

    expect(expected).toHaveLength(300);
    expect(await records('leads', 'latest')).toEqual(expected);
    expect(await records('leads', `date=${today}`)).toEqual(expected);
  });

  it('prints no record if the file differs from its manifest', async () => {
    const { s3, BucketName: Bucket } = system.target;
    await s3.send(new PutObjectCommand({ Bucket, Key: older.key ?? '', Body: 'id\r\nanother\r\n' }));

    await expect(records('leads', 'date=2026-01-05')).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/ corrupt\.\n$/),
    });
  });

  it.each([
    {
      name: 'UTF-16 with semicolons and a sep= line',
      written: { separator: ';', separatorLine: true, encoding: 'utf-16le', byteOrderMark: true } as const,
      decode: (bytes: Buffer) => bytes.toString('utf16le'),
      options: { delimiter: ';', from_line: 2 },
    },
    {
      name: 'gzip with tabs and line breaks of old Macs',
      written: { separator: '\t', lineBreak: '\r', packed: 'gzip' } as const,
      decode: (bytes: Buffer) => String(gunzipSync(bytes)),
      options: { delimiter: '\t' },
    },
  ])('reads a file of $name', async ({ written, decode, options }) => {
    system.sandbox.faults.add({ path: 'file', entity: 'contacts', body: writtenAs(written) });
    expect(await system.run('contacts')).toMatchObject({ error: null });

    const expected = await parsed('contacts', decode, options);
    expect(expected.length).toBeGreaterThan(100);
    expect(await records('contacts', 'latest')).toEqual(expected);
  });
});
