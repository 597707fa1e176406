import { execFile } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { STEPS, UPDATE_STEPS } from '../../core/step/steps.ts';
import { fullDeployment } from '../../scripts/deployments.ts';
import { folderForAll } from './support/files.ts';

const ALL_READ = 0o444;
const ALL_READ_AND_ENTER = 0o555;

/**
 * The CDK CLI packs file modes unchanged, and the name of an asset does not depend on them. So an unreadable file, once
 * deployed, stays unreadable. On Lambda the code belongs to another user than the one that runs it.
 */
describe('a synthesis under umask 077', () => {
  const folder = folderForAll();
  const outdir = join(folder, 'out');
  let assets: string[] = [];
  let said: string[];

  beforeAll(async () => {
    const configuration = join(folder, 'configuration.json');
    const { entities, ...settings } = fullDeployment();
    const written = Object.entries(entities).map(([entity, { columns, ...plan }]) => [
      entity,
      { ...plan, columns: columns.only ?? 'all' },
    ]);
    writeFileSync(configuration, JSON.stringify({ ...settings, entities: Object.fromEntries(written) }));
    said = await synthesiseUnder('077', { deployment: 'example', configuration }, outdir);
    assets = readdirSync(outdir).filter((name) => name.startsWith('asset.'));
  });

  test('writes the named deployment with an asset for each function and the layer, without warnings', () => {
    expect(said.filter((line) => !line.startsWith('Bundling asset '))).toEqual([
      expect.stringMatching(/^The deployment example exports leads \(2 columns\), .* employers\.$/),
    ]);
    expect(readdirSync(outdir)).toContain('crm-export-example.template.json');
    const functions = Object.keys({ ...STEPS, ...UPDATE_STEPS, MailFailedRuns: {}, RecordNight: {} });
    expect(assets).toHaveLength(functions.length + 1);
  });

  test('makes every file and folder of the assets readable by all users', () => {
    const closed = assets.flatMap((asset) => everythingIn(join(outdir, asset)).filter(isClosed));

    expect(closed).toEqual([]);
  });
});

function everythingIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return [folder, ...names.map((name) => join(folder, name))];
}

function isClosed(path: string): boolean {
  const stat = statSync(path);
  const needed = stat.isDirectory() ? ALL_READ_AND_ENTER : ALL_READ;
  return (stat.mode & needed) !== needed;
}

/** Runs the whole program, including bundling, in its own process, because a worker thread cannot set a umask. */
async function synthesiseUnder(umask: string, context: Record<string, string>, outdir: string): Promise<string[]> {
  const env = { ...process.env, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: JSON.stringify(context) };
  const command = ['-c', `umask ${umask} && exec "$0" bin/app.ts`, process.execPath];
  return (await promisify(execFile)('sh', command, { env })).stderr.trimEnd().split('\n');
}
