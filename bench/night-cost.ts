import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import * as z from 'zod';
import type { Target } from '../cli/support/target.ts';
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
  bytes: number;
}

/** The usage of a night of all entities. */
export interface Night {
  /** The usage of one run of each entity. */
  runs: Usage[];
  logBytes: number;
}

export interface CostLine {
  what: string;
  /** The usage of a night that runs every entity once. */
  counted: string;
  /** Dollars a month for one deployment that runs every night. */
  dollars: number;
}

/** The monthly cost of the runs of a deployment. */
export function costOfRuns({ runs, logBytes }: Night): CostLine[] {
  const sum = (field: keyof Usage) => runs.reduce((total, usage) => total + usage[field], 0);
  const transitions = sum('transitions');
  const invocations = sum('invocations');
  const gbSeconds = sum('gbSeconds');
  const stored = sum('storeRequests');
  // Upper bounds: every request to the bucket uses the key once; every function reads two secrets and the ledger.
  const secretReads = 2 * 3 * runs.length;
  const traces = invocations + runs.length;
  const nightly = (what: string, counted: string, nightlyDollars: number) => {
    return { what, counted, dollars: nightlyDollars * NIGHTS_A_MONTH };
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

function total(lines: CostLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** A table of costs: each line and the sum, multiplied as each column says. */
export function costTable(first: string, lines: CostLine[], columns: { head: string; times: number }[]): string {
  const row = ({ what, counted, dollars }: CostLine) =>
    `| ${what} | ${counted} | ${columns.map(({ times }) => dollarsText(dollars * times)).join(' | ')} |`;
  return [
    `| ${first} | counted | ${columns.map(({ head }) => head).join(' | ')} |`,
    `| --- | --- | ${columns.map(() => '---:').join(' | ')} |`,
    ...lines.map(row),
    row({ what: '**Together**', counted: '', dollars: total(lines) }),
  ].join('\n');
}

function dollarsText(value: number): string {
  return `$${value < 10 ? value.toFixed(3) : Math.round(value).toLocaleString('en')}`;
}

const { download, publish } = filesSchema.parse({}).memoryMB;
/** Memory of the functions of a run that writes no table (`lib/workflow/export-steps.ts`), MB. */
const MEMORY_MB: Record<string, number> = {
  CreateExport: 256,
  CheckStatus: 256,
  DownloadFile: download,
  PublishFile: publish,
};
export const COUNTED_STEPS = Object.keys(MEMORY_MB);

/**
 * The log lines that are counted (`core/step/step.ts`, `core/crm/crm-client.ts`, `lambdas/download-file/download-file.ts`).
 */
const lineSchema = z.object({
  message: z.enum(['answered', 'stored']),
  execution: z.string(),
  milliseconds: z.number().default(0),
  crmRequests: z.number().default(0),
  fileRequests: z.number().default(0),
  storeRequests: z.number().default(0),
  bytes: z.number().default(0),
});

/** Counts a run's usage from its history and the logs of its functions. */
export async function usageOf(target: Target, executionArn: string): Promise<Usage> {
  const execution = executionArn.split(':').at(-1) ?? '';
  const usage: Usage = {
    transitions: await transitionsOf(target, executionArn),
    invocations: 0,
    gbSeconds: 0,
    crmRequests: 0,
    fileRequests: 0,
    storeRequests: 0,
    bytes: 0,
  };
  for (const step of COUNTED_STEPS) {
    for (const line of await linesOf(target, step, execution)) {
      usage.invocations += line.message === 'answered' ? 1 : 0;
      usage.gbSeconds += (line.milliseconds / 1000) * ((MEMORY_MB[step] ?? 0) / 1024);
      usage.fileRequests += line.fileRequests;
      usage.storeRequests += line.storeRequests;
      usage.bytes += line.bytes;
      usage.crmRequests += line.crmRequests;
    }
  }
  return usage;
}

/** The list price of a run, in US dollars. */
export function costOf({ transitions, gbSeconds, invocations, storeRequests }: Usage): number {
  const compute = gbSeconds * PRICE.gbSecond + invocations * PRICE.invocation;
  return transitions * PRICE.transition + compute + storeRequests * PRICE.storeRequest;
}

async function transitionsOf({ sfn }: Target, executionArn: string): Promise<number> {
  let entered = 0;
  for await (const { events = [] } of paginateGetExecutionHistory({ client: sfn, pageSize: 1000 }, { executionArn })) {
    entered += events.filter(({ type = '' }) => type.endsWith('StateEntered')).length;
  }
  return entered;
}

async function linesOf({ logs, downloadLogGroup }: Target, step: string, execution: string) {
  const logGroupName = downloadLogGroup.replace(/DownloadFile$/, step);
  const { events = [] } = await logs.send(new FilterLogEventsCommand({ logGroupName, limit: 10_000 }));
  return events.flatMap(({ message = '' }) => {
    const parsed = lineSchema.safeParse(message.startsWith('{') ? JSON.parse(message) : undefined);
    return parsed.success && parsed.data.execution === execution ? [parsed.data] : [];
  });
}
