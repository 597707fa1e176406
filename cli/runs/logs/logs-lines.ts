import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';
import { STEPS } from '../../../core/step/steps.ts';
import type { Target } from '../../support/target.ts';
import { plainLine } from '../../support/text.ts';
import type { FoundRun } from '../run/run.ts';

/** A structured line that a function logged about a run. */
export interface RunLine {
  id: string;
  /** When it was written, milliseconds since 1970. */
  at: number;
  /** When CloudWatch stored it by its own clock, by which its filter goes. */
  storedAt: number;
  fields: z.infer<typeof lineSchema>;
}

const lineSchema = z.looseObject({
  level: z.string(),
  message: z.string(),
  execution: z.string(),
  step: z.optional(z.string()),
  /** When it was written; an engine may give one time to all lines of an invocation. */
  timestamp: z.optional(z.iso.datetime()),
});

/** Clocks differ, and a function goes on for up to 15 minutes after its run was stopped. */
const BEFORE_MS = 60_000;
const AFTER_MS = 20 * 60_000;

/**
 * The lines of all functions about one run, in order of time; not those that Lambda itself logs, which name no run.
 * @param since only lines whose `storedAt` is not before this
 */
export async function linesOfRun(
  { logs, stack }: Pick<Target, 'logs' | 'stack'>,
  run: Pick<FoundRun, 'name' | 'startDate' | 'stopDate'>,
  { since = 0, signal }: { since?: number; signal?: AbortSignal | undefined } = {},
): Promise<RunLine[]> {
  const wanted = {
    filterPattern: `{ $.execution = "${run.name}" }`,
    startTime: Math.max(since, run.startDate.getTime() - BEFORE_MS),
    endTime: run.stopDate && run.stopDate.getTime() + AFTER_MS,
  };
  const groups = Object.keys(STEPS).map((step) => `/aws/lambda/${stack}-${step}`);
  const found = await Promise.all(groups.map((logGroupName) => linesIn({ logs }, { ...wanted, logGroupName }, signal)));
  // The pattern is only a help: not every engine knows it.
  const ours = found.flat().filter(({ fields }) => fields.execution === run.name);
  return ours.toSorted((a, b) => a.at - b.at);
}

async function linesIn(
  { logs: client }: Pick<Target, 'logs'>,
  wanted: Parameters<typeof paginateFilterLogEvents>[1],
  abortSignal: AbortSignal | undefined,
): Promise<RunLine[]> {
  const lines: RunLine[] = [];
  try {
    for await (const { events = [] } of paginateFilterLogEvents({ client }, wanted, { abortSignal })) {
      for (const { eventId = '', timestamp = 0, message } of events) {
        const fields = parseJson(lineSchema, message);
        if (!fields) continue;
        const at = fields.timestamp ? Date.parse(fields.timestamp) : timestamp;
        lines.push({ id: eventId || `${timestamp} ${message}`, at, storedAt: timestamp, fields });
      }
    }
  } catch (error) {
    // The group of a function that never ran may not be there.
    if (!(error instanceof Error && error.name === 'ResourceNotFoundException')) throw error;
  }
  return lines;
}

/** These fields have columns of their own, or are equal on every line, or of no use to a person. */
const NOT_REPEATED = new Set(
  'level message timestamp step execution entity exportId xray_trace_id requestId'.split(' '),
);

export const HEADINGS = lineText('time (UTC)', 'step', 'level', 'message');

export function textOf({ at, fields }: RunLine): string {
  const facts = Object.entries(fields).flatMap(([name, value]) =>
    NOT_REPEATED.has(name) || value === null || value === undefined
      ? []
      : [`${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`],
  );
  const time = new Date(at).toISOString().slice(0, -1).replace('T', ' ');
  return lineText(time, fields.step ?? '', fields.level, [fields.message, ...facts].map(plainLine).join('  '));
}

function lineText(time: string, step: string, level: string, rest: string): string {
  return `${time.padEnd(23)}  ${plainLine(step).padEnd(12)}  ${plainLine(level).padEnd(5)}  ${rest}`;
}
