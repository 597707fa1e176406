import { FilterLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import * as z from 'zod';
import type { Target } from '../../cli/support/target.ts';
import { filesSchema } from '../../core/config/file-settings.ts';
import type { Usage } from './night-cost.ts';
import { PRICE } from './prices.ts';

const { download, publish } = filesSchema.parse({}).memoryMB;
/** Memory of the functions of a run that writes no table (`lib/workflow/export-steps.ts`), MB. */
const MEMORY_MB: Record<string, number> = {
  CreateExport: 256,
  CheckStatus: 256,
  DownloadFile: download,
  PublishFile: publish,
};
export const COUNTED_STEPS = Object.keys(MEMORY_MB);

/** The lines of a function that are counted (`core/step/handler.ts`, `core/crm/client.ts`, `lambdas/download-file/download-file.ts`). */
const lineSchema = z.object({
  message: z.enum(['answered', 'stored']),
  execution: z.string(),
  milliseconds: z.number().default(0),
  crmRequests: z.number().default(0),
  fileRequests: z.number().default(0),
  storeRequests: z.number().default(0),
  bytes: z.number().default(0),
});

/** Counts what a run used from its history and the logs of its functions. */
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
