import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { publishedValue } from '../../core/readers/reader-access.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { once } from '../../core/step/step.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { CANARY } from '../support/builders.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { histories, logs, type NamedText, objects } from './support/everything.ts';
import { documentedEnds, mailbox } from './support/mails.ts';

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
/** The entities with a bad file. */
const OF = ['contacts', 'meetings'] as const;
const NIGHTS = [2, 1].map((days) => dateAfter(TODAY, -days));
let system: Deployed;

const nameOf = ({ run }: { run: string }) => run;

beforeAll(async () => {
  const polling = { firstWaitSeconds: 1, largestWaitSeconds: 1, deadlineSeconds: 120, createAgainSeconds: 1 };
  const employers = { columns: { except: ['companyNumber'] }, tables: { columns: { employees: 'integer' } } } as const;
  system = await deployForTests(
    'quarantine',
    { polling, entities: { employers }, readers: READERS },
    { rows: ROWS, jobChecks: 1 },
  );
  for (const date of NIGHTS)
    for (const report of await Promise.all(OF.map((entity) => system.run(entity, { date }))))
      expect(report.error, report.cause ?? '').toBeNull();
});

afterAll(() => system?.close());

/** The current pointers, with the tags of their versions. */
async function pointersOf(entity: Entity) {
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const keys = await bucketTools(system.target).keys(`published/entity=${entity}/`);
  return Promise.all(keys.map(async (key) => [key, (await bucket.read(key))?.etag]));
}

/** A line for each record, with quoted cells. */
async function linesOf(entity: Entity): Promise<string[]> {
  const { execution } = await bucketTools(system.target).pointer(entity, 'latest');
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const file = await bucket.read(`runs/entity=${entity}/run=${execution}/${entity}.csv`);
  const records: string[][] = parse(file?.text ?? '');
  return records.map((record) => record.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','));
}

/** Runs an entity whose file is bad, and expects that no pointer moves. @returns the name of the run */
async function badRun(entity: Entity, content: (lines: string[]) => string, ends: RegExp): Promise<string> {
  const before = await pointersOf(entity);
  const fault = system.sandbox.faults.add({ path: 'file', entity, body: content(await linesOf(entity)) });
  const report = await system.run(entity, { date: TODAY });
  system.sandbox.faults.remove(fault);

  expect(`${report.error}: ${report.cause}`).toMatch(ends);
  expect(await pointersOf(entity)).toEqual(before);
  return nameOf(report);
}

/** The run of each entity with a bad file. The first test that needs it makes it. */
const badRuns = {
  contacts: once(() =>
    badRun(
      'contacts',
      (lines) => `${lines.slice(0, 11).join('\r\n')}\r\n`,
      /^FileQuarantined: .*has 10 rows, 100 are usual \(maxShrink 0.5\)/,
    ),
  ),
  meetings: once(() =>
    badRun('meetings', () => '<!doctype html><title>Sign in</title>', /^FileRejected: .*a web page/),
  ),
};

it.concurrent.each(OF)('moves no pointer for a bad file of %s', async (entity) => {
  await badRuns[entity]();
});

it('a release publishes and tags the file, records the reason, and works only once', async () => {
  const run = await badRuns.contacts();
  const args = ['release', run, '--reason', 'Offices were closed', '--new-normal', '--wait', ...system.place];
  const tagsOf = (name: string) => bucketTools(system.target).tags(`runs/entity=contacts/run=${run}/${name}`);
  expect([await tagsOf('contacts.csv'), await tagsOf('_manifest.json')]).toEqual([[], []]);

  const { code, stdout, stderr } = await runCli(...args);

  expect(code, stderr).toBe(0);
  expect(stdout).toContain(`contacts of ${TODAY}, release of ${run}, 10 rows`);
  const pointer = await bucketTools(system.target).pointer('contacts', 'latest');
  expect(pointer).toMatchObject({ execution: run, released: true, newNormal: true });
  const tags = [{ Key: 'published', Value: publishedValue('contacts', { columns: 'all' }) }];
  expect([await tagsOf('contacts.csv'), await tagsOf('_manifest.json')]).toEqual([tags, tags]);
  expect(await tagsOf('_release.json')).toEqual([]);
  const { manifest } = await verifyPublished(system.target, pointer);
  expect(manifest.file.rows).toBe(10);
  const bucket = createBucket(system.target.s3, system.target.BucketName);
  const release = await bucket.read(`runs/entity=contacts/run=${run}/_release.json`);
  expect(JSON.parse(release?.text ?? '')).toMatchObject({ run, reason: 'Offices were closed', newNormal: true });

  const again = await runCli(...args);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('is published already') });
});

