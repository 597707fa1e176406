import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import * as z from 'zod';
import type { Target } from '../cli/support/target.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { filesSchema } from '../core/config/file-settings.ts';
import { NIGHTS_A_MONTH, PRICE } from './prices.ts';

/** One run's usage of the items that AWS charges for. */
export interface Usage {
  /** The number of states entered. */
  transitions: number;
  invocations: number;
  gbSeconds: number;
  /** Calls of the CRM, requests for the file, requests to the bucket. */
  crmRequests: number;
  fileRequests: number;
  storeRequests: number;
  /** Bytes of the file. */
  bytes: number;
  /** The functions' own lines. AWS adds START, END and REPORT lines of about 400 bytes to each invocation. */
  logBytes: number;
}

interface CostLine {
  what: string;
  /** The usage of a night that runs every entity once. */
  counted: string;
  /** Dollars a month for one deployment that runs every night. */
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
  const nightly = (what: string, counted: string, dollars: number) => {
    return { what, counted, dollars: dollars * NIGHTS_A_MONTH };
  };
  const compute = gbSeconds * PRICE.gbSecond + invocations * PRICE.invocation;
  return [
    nightly('Step Functions', `${transitions} transitions`, transitions * PRICE.transition),
    nightly('Lambda', `${gbSeconds.toFixed(1)} GB-s, ${invocations} invocations`, compute),
    nightly('S3', `${stored} requests`, stored * PRICE.storeRequest),
    nightly('CloudWatch Logs', `${(logBytes / 1000).toFixed(0)} KB`, (logBytes / 1e9) * PRICE.logGigabyte),
    nightly('X-Ray', `at most ${traces} traces`, traces * PRICE.trace),
    nightly('KMS', `at most ${stored + secretReads} requests`, (stored + secretReads) * PRICE.kmsRequest),
    nightly('Secrets Manager', `at most ${secretReads} requests`, secretReads * PRICE.secretRequest),
  ];
}

/** Runs per night, seven for each deployment. */
const SCALES = [7, 700, 35_000];

/** The costs and their sum for so many runs a night. */
export function costTable(lines: CostLine[]): string {
  const together = lines.reduce((sum, { dollars }) => sum + dollars, 0);
  const row = ({ what, counted, dollars }: CostLine) =>
    `| ${what} | ${counted} | ${SCALES.map((runs) => dollarsText((dollars * runs) / ENTITIES.length)).join(' | ')} |`;
  return [
    `| What the runs cost, a month | counted | ${SCALES.map((runs) => `${runs.toLocaleString('en')} runs a night`).join(' | ')} |`,
    `| --- | --- | ${SCALES.map(() => '---:').join(' | ')} |`,
    ...lines.map(row),
    row({ what: '**Together**', counted: '', dollars: together }),
  ].join('\n');
}

function dollarsText(value: number): string {
  return `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
}

const { download, publish } = filesSchema.parse({}).memoryMB;
/** Memory of the functions of a run that writes no table (`lib/workflow/export-steps.ts`), MB. */
const MEMORY_MB = {
  CreateExport: 256,
  CheckStatus: 256,
  DownloadFile: download,
  PublishFile: publish,
  RecordNight: 256,
};
type InvokedName = keyof typeof MEMORY_MB;

/** The log lines with counts (`core/step/step.ts`, `lambdas/download-file/download-file.ts`). */
const COUNTED = ['answered', 'stored'];
const lineSchema = z.object({
  message: z.string(),
  execution: z.string(),
  crmRequests: z.number().default(0),
  fileRequests: z.number().default(0),
  storeRequests: z.number().default(0),
  bytes: z.number().default(0),
});

/** Counts a run's usage from its history and the logs of its functions. */
export async function usageOf(target: Target, executionArn: string): Promise<Usage> {
  const usage = { ...(await usageInHistory(target, executionArn)), bytes: 0, logBytes: 0 };
  const requests = { crmRequests: 0, fileRequests: 0, storeRequests: 0 };
  for (const step of Object.keys(MEMORY_MB)) {
    for await (const { logBytes, ...line } of linesOf(target, step, executionArn)) {
      usage.logBytes += logBytes;
      if (!COUNTED.includes(line.message)) continue;
      usage.bytes += line.bytes;
      for (const kind of ['crmRequests', 'fileRequests', 'storeRequests'] as const) requests[kind] += line[kind];
    }
  }
  return { ...usage, ...requests };
}

/**
 * States entered, and the invocations with their memory and time.
 * @throws Error for a function without memory in the table above
 */
async function usageInHistory({ sfn }: Target, executionArn: string) {
  const usage = { transitions: 0, invocations: 0, gbSeconds: 0 };
  let enteredAt = 0;
  for await (const { events = [] } of paginateGetExecutionHistory({ client: sfn, pageSize: 1000 }, { executionArn })) {
    for (const { type = '', timestamp, stateExitedEventDetails: exited } of events) {
      if (type.endsWith('StateEntered')) {
        usage.transitions += 1;
        enteredAt = Number(timestamp);
      }
      if (type !== 'TaskStateExited') continue;
      const memoryMB = MEMORY_MB[exited?.name as InvokedName];
      if (memoryMB === undefined) throw new Error(`The memory of ${exited?.name} is not in the table.`);
      usage.invocations += 1;
      usage.gbSeconds += ((Number(timestamp) - enteredAt) / 1000) * (memoryMB / 1024);
    }
  }
  return usage;
}

/** The lines of a function about a run. */
async function* linesOf({ logs: client, stack }: Target, step: string, executionArn: string) {
  const logGroupName = `/aws/lambda/${stack}-${step}`;
  for await (const { events = [] } of paginateFilterLogEvents({ client }, { logGroupName })) {
    for (const { message: text = '' } of events) {
      const { data: line } = lineSchema.safeParse(text.startsWith('{') ? JSON.parse(text) : undefined);
      if (line && executionArn.endsWith(`:${line.execution}`)) yield { ...line, logBytes: Buffer.byteLength(text) };
    }
  }
}
