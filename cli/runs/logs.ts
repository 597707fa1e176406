import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import { STEPS } from '../../core/step/steps.ts';
import { isGone } from '../support/aws-error.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { painterOf, printableLine, type Tone } from '../support/text.ts';
import { findRun } from './find-run.ts';
import type { Execution } from './run.ts';

/** Runs the command `logs`, which changes nothing. */
export async function logs(run: string, options: TargetOptions & { date?: string }): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run, options.date);
  const lines = await linesOfRun(target, found);
  if (lines.length === 0)
    return printErr(`${found.name} (${found.status}) has no log lines, or they have expired (logRetentionDays).`);
  const paint = painterOf(process.stdout);
  printOut(paint('idle')(HEADINGS));
  for (const line of lines) {
    const tone = TONES.get(line.fields.level);
    printOut(tone ? paint(tone)(textOf(line)) : textOf(line));
  }
}

const TONES = new Map(Object.entries<Tone>({ ERROR: 'bad', WARN: 'warned' }));

/** A structured line that a function logged about a run. */
interface RunLine {
  /** Time of the line, in milliseconds since 1970. */
  at: number;
  fields: z.infer<typeof lineSchema>;
}

const lineSchema = z.looseObject({
  level: z.string(),
  message: z.string(),
  execution: z.string(),
  step: z.optional(z.string()),
  /** Time of the line. Some clouds give all log events of an invocation the same time, so this field counts. */
  timestamp: z.optional(z.iso.datetime()),
});

/** The clocks of two machines differ, and a function continues for up to 15 minutes after its run was stopped. */
const BEFORE_MS = 60_000;
const AFTER_MS = 20 * 60_000;

/** The log lines of all functions about one run, by time, without the lines of Lambda itself, which name no run. */
export async function linesOfRun(
  { logs, stack }: Pick<Target, 'logs' | 'stack'>,
  run: Pick<Execution, 'name' | 'startDate' | 'stopDate'>,
): Promise<RunLine[]> {
  const wanted = {
    filterPattern: `{ $.execution = "${run.name}" }`,
    startTime: run.startDate.getTime() - BEFORE_MS,
    endTime: run.stopDate && run.stopDate.getTime() + AFTER_MS,
  };
  const groups = Object.keys(STEPS).map((step) => `/aws/lambda/${stack}-${step}`);
  const found = await Promise.all(groups.map((logGroupName) => linesIn(logs, { ...wanted, logGroupName })));
  // Some clouds ignore the pattern, so the lines are filtered again.
  const ours = found.flat().filter(({ fields }) => fields.execution === run.name);
  return ours.toSorted((a, b) => a.at - b.at);
}

type Wanted = Parameters<typeof paginateFilterLogEvents>[1];

async function linesIn(client: Target['logs'], wanted: Wanted): Promise<RunLine[]> {
  const lines: RunLine[] = [];
  try {
    for await (const { events = [] } of paginateFilterLogEvents({ client }, wanted)) {
      for (const { timestamp = 0, message } of events) {
        const fields = parseJson(lineSchema, message);
        if (!fields) continue;
        const at = fields.timestamp ? Date.parse(fields.timestamp) : timestamp;
        lines.push({ at, fields });
      }
    }
  } catch (error) {
    // A function that never ran may have no log group.
    if (!isGone(error)) throw error;
  }
  return lines;
}

/** Fields that have their own columns, are equal on every line, or do not help a person. */
const NOT_REPEATED = new Set(
  'level message timestamp step execution entity exportId xray_trace_id requestId'.split(' '),
);

const HEADINGS = lineText('time (UTC)', 'step', 'level', 'message');

function textOf({ at, fields }: RunLine): string {
  const facts = Object.entries(fields).flatMap(([name, value]) =>
    NOT_REPEATED.has(name) || value === null || value === undefined
      ? []
      : [`${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`],
  );
  const time = new Date(at).toISOString().slice(0, -1).replace('T', ' ');
  return lineText(time, fields.step ?? '', fields.level, [fields.message, ...facts].map(printableLine).join('  '));
}

function lineText(time: string, step: string, level: string, rest: string): string {
  return `${time.padEnd(23)}  ${printableLine(step).padEnd(12)}  ${printableLine(level).padEnd(5)}  ${rest}`;
}