/** Forms of the left-out column of employers, the company number; its label is ח.פ. */
const DISGUISES: [text: string, pack: (text: string) => string | Uint8Array<ArrayBuffer>][] = [
  ['companyNumber', (text) => text],
  ['ח.פ.:', (text) => text],
  ['employer.Company_Number', gzipSync],
  ['', (text) => text],
  ['Handelsregister', gzipSync],
];

const within = (places: NamedText[]) => places.filter(({ text }) => text.includes(CANARY)).map(({ name }) => name);

it('quarantines a delivered left-out column under any name, and puts no value of it elsewhere', async () => {
  const [date] = NIGHTS;
  const good = await system.run('employers', { date });
  expect(good.error, good.cause ?? '').toBeNull();
  const lines = await linesOf('employers');
  const withheld: string[] = [];
  for (const [text, pack] of DISGUISES) {
    const cells = lines.map((line, row) => `${line},"${row === 0 ? text : CANARY}"\r\n`);
    system.sandbox.faults.add({ path: 'file', entity: 'employers', body: pack(cells.join('')) });
    const report = await system.run('employers');
    expect(`${report.error}: ${report.cause}`, text).toMatch(
      /^File(Quarantined: .*columns\.except.*cannot be released|Rejected: )/,
    );
    withheld.push(nameOf(report));
  }

  const commands = [
    ['table', 'employers', '--date', date ?? '', '--wait'],
    ['list', 'employers'],
    ['peek', 'employers'],
  ];
  const shown = [...commands, ...withheld.map((run) => ['show', run])].map(async (args) => {
    const { stdout, stderr } = await runCli(...args, ...system.place);
    return { name: args.join(' '), text: stdout + stderr };
  });
  const { metadata, files } = await objects(system.target);
  const isWithheld = ({ name }: NamedText) => withheld.some((run) => name.includes(`/run=${run}/`));
  const places = [await Promise.all(shown), metadata, files.filter((file) => !isWithheld(file))].flat();

  expect(within([...places, ...(await logs(system)), ...(await histories(system.target))])).toEqual([]);
  // The withheld files contain the texts, so the search would have found them elsewhere.
  expect(within(files.filter(isWithheld))).toHaveLength(3);
  expect(await bucketTools(system.target).keys('tables/entity=employers/')).toHaveLength(1);
});

it('sends a mail for each failed run, and the documented rule forwards the ends of executions', async () => {
  const { mails } = await mailbox(system);
  const ends = await documentedEnds(system);
  system.sandbox.faults.clear();
  system.sandbox.faults.add({ path: 'status', entity: 'agent-numbers', status: 'FAILED' });
  const [failed, again, good] = [
    await system.run('agent-numbers'),
    await system.run('agent-numbers'),
    await system.run('leads', { date: NIGHTS[0] ?? '' }),
  ];
  const all = async () => (await mails()).length >= 2 && (await ends()).length >= 3;
  expect(await waitUntil(all, { withinMs: 60_000, everyMs: 500 })).toBe(true);

  const sent = await mails();
  for (const name of [failed, again].map(nameOf)) {
    const { subject, text = '' } = sent.find((mail) => mail.text.includes(name)) ?? {};
    expect(subject).toBe(`${system.name}: agent-numbers ended in ExportFailed`);
    expect(text).toContain(
      ['  Readers have no file of agent-numbers.', `  ${CRM_EXPORT} show ${name} --deployment ${system.name}`].join(
        '\n',
      ),
    );
  }
  expect(sent.some(({ text }) => text.includes(nameOf(good)))).toBe(false);
  expect((await ends()).toSorted()).toEqual(
    [`${nameOf(failed)} FAILED`, `${nameOf(again)} FAILED`, `${nameOf(good)} SUCCEEDED`].toSorted(),
  );
  expect(JSON.stringify(sent)).not.toContain(CANARY);
});
