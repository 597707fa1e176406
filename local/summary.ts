import { createManifests } from '../cli/data/stored-manifests.ts';
import { failureText, outcomeWord } from '../cli/runs/run-words.ts';
import { quoted } from '../cli/support/command-options.ts';
import type { Target } from '../cli/support/target.ts';
import { bytesText, plainLine } from '../cli/support/text.ts';
import { textTable } from '../cli/support/text-table.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import { LOCAL_DEPLOYMENT } from './local-configuration.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from './ministack/ministack-environment.ts';
import type { FinishedRun } from './runs.ts';
import type { Screen } from './screen.ts';

/** Shows the results of the runs, the beginning of one file, and where to look next. */
export function showSummary(screen: Screen, runs: FinishedRun[], bucket: string): void {
  screen.line(`\n${runsTable(runs)}\n`);
  for (const { report } of runs) {
    if (report.error) screen.line(`${report.entity}: ${failureText(report)}\n`);
  }
  for (const [warning, of] of warningsOf(runs)) screen.line(`${of.join(', ')}: ${warning}\n`);
  const shown = runs.find(({ published }) => published)?.published;
  if (!shown) return;
  const { file, entity } = shown.manifest;
  screen.line(`The first lines of ${file.key}:`);
  for (const line of firstLines(shown.start)) screen.line(`  ${line}`);
  screen.line(
    `\nReaders start at s3://${bucket}/published/entity=${entity}/latest.json, which names the manifest, which names the file.`,
  );
  screen.line(
    'Next: README.md says how to deploy this to an account; npm start -- --keep leaves it running here to look around.',
  );
}

export function runsTable(runs: FinishedRun[]): string {
  const rows = runs.map(({ report }) => [
    report.entity,
    outcomeWord(report),
    `${report.checks}`,
    `${report.rows ?? ''}`,
    bytesText(report.bytes),
    report.key ?? '',
  ]);
  return textTable(['entity', 'outcome', 'checks', 'rows', 'bytes', 'key'], rows);
}

/** Each warning once, with its entities: on a first night, all entities have the same warnings. */
function warningsOf(runs: FinishedRun[]): Map<string, string[]> {
  const entities = new Map<string, string[]>();
  for (const { report, published } of runs)
    for (const warning of published?.manifest.warnings ?? [])
      entities.set(warning, [...(entities.get(warning) ?? []), report.entity]);
  return entities;
}

/** A few lines, cut to the width of a terminal and without control characters. */
function firstLines(start: Buffer): string[] {
  const lines = new TextDecoder().decode(start).split('\n').slice(0, 4);
  return lines.map((line) => plainLine(line).slice(0, 110));
}

/**
 * Shows the tables of a night, and whether each belongs to the run that the pointer of its date names.
 * @returns whether all do
 */
export async function showTables(target: Target, runs: FinishedRun[], screen: Screen): Promise<boolean> {
  const manifests = createManifests(target);
  const written = runs.flatMap(({ report }) => (report.table ? [{ entity: report.entity, ...report.table }] : []));
  const rows = await Promise.all(
    written.map(async ({ entity, run, date, rows, bytes, key }) => {
      const named = (await manifests.pointer(entity, date))?.execution === run;
      return { named, cells: [entity, `${rows}`, bytesText(bytes), named ? 'yes' : 'no', key] };
    }),
  );
  const cells = rows.map((row) => row.cells);
  screen.line(`\nTables:\n${textTable(['entity', 'rows', 'bytes', 'of the published run', 'key'], cells)}\n`);
  for (const { entity, warnings } of written) for (const warning of warnings) screen.line(`${entity}: ${warning}`);
  return rows.length === runs.length && rows.every(({ named }) => named);
}

/** The parts of a session that the lines name. */
interface Running {
  cloud: { endpoint: string };
  crm: { url: string; authUrl: string };
  target: { StateMachineArn: string; BucketName: string };
  sandbox: { url: string } | undefined;
  updates: boolean;
  configurationFile: string;
}

/** The endpoints, and commands to paste into another terminal. */
export function endpointLines(running: Running, runs: FinishedRun[]): string[] {
  const { cloud, crm, target, sandbox, updates, configurationFile } = running;
  const arn = runs[0]?.report.executionArn ?? 'ARN';
  const place = `--deployment ${LOCAL_DEPLOYMENT} --region ${LOCAL_REGION} --endpoint-url ${cloud.endpoint}`;
  return [
    'Everything is left running; Ctrl-C ends it.',
    `  AWS: ${cloud.endpoint}   CRM: ${crm.url}   OAuth: ${crm.authUrl}`,
    '',
    'In another terminal, start a run and follow it:',
    `  ${CRM_EXPORT} start leads --wait ${place}`,
    ...(sandbox ? faultLines(`${sandbox.url}/_sandbox/faults`) : []),
    'See what a run did, all nights as a page, and whether the next run would work:',
    `  ${CRM_EXPORT} show leads ${place}`,
    `  ${CRM_EXPORT} report ${place}`,
    `  ${CRM_EXPORT} doctor --configuration ${quoted(configurationFile)} ${place}`,
    'Compare what the CRM answers with what is assumed (docs/operating.md, "First contact"):',
    `  ${CRM_EXPORT} probe --configuration ${quoted(configurationFile)} ${place}`,
    ...(updates ? ['Update customers by a file (docs/updates.md):', `  ${CRM_EXPORT} update FILE.csv ${place}`] : []),
    'Authorize again:',
    `  ${CRM_EXPORT} authorize ${place}`,
    'With the AWS CLI:',
    `  export AWS_ENDPOINT_URL=${cloud.endpoint} AWS_DEFAULT_REGION=${LOCAL_REGION} AWS_ACCESS_KEY_ID=${LOCAL_ACCOUNT} AWS_SECRET_ACCESS_KEY=local`,
    `  aws stepfunctions start-execution --state-machine-arn ${target.StateMachineArn} --input '{"entity":"leads"}'`,
    `  aws stepfunctions get-execution-history --execution-arn ${arn}`,
    `  aws s3 ls s3://${target.BucketName} --recursive`,
  ];
}

function faultLines(url: string): string[] {
  const fault = { path: 'status', entity: 'leads', calls: [1, 2], answer: { status: 503 } };
  return [
    'Make the next two status checks of leads fail, and end all faults (sandbox/README.md has more):',
    `  curl ${url} --json '${JSON.stringify(fault)}'`,
    `  curl -X DELETE ${url}`,
  ];
}
