import { join } from 'node:path';
import { verifyPublished } from '../cli/data/stored-file.ts';
import { startRun } from '../cli/runs/executions.ts';
import { followRun, progressLines } from '../cli/runs/follow.ts';
import { failureText, outcomeWord, type Run } from '../cli/runs/run.ts';
import { quoted } from '../cli/support/command-options.ts';
import { bytesText, textTable } from '../cli/support/text.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import type { Entity } from '../core/config/entities.ts';
import type { Manifest } from '../core/export/manifest.ts';
import { dateAfter, dateIn } from '../core/schedule/local-time.ts';
import { rowsOf } from '../sandbox/sandbox-settings.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from './ministack/ministack-environment.ts';
import type { StartOptions } from './options.ts';
import { runCommand } from './processes/processes.ts';
import type { Screen } from './screen.ts';
import { COMPARED, LOCAL_DEPLOYMENT, type Session } from './session.ts';

/** The runs of `npm start`, and what it shows about them. */

/** Requests to the local cloud are free, so the wait is short. */
const POLL_RUN_MS = 250;
/** The entity of the second night whose file is quarantined and released. */
const SHRUNK = 'meetings';
const ROWS_LEFT = 40;

/** A run and, if it has published, its manifest. */
export interface FinishedRun {
  report: Run;
  published?: Manifest;
}

type NightOptions = Pick<StartOptions, 'entities' | 'secondNight' | 'tables'>;

/** Runs the night, and shows its results and where to look next. @returns the runs, and whether all ended well */
export async function night(session: Session, { entities, secondNight, tables }: NightOptions) {
  const { screen } = session;
  screen.line(`Runs of ${entities.join(', ')}`);
  const runs = await runAll(session, entities, secondNight ? 1 : 0);
  for (const { report, published } of runs) if (!published) await crmExport(session, ['logs', report.run]);
  showSummary(screen, runs);
  const shown = runs.find(({ published }) => published)?.report.entity;
  if (shown) {
    await crmExport(session, ['peek', shown]);
    const pointer = `s3://${session.target.BucketName}/published/entity=${shown}/latest.json`;
    screen.line(`\nReaders start at ${pointer}, which names the manifest, which names the file.`);
    screen.line('Next: README.md says how to deploy this to an AWS account.');
  }
  return { ok: runs.every(({ published, report }) => published && (report.table || !tables)), runs };
}

/**
 * Runs the night after. Most meetings are gone from the CRM, so their file is quarantined and released. Shows the
 * changes of customers. @returns the runs, and whether all ended as expected
 */
export async function secondNight(session: Session, { entities }: NightOptions) {
  const { screen, sandbox } = session;
  if (sandbox) {
    // One customer is gone, one is new, and two are edited.
    sandbox.records.updateCustomer(2, { city: 'אילת' });
    sandbox.records.updateCustomer(4, { city: 'חיפה', streetNumber: '12' });
    sandbox.records.remove(COMPARED, 7);
    sandbox.settings.rows = { [COMPARED]: rowsOf(sandbox.settings, COMPARED) + 1, [SHRUNK]: ROWS_LEFT };
  }
  screen.line(`\nThe next night: the CRM has ${ROWS_LEFT} ${SHRUNK} left, and some customers have changed`);
  const runs = await runAll(session, entities, 0);
  screen.line(`\n${runsTable(runs)}\n`);
  const stopped = runs.find(({ report }) => report.outcome === 'quarantined');
  if (!stopped) return { ok: false, runs };
  screen.line(`${SHRUNK}: ${failureText(stopped.report)}\n`);
  const reason = 'Meetings of closed offices were archived';
  const released = await crmExport(session, ['release', stopped.report.run, '--reason', reason, '--wait']);
  const shown = !entities.includes(COMPARED) || (await crmExport(session, ['changes', COMPARED]));
  return { ok: released && shown && runs.every((run) => run === stopped || run.published !== undefined), runs };
}

/**
 * Starts one run per entity at once, follows the runs to their ends, and reads the published files back.
 * @throws CommandError (exit code 1) if a file that counts as published cannot be read
 */
