import { type HistoryEvent, paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import { linesOfRun } from '../cli/runs/logs.ts';
import type { Target } from '../cli/support/target.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { filesSchema } from '../core/config/file-settings.ts';
import { NIGHTS_A_MONTH, PRICE } from './prices.ts';

/** Usage that the functions of a run log (`core/step/step.ts`, `lambdas/download-file/download-file.ts`). */
const LOGGED = { crmRequests: 0, fileRequests: 0, storeRequests: 0, bytes: 0 };

/**
 * One run's usage of the items that AWS charges for: state transitions, invocations, requests, bytes of the file, and
 * bytes of the functions' own log lines. AWS adds lines of about 400 bytes to each invocation.
 */
export type Usage = typeof LOGGED & { transitions: number; invocations: number; gbSeconds: number; logBytes: number };

/** An item that costs money, its usage in a night that runs every entity once, and its dollars a month. */
interface CostLine {
  what: string;
  counted: string;
  dollars: number;
}

/** The monthly cost of a deployment with these runs in every night. */
export function costOfRuns(runs: Usage[]): CostLine[] {
  const sum = (field: keyof Usage) => runs.reduce((total, usage) => total + usage[field], 0);
  const [transitions, invocations, gbSeconds] = [sum('transitions'), sum('invocations'), sum('gbSeconds')];
  const [stored, logBytes] = [sum('storeRequests'), sum('logBytes')];
  // Upper bounds: every request to the bucket uses the key once; every function reads two secrets and the ledger.
  const secretReads = 2 * 3 * runs.length;
  const traces = invocations + runs.length;
  const nightly: [what: string, counted: string, dollars: number][] = [
    ['Step Functions', `${transitions} transitions`, transitions * PRICE.transition],
    [
      'Lambda',
      `${gbSeconds.toFixed(1)} GB-s, ${invocations} invocations`,
      gbSeconds * PRICE.gbSecond + invocations * PRICE.invocation,
    ],
    ['S3', `${stored} requests`, stored * PRICE.storeRequest],
    ['CloudWatch Logs', `${(logBytes / 1000).toFixed(0)} KB`, (logBytes / 1e9) * PRICE.logGigabyte],
    ['X-Ray', `at most ${traces} traces`, traces * PRICE.trace],
    ['KMS', `at most ${stored + secretReads} requests`, (stored + secretReads) * PRICE.kmsRequest],
    ['Secrets Manager', `at most ${secretReads} requests`, secretReads * PRICE.secretRequest],
  ];
  return nightly.map(([what, counted, dollars]) => ({ what, counted, dollars: dollars * NIGHTS_A_MONTH }));
}

/** Runs per night, seven for each deployment. */
const SCALES = [7, 700, 35_000];

/** The costs and their sum for a number of runs per night. */
export function costTable(lines: CostLine[]): string {
  const together = lines.reduce((sum, { dollars }) => sum + dollars, 0);
  const rows = [...lines, { what: '**Together**', counted: '', dollars: together }].map(
    ({ what, counted, dollars }) =>
      `| ${what} | ${counted} | ${SCALES.map((runs) => dollarsText((dollars * runs) / ENTITIES.length)).join(' | ')} |`,
  );
  return [
    `| What the runs cost, a month | counted | ${SCALES.map((runs) => `${runs.toLocaleString('en')} runs a night`).join(' | ')} |`,
    `| --- | --- | ${SCALES.map(() => '---:').join(' | ')} |`,
    ...rows,
  ].join('\n');
}

function dollarsText(value: number): string {
  return `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
}

const { download, publish } = filesSchema.parse({}).memoryMB;
/** Memory of the functions of a run that writes no table (`lib/workflow/export-steps.ts`), MB. */
const MEMORY_MB: Record<string, number> = {
  ...{ CreateExport: 256, CheckStatus: 256, DownloadFile: download, PublishFile: publish, RecordNight: 256 },
};

/** Counts a run's usage from its history and the logs of its functions. @throws Error for a function without memory above */
export async function usageOf(target: Target, executionArn: string): Promise<Usage> {
  const usage: Usage = { transitions: 0, invocations: 0, gbSeconds: 0, logBytes: 0, ...LOGGED };
  const history = paginateGetExecutionHistory({ client: target.sfn, pageSize: 1000 }, { executionArn });
  const events: HistoryEvent[] = [];
  for await (const { events: found = [] } of history) events.push(...found);
  let enteredAt = 0;
  for (const { type = '', timestamp, stateExitedEventDetails: { name = '' } = {} } of events) {
    if (type.endsWith('StateEntered')) {
      usage.transitions += 1;
      enteredAt = Number(timestamp);
    }
    if (type !== 'TaskStateExited') continue;
    const memoryMB = MEMORY_MB[name];
    if (memoryMB === undefined) throw new Error(`The memory of ${name} is not in the table.`);
    usage.invocations += 1;
    usage.gbSeconds += ((Number(timestamp) - enteredAt) / 1000) * (memoryMB / 1024);
  }
  const startDate = events[0]?.timestamp ?? new Date();
  const run = { name: executionArn.replace(/.*:/, ''), startDate, stopDate: undefined };
  for (const { fields } of await linesOfRun(target, run)) {
    usage.logBytes += Buffer.byteLength(JSON.stringify(fields));
    const counts = ['answered', 'stored'].includes(fields.message) ? { ...LOGGED, ...fields } : LOGGED;
    for (const kind of Object.keys(LOGGED) as (keyof typeof LOGGED)[]) usage[kind] += counts[kind];
  }
  return usage;
}
