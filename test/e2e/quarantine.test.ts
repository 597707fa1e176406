import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import { chosenColumnsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { publishedValue } from '../../core/readers/reader-access.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { CANARY } from '../support/builders.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, logs, type NamedText, objects } from './support/everything.ts';

/**
 * Tests bad files after nights of a hundred rows: no reader gets one until a person releases it. `trust-cases.test.ts`
 * has the other kinds of bad files.
 */

const ROWS = 100;
const READERS = [
  { principal: '444455556666', entities: ['leads', 'contacts'], of: ['files'] },
] satisfies Deployment['readers'];
/** Every run has an explicit date: midnight may pass between two runs. */
const TODAY = new Date().toISOString().slice(0, 10);
const NIGHTS = [2, 1].map((days) => dateAfter(TODAY, -days));
let system: Deployed;

beforeAll(async () => {
  const leads = { columns: { except: ['estimatedPremium'] }, tables: { columns: { score: 'integer' } } } as const;
  system = await deployForTests('quarantine', { entities: { leads }, readers: READERS }, { rows: ROWS, jobChecks: 1 });
  for (const date of NIGHTS) {
    const { error, cause } = await system.run('contacts', { date });
    expect(error, cause ?? '').toBeNull();
  }
});

afterAll(() => system?.close());

/** A line for each record, with quoted cells. */
async function linesOf(entity: Entity): Promise<string[]> {
  const { execution } = await bucketTools(system.target).pointer(entity, 'latest');
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const file = await bucket.read(`runs/entity=${entity}/run=${execution}/${entity}.csv`);
  const records: string[][] = parse(file?.text ?? '');
  return records.map((record) => record.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','));
}

it('a bad file moves no pointer until a release publishes and tags it, records the reason, and works only once', async () => {
  const pointers = () => createManifests(system.target).pointer('contacts', 'latest');
  const before = await pointers();
  const body = `${(await linesOf('contacts')).slice(0, 11).join('\r\n')}\r\n`;
  const fault = system.sandbox.faults.add({ path: 'file', entity: 'contacts', body });
  const bad = await system.run('contacts', { date: TODAY });
  system.sandbox.faults.remove(fault);
  expect(`${bad.error}: ${bad.cause}`).toMatch(/^FileQuarantined: .*has 10 rows, 100 are usual \(maxShrink 0.5\)/);
  expect(await pointers()).toEqual(before);
  expect(await bucketTools(system.target).keys('published/entity=contacts/')).toHaveLength(3);
  const run = bad.run;
  const args = ['release', run, '--reason', 'Offices were closed', '--new-normal', '--wait', ...system.place];
  const tagsOf = (name: string) => bucketTools(system.target).tags(`runs/entity=contacts/run=${run}/${name}`);
  expect([await tagsOf('contacts.csv'), await tagsOf('_manifest.json')]).toEqual([[], []]);

  const { code, stdout, stderr } = await runCli(...args);

  expect(code, stderr).toBe(0);
  expect(stdout).toContain(`contacts of ${TODAY}, release of ${run}, 10 rows`);
  const pointer = await bucketTools(system.target).pointer('contacts', 'latest');
  expect(pointer).toMatchObject({ execution: run, released: true, newNormal: true });
  const tags = [{ Key: 'published', Value: publishedValue('contacts', { columns: chosenColumnsOf('all') }) }];
  expect([await tagsOf('contacts.csv'), await tagsOf('_manifest.json')]).toEqual([tags, tags]);
  expect(await tagsOf('_release.json')).toEqual([]);
  const manifest = await verifyPublished(system.target, pointer);
  expect(manifest.file.rows).toBe(10);
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const release = await bucket.read(`runs/entity=contacts/run=${run}/_release.json`);
  expect(JSON.parse(release?.text ?? '')).toMatchObject({ run, reason: 'Offices were closed', newNormal: true });

  const again = await runCli(...args);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining(`${run} is published`) });
});

/** Forms of the left-out column of leads, the estimated premium; its label is פרמיה משוערת. */
const DISGUISES: [text: string, pack: (text: string) => string | Uint8Array<ArrayBuffer>][] = [
  ['lead.Estimated_Premium', gzipSync],
  ['פרמיה משוערת:', (text) => text],
];

const within = (places: NamedText[]) => places.filter(({ text }) => text.includes(CANARY)).map(({ name }) => name);

it('quarantines a delivered left-out column under any name, and puts no value of it elsewhere', async () => {
  const [date] = NIGHTS;
  const good = await system.run('leads', { date });
  expect(good.error, good.cause ?? '').toBeNull();
  const lines = await linesOf('leads');
  const withheld: string[] = [];
  for (const [text, pack] of DISGUISES) {
    const cells = lines.map((line, row) => `${line},"${row === 0 ? text : CANARY}"\r\n`);
    system.sandbox.faults.add({ path: 'file', entity: 'leads', body: pack(cells.join('')) });
    const report = await system.run('leads');
    expect(`${report.error}: ${report.cause}`, text).toMatch(/^File(Quarantined: .*columns\.except|Rejected: )/);
    withheld.push(report.run);
  }

  const commands = [
    ['table', 'leads', '--date', date ?? '', '--wait'],
    ['list', 'leads'],
    ['peek', 'leads'],
  ];
  const shown = [...commands, ...withheld.map((run) => ['show', run])].map(async (args) => {
    const { stdout, stderr } = await runCli(...args, ...system.place);
    return { name: args.join(' '), text: stdout + stderr };
  });
  const { metadata, files } = await objects(system.target);
  const isWithheld = ({ name }: NamedText) => withheld.some((run) => name.includes(`/run=${run}/`));
  const places = [await Promise.all(shown), metadata, files.filter((file) => !isWithheld(file))].flat();

  expect(within([...places, ...(await logs(system.target)), ...(await histories(system.target))])).toEqual([]);
  // The withheld files contain the texts, so the search would have found them elsewhere.
  expect(within(files.filter(isWithheld))).toHaveLength(1);
  expect(await bucketTools(system.target).keys('tables/entity=leads/')).toHaveLength(1);
});
