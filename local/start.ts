import { once } from 'node:events';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { codeOf, USAGE } from '../cli/support/exit.ts';
import { printJson } from '../cli/support/print.ts';
import type { Target } from '../cli/support/target.ts';
import { ConfigurationError } from '../core/config/configuration.ts';
import { RunError } from '../core/errors.ts';
import type { Cloud } from './cloud.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { parseOptions, type StartOptions } from './options.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import type { ProcessIdentity } from './processes/process-table.ts';
import { lastLines } from './processes/processes.ts';
import { endLeftovers, npmAbove, openRunRecord, type RunRecord, whenGone } from './processes/run-record.ts';
import type { FinishedRun } from './runs.ts';
import { createScreen, type Screen } from './screen.ts';

/** `npm start`: the nightly export, end to end, on this machine. */

const CACHE = join(import.meta.dirname, '..', '.cache');
const INTERRUPTED = 130;

async function main(): Promise<number> {
  const json = process.argv.includes('--json');
  const screen = createScreen(json ? process.stderr : process.stdout);
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => interrupt.abort(new Error(`interrupted by ${name}`)));
  }
  const npm = npmAbove();
  whenGone(npm, () => interrupt.abort(new Error('npm has ended')));
  // The reader of the output may have ended. Its end must not end this process before the cleanup.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const options = parseOptions(process.argv.slice(2), process.env);
    return await withRecord(screen, npm, interrupt.signal, (record) =>
      start(options, screen, record, interrupt.signal),
    );
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // help was requested
    if (json) printJson({ ok: false, runs: [], error: messageOf(error) });
    if (!interrupt.signal.aborted) return exitCodeOf(error, screen);
    screen.line('Interrupted: everything that was started is ended.');
    return INTERRUPTED;
  }
}

/** Ends the processes that a killed start left, runs the work, and ends all its processes. */
async function withRecord(
  screen: Screen,
  npm: ProcessIdentity | undefined,
  signal: AbortSignal,
  work: (record: RunRecord) => Promise<number>,
): Promise<number> {
  const ended = await endLeftovers(CACHE);
  if (ended.length > 0) screen.line(`Ended what an earlier start left running: ${ended.join(', ')}.`);
  const record = await openRunRecord(CACHE, npm);
  let failed = true;
  try {
    const code = await work(record);
    failed = false;
    return code;
  } catch (error) {
    // Shows the log before the record is closed, which removes it.
    if (error instanceof EnvironmentError && error.logFile) await showLog(screen, error.logFile);
    throw error;
  } finally {
    await record.close({ keepWorkDir: failed && !signal.aborted });
  }
}

async function start(options: StartOptions, screen: Screen, record: RunRecord, signal: AbortSignal): Promise<number> {
  // Other modules load later, so that a mistyped option is reported at once.
  enableCompileCache(COMPILE_CACHE);
  const { openSession } = await import('./session.ts');
  const session = await openSession(options, { screen, record, signal });
  try {
    const [{ runAll, nightBefore }, { secondNight }, { showSummary, showTables, endpointLines }] = await Promise.all([
      import('./runs.ts'),
      import('./second-night.ts'),
      import('./summary.ts'),
    ]);
    screen.line(`Runs of ${options.entities.join(', ')}`);
    const { target } = session;
    const orDied = <T>(work: Promise<T>) => Promise.race([work, died(session.cloud)]);
    const date = nightBefore(target, options.secondNight ? 1 : 0);
    const runs = await orDied(runAll(target, options.entities, screen, signal, date));
    await showLogs(screen, target, runs);
    showSummary(screen, runs, session.target.BucketName);
    const tables = !options.tables || (await orDied(showTables(target, runs, screen)));
    const night = { entities: options.entities, date: nightBefore(target, 0), screen, signal };
    const second = options.secondNight ? await orDied(secondNight(session, night)) : { ok: true, reports: [] };
    const ok = tables && second.ok && runs.every(({ published }) => published !== undefined);
    const { cloud, crm } = session;
    const endpoints = options.keep && { endpoints: { aws: cloud.endpoint, crm: crm.url, auth: crm.authUrl } };
    if (options.json) printJson({ ok, runs: [...runs.map(({ report }) => report), ...second.reports], ...endpoints });
    if (options.keep) {
      for (const line of endpointLines(session, runs)) screen.line(line);
      await aborted(signal, died(session.cloud));
    }
    return ok ? 0 : 1;
  } finally {
    await session.close();
  }
}

/**
 * Resolves when a signal aborts. Until then it keeps the process alive.
 * @throws the error of `ended`, if that comes first
 */
async function aborted(signal: AbortSignal, ended: Promise<never>): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => undefined, 60_000);
  try {
    await Promise.race([once(signal, 'abort'), ended]);
  } finally {
    clearInterval(alive);
  }
}

/** Rejects when the local cloud ends, which it does not by itself: the session cannot continue without it. */
async function died({ exited, logFile }: Cloud): Promise<never> {
  if (!exited) return new Promise(() => {});
  await exited;
  throw new EnvironmentError('The local cloud ended in the middle. Start again; its log may say why.', { logFile });
}

/** Shows the log lines of the functions about runs that failed. */
async function showLogs(screen: Screen, target: Target, runs: FinishedRun[]): Promise<void> {
  const { runLog } = await import('./runs.ts');
  for (const { report } of runs.filter(({ published }) => !published)) {
    const lines = await runLog(target, report.run);
    screen.line(`\nThe last lines of the log of ${report.entity}:`);
    for (const line of lines) screen.line(`  ${line}`);
  }
}

function exitCodeOf(error: unknown, screen: Screen): number {
  if (error instanceof CommanderError) return USAGE;
  screen.line(messageOf(error));
  if (error instanceof RunError) return codeOf(error);
  if (error instanceof ConfigurationError) return USAGE;
  return error instanceof Error && 'exitCode' in error ? Number(error.exitCode) : 3;
}

function messageOf(error: unknown): string {
  if (error instanceof RunError) return `${error.name}: ${error.failure.cause}`;
  return error instanceof Error ? error.message : String(error);
}

async function showLog(screen: Screen, file: string): Promise<void> {
  screen.line(`\nThe last lines of ${file}:`);
  for (const line of await lastLines(file, 15)) screen.line(`  ${line}`);
  screen.line('');
}

process.exitCode = await main();