async function runAll({ target, screen, interrupt }: Session, entities: Entity[], daysAgo: number) {
  // All runs have one date. With `scheduledFor`, a run would count as the nightly start of a rule.
  const input = { date: dateAfter(dateIn(target.TimeZone, new Date()), -daysAgo) };
  const runs = entities.map(async (entity): Promise<FinishedRun> => {
    const { executionArn } = await startRun(target, entity, input);
    const report = await followRun(target.sfn, executionArn, {
      everyMs: POLL_RUN_MS,
      signal: interrupt.signal,
      onProgress: progressLines(entity, screen.line),
    });
    return report.status === 'SUCCEEDED' ? { report, published: await verifyPublished(target, report) } : { report };
  });
  return Promise.all(runs);
}

/** Runs a command of the product and shows what it prints. @returns whether it succeeded */
async function crmExport({ screen, record, cloud, interrupt }: Session, words: string[]): Promise<boolean> {
  const args = [...words, '--deployment', LOCAL_DEPLOYMENT];
  screen.line(`\n$ ${CRM_EXPORT} ${args.map(quoted).join(' ')}`);
  const { code } = await runCommand({
    name: 'crm-export',
    command: process.execPath,
    args: [join(import.meta.dirname, '..', 'cli', 'main.js'), ...args],
    env: cloud.env,
    record,
    signal: interrupt.signal,
    onLine: (line) => screen.line(line),
  });
  return code === 0;
}

/** Shows the results of the runs, and each warning once. */
export function showSummary(screen: Screen, runs: FinishedRun[]): void {
  screen.line(`\n${runsTable(runs)}\n`);
  for (const { report } of runs) {
    if (report.error) screen.line(`${report.entity}: ${failureText(report)}\n`);
  }
  const warnings = runs.flatMap(({ report: { entity, table }, published }) =>
    [...(published?.warnings ?? []), ...(table?.warnings ?? [])].map((text) => ({ entity, text })),
  );
  for (const [text, of] of Map.groupBy(warnings, (warning) => warning.text))
    screen.line(`${of.map(({ entity }) => entity).join(', ')}: ${text}\n`);
}

function runsTable(runs: FinishedRun[]): string {
  const rows = runs.map(({ report }) => [
    report.entity ?? '',
    outcomeWord(report),
    `${report.checks}`,
    `${report.rows ?? ''}`,
    bytesText(report.bytes),
    [report.key, report.table?.key].filter(Boolean).join(', '),
  ]);
  return textTable(['entity', 'outcome', 'checks', 'rows', 'bytes', 'key'], rows);
}

/** The endpoints, and commands to paste into another terminal. */
export function endpointLines({ cloud, crm, target, sandbox }: Session): string[] {
  const aws = `AWS_ENDPOINT_URL=${cloud.endpoint} AWS_REGION=${LOCAL_REGION} AWS_DEFAULT_REGION=${LOCAL_REGION}`;
  // A deployment of another name has no client yet. The secret of a real CRM is never shown.
  const secret = sandbox ? ` CRM_CLIENT_SECRET=${sandbox.clientSecret}` : '';
  const ofSandbox = sandbox ? [`authorize --client-id ${sandbox.clientId}`, 'update FILE.csv'] : ['authorize'];
  const words = ['start leads --wait', 'show leads', 'report', 'doctor', 'probe', ...ofSandbox];
  const faults = `${sandbox?.url}/_sandbox/faults`;
  const fault = { path: 'status', entity: 'leads', calls: [1, 2], answer: { status: 503 } };
  const faultLines = [
    'Make the next two status checks of leads fail, and end all faults (sandbox/README.md has more):',
    `  curl ${faults} --json '${JSON.stringify(fault)}'`,
    `  curl -X DELETE ${faults}`,
  ];
  return [
    'Everything keeps running until Ctrl-C.',
    `  AWS: ${cloud.endpoint}   CRM: ${crm.baseUrl}   OAuth: ${crm.authUrl}`,
    '',
    'In another terminal, once:',
    `  export CRM_EXPORT_DEPLOYMENT=${LOCAL_DEPLOYMENT} ${aws} AWS_ACCESS_KEY_ID=${LOCAL_ACCOUNT} AWS_SECRET_ACCESS_KEY=local${secret}`,
    `Then, for example (${CRM_EXPORT} --help lists all commands):`,
    ...words.map((command) => `  ${CRM_EXPORT} ${command}`),
    ...(sandbox ? faultLines : []),
    'With the AWS CLI:',
    `  aws s3 ls s3://${target.BucketName} --recursive`,
  ];
}
