import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { nightsOf } from '../../../cli/night/night.ts';
import { gatherFacts } from '../../../cli/night/night-facts.ts';
import { reportPage } from '../../../cli/report/night-report.ts';
import { listRuns, runsText } from '../../../cli/runs/list-runs.ts';
import { shownText, showRun } from '../../../cli/runs/show-run.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import { newState, run, runState, storedFile } from '../../support/builders.ts';
import { type ManifestChanges, stoppedBy } from '../../support/manifests.ts';
import { tempDir } from '../../support/project.ts';
import { expectTexts } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { execution, executions } from '../support/cloud/executions.ts';

/** Tests the output of commands for files that were stopped, released, or stored without readers. */

const NIGHT = 'leads-night';
const RELEASE = 'leads-release-20261121T080000Z-1a2b3c';
const other: ManifestChanges = { state: 'unpublished', kind: 'partial', differs: ['filters'] };

const begun = runState({ run: run({ prefix: `runs/entity=leads/run=${NIGHT}/` }), file: storedFile({ bytes: 12 }) });
const quarantinedRun = execution(NIGHT, {
  ...{ status: 'FAILED', error: 'FileQuarantined', cause: 'It shrank.', stop: '2026-11-20T01:05:00.000Z' },
  entered: [
    ['PublishFile', '2026-11-20T01:04:00.000Z', begun],
    ['RunFailed', '2026-11-20T01:05:00.000Z', { ...begun, outcome: 'FAILED' }],
  ],
});
const releaseInput = { entity: 'leads', release: NIGHT, reason: 'Holidays', by: 'dana@desk' };
const releasedState = {
  ...newState(releaseInput, { execution: RELEASE, outcome: 'PUBLISHED', rows: 1, file: storedFile({ bytes: 12 }) }),
  manifestKey: `runs/entity=leads/run=${NIGHT}/_manifest.json`,
  warningCount: 0,
  released: { run: NIGHT, date: '2026-11-20', kind: 'full', latest: true },
};
/** The release runs on another day than the night that it releases. */
const releaseRun = execution(RELEASE, {
  input: releaseInput,
  output: JSON.stringify(releasedState),
  start: '2026-11-21T08:00:00.000Z',
  stop: '2026-11-21T08:00:05.000Z',
  entered: [
    ['PublishFile', '2026-11-21T08:00:01.000Z', newState(releaseInput)],
    ['ExportPublished', '2026-11-21T08:00:05.000Z', releasedState],
  ],
});
const storedState = {
  ...begun,
  outcome: 'UNPUBLISHED',
  manifestKey: 'runs/entity=leads/run=leads-some/_manifest.json',
  run: run({ differs: ['filters'], publish: false }),
};
const storedRun = execution('leads-some', {
  output: JSON.stringify(storedState),
  start: '2026-11-20T09:00:00.000Z',
  stop: '2026-11-20T09:00:05.000Z',
  entered: [
    ['PublishFile', '2026-11-20T09:00:01.000Z', begun],
    ['ExportStored', '2026-11-20T09:00:05.000Z', storedState],
  ],
});

async function cloudWith({ released }: { released: boolean }) {
  const cloud = await awsWithTarget(executions([...(released ? [releaseRun] : []), quarantinedRun, storedRun]));
  cloud.publish({ date: '2026-11-19', execution: 'leads-before' });
  const comparedWith = [{ date: '2026-11-19', execution: 'leads-before', rows: 100 }];
  cloud.publish({ manifest: stoppedBy('maxShrink', { comparedWith }), pointers: released ? ['date', 'latest'] : [] });
  cloud.publish({ execution: 'leads-some', manifest: other, pointers: [] });
  const release = {
    schemaVersion: LAYOUT,
    entity: 'leads',
    run: NIGHT,
    execution: RELEASE,
    reason: 'Holidays',
    by: 'dana@desk',
    newNormal: true,
    requestedAt: releaseRun.start,
  };
  if (released) cloud.objects.set(`runs/entity=leads/run=${NIGHT}/_release.json`, Buffer.from(JSON.stringify(release)));
  return cloud;
}
const asked = { deployment: 'test', since: new Date('2026-11-19T12:00:00Z'), failed: false };
const wanted = { ...asked, entities: ['leads' as const], warn: () => undefined };
const textOf = async (cloud: Awaited<ReturnType<typeof cloudWith>>, name: string) =>
  shownText(await showRun(cloud.target, name, cloud.endpoint), {});

test('list shows a released run as released, and the release with the date of that run', async () => {
  const { target } = await cloudWith({ released: true });

  const rows = await listRuns(target, wanted);

  expect(rows.slice(0, 1)).toMatchObject([
    { run: RELEASE, date: '2026-11-20', rows: 1, standing: 'latest', what: 'release', of: NIGHT },
  ]);
  expect(
    runsText(rows, {}, asked)
      .split('\n')
      .map((line) => line.split('\t')[3]),
  ).toEqual(['release', 'released', 'stored']);
  expect(runsText(rows, { isTTY: true }, asked)).toContain(`release of ${NIGHT}`);
});

test('show describes a released run, its release, a stored file, and a file that cannot be released', async () => {
  const after = await cloudWith({ released: true });
  const before = await cloudWith({ released: false });
  const leftOut = await cloudWith({ released: false });
  leftOut.publish({ manifest: stoppedBy('excepted'), pointers: [] });

  await expectTexts('released-files', [
    ['a released run', await textOf(after, NIGHT)],
    ['its release', await textOf(after, RELEASE)],
    ['a file without readers', await textOf(before, 'leads-some')],
    ['a file with a left-out column, which cannot be released', await textOf(leftOut, NIGHT)],
  ]);
});

test('download --run downloads a quarantined file, and warns that a check stopped it', async () => {
  const cloud = await cloudWith({ released: false });
  const output = `${await tempDir()}/leads.csv`;

  const { code, stderr } = await cloud.cli('download', 'leads', '--run', NIGHT, '-o', output);

  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/^Warning: A check stopped this file/);
});

async function pageOf(cloud: Awaited<ReturnType<typeof cloudWith>>) {
  const now = new Date('2026-11-21T12:00:00Z');
  const place = { deployment: 'test', nights: 3, now, warn: () => undefined };
  const facts = await gatherFacts(cloud.target, place);
  return reportPage(nightsOf(facts));
}

test('the report shows a released night with the release, and neither release nor stored run as an attempt', async () => {
  const { document } = parseHTML(await pageOf(await cloudWith({ released: true })));

  const facts = document.querySelector('[popover][id*=leads][id$="2026-11-20"]')?.querySelectorAll('h3, p') ?? [];
  const lines = [...facts].map(({ textContent }) => textContent?.replace(/\s+/g, ' ').trim());
  await expectTexts('report-released', [['the night of a released run', lines.join('\n')]]);
});
