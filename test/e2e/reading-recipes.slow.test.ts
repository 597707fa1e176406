import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { folderForAll } from '../lib/support/files.ts';
import { fencedBlock } from '../support/fenced-block.ts';
import { hasShellTools } from '../support/installed.ts';
import { pythonWith } from '../support/python-with.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

/**
 * Tests the recipes of docs/reading.md for the shell and Python on one deployment with a published run. Files of other
 * kinds: `test/cli/data/reading.test.ts`.
 */

let system: Deployed;
const dir = folderForAll();
let today: string;

beforeAll(async () => {
  system = await deployForTests('reading-recipes', {}, { rows: 300 });
  expect(await system.run('leads')).toMatchObject({ error: null });
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

  /** The records of leads that the command prints. */
  async function records(which: string): Promise<Record<string, string>[]> {
    const { env } = system.cloud;
    const args = ['-I', resolve('docs/recipes/read_file.py'), system.target.BucketName, 'leads', which];
    const { stdout } = await promisify(execFile)(python, args, { cwd: dir, env, maxBuffer: 1 << 26 });
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  it('prints every record of the newest file, as another parser reads it', async () => {
    const file = join(dir, 'parsed.csv');
    expect(await runCli('download', 'leads', '-o', file, ...system.place)).toMatchObject({ code: 0 });
    const expected = parse(await readFile(file), { bom: true, columns: true });

    expect(expected).toHaveLength(300);
    expect(await records('latest')).toEqual(expected);
    expect(await records(`date=${today}`)).toEqual(expected);
  });
});
