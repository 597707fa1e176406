import type { Context } from 'aws-lambda';
import type { FunctionLog } from '../../core/log/log.ts';
import type { LogFields, RunFields } from '../../core/log/log-fields.ts';
import type { Measures } from '../../core/log/metrics.ts';
import type { Invocation, Platform } from '../../core/step/step.ts';
import { deployment } from './builders.ts';

export interface Logged {
  level: 'info' | 'warn' | 'error';
  message: string;
  fields: LogFields;
}

/** A log that keeps its lines and metrics, each with the run that it names. */
export function recordingLog() {
  const lines: Logged[] = [];
  const measured: { run: RunFields; values: Measures; outcome: string | undefined }[] = [];
  return { lines, measured, ...logAbout({}) };

  function logAbout(run: RunFields): FunctionLog {
    const keep = (level: Logged['level']) => (message: string, fields: LogFields) => {
      lines.push({ level, message, fields: { ...run, ...fields } });
    };
    return {
      info: keep('info'),
      warn: keep('warn'),
      error: keep('error'),
      about: logAbout,
      measure: (values, outcome) => {
        measured.push({ run, values, outcome });
      },
    };
  }
}

/** The stopped clock: 01:10, ten minutes after the start of the run and fifty before its deadline. */
export const NOW = '2026-11-20T01:10:00.000Z';

export const at = (time: string) => () => new Date(time);

/** The dependencies of every step, without waits, randomness or output: jitter is in the middle, time is plenty. */
export function testDeps(overrides: Partial<Invocation> = {}): Invocation & { log: ReturnType<typeof recordingLog> } {
  return {
    deployment: deployment(),
    now: at(NOW),
    random: () => 0.5,
    secondsLeft: () => 900,
    cpuMilliseconds: () => 0,
    requests: { crm: 0, file: 0, store: 0 },
    requestId: 'request-1',
    ...overrides,
    log: recordingLog(),
  };
}

/** The parts of Lambda's context that a step may read. Any other part is undefined, so a test would fail. */
export function lambdaContext(overrides: Partial<Context> = {}): Context {
  return { awsRequestId: 'request-7', getRemainingTimeInMillis: () => 900_000, ...overrides } as Context;
}

/** A composition for `asStep`: these clients, on a platform with the same log, clock and configuration. */
export function composed<C extends Pick<Invocation, 'deployment' | 'log' | 'now' | 'random'>>(
  deps: C,
): [connect: () => (invocation: Invocation) => C & Invocation, platform: Platform] {
  return [() => (invocation) => ({ ...deps, ...invocation }), { ...deps, deployment: () => deps.deployment }];
}
