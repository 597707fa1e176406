import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import { isListed } from '../../core/log/log-fields.ts';
import { METRICS } from '../../core/log/metrics.ts';
import type { Check } from '../checks/check.ts';
import { CannotTell, type Finding, holdsUnless } from '../checks/finding.ts';
import { plain } from '../support/text.ts';
import { RUN_RIGHTS } from './runs.ts';
import { lookUntil, type Verifying } from './verifying.ts';

/**
 * Asks whether nothing but ids, counts and outcomes is logged: what a library writes by itself would be seen here
 * first.
 */
export const LOG_CHECK: Check<Verifying> = {
  id: 'log-lines',
  question: 'Do the functions log listed fields only, since the start of that export?',
  rights: [...RUN_RIGHTS, 'logs:FilterLogEvents on log groups of the functions'],
  makes: true,
  look: logLines,
};

/** What Lambda writes itself: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html; and fixed words of Node. */
const PLATFORM = [
  /^(START|END|REPORT) RequestId: |^XRAY TraceId: /,
  /^(INIT_START|INIT_REPORT|RESTORE_START|RESTORE_REPORT|EXTENSION)\b/,
  /^\(node:\d+\) \[DEP\d+\] DeprecationWarning: |^\(Use `node --trace-deprecation /,
];
const OF_EVERY_LINE = ['level', 'message', 'timestamp', 'step', 'xray_trace_id'];
const OF_METRICS = ['_aws', ...Object.keys(METRICS)];
const lineSchema = z.looseObject({ execution: z.optional(z.string()) });

interface Line {
  step: string;
  text: string;
}

async function logLines(verifying: Verifying): Promise<Finding> {
  const run = await verifying.runs.published();
  const { steps } = run;
  const silent = (lines: Line[]) =>
    steps.filter((step) => !lines.some((line) => line.step === step && line.text.includes(run.run)));
  const look = () => linesSince(verifying, steps, run.askedAt);
  const lines = await lookUntil(look, (seen) => silent(seen).length === 0, verifying);
  if (silent(lines).length > 0) throw new CannotTell(`${silent(lines).join(', ')} logged nothing of that export yet`);
  const wrong = lines.flatMap(({ step, text }) => strangersIn(text).map((stranger) => `${step}: ${stranger}`));
  const why =
    'Only the fields of core/log/log-fields.ts should be there: look at the log group, and tell the developers.';
  return holdsUnless([...new Set(wrong)].slice(0, 5), `${lines.length} lines hold only listed fields`, why);
}

async function linesSince({ target, signal }: Verifying, steps: string[], since: Date): Promise<Line[]> {
  const lines: Line[] = [];
  for (const step of steps) {
    const look = { logGroupName: `/aws/lambda/${target.stack}-${step}`, startTime: since.getTime() };
    for await (const page of paginateFilterLogEvents({ client: target.logs }, look, { abortSignal: signal })) {
      lines.push(...(page.events ?? []).map(({ message = '' }) => ({ step, text: message.trim() })));
    }
  }
  return lines;
}

/** Names only: what is not listed may be data. */
function strangersIn(text: string): string[] {
  if (text === '' || PLATFORM.some((pattern) => pattern.test(text))) return [];
  const line = parseJson(lineSchema, text);
  if (!line) return ['a line that is no record'];
  const strangers = Object.keys(line).filter(
    (name) => !isListed(name) && !OF_EVERY_LINE.includes(name) && !OF_METRICS.includes(name),
  );
  return strangers.map((name) => `the field ${plain(name).slice(0, 40)}`);
}
