import { copyFile } from 'node:fs/promises';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { codeOf, ENVIRONMENT, INTERRUPTED, USAGE } from '../cli/support/exit.ts';
import { printJson } from '../cli/support/print.ts';
import { ConfigurationError } from '../core/config/configuration.ts';
import { RunError } from '../core/errors.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { parseOptions, type StartOptions } from './options.ts';
import { EnvironmentError } from './processes/environment-error.ts';
import { lastLines } from './processes/processes.ts';
import { openRunRecord } from './processes/run-record.ts';
import { createScreen, type Screen } from './screen.ts';
import type { SessionDeps } from './session.ts';

/** `npm start`: the nightly export, end to end, on this machine. */

const CACHE = join(import.meta.dirname, '..', '.cache');
const WATCH_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The user, a supervisor or npm's end stops the start. */
class Interrupted extends Error {}

async function main(): Promise<number> {
  const json = process.argv.includes('--json');
  const screen = createScreen(json ? process.stderr : process.stdout);
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => interrupt.abort(new Interrupted(`interrupted by ${name}`)));
  }
  whenNpmEnds(() => interrupt.abort(new Interrupted('npm has ended')));
  // The reader of the output may have ended. Its end must not end this process before the cleanup.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    return await withRecord(parseOptions(process.argv.slice(2), process.env), screen, interrupt);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // help was requested
    if (json) printJson({ ok: false, runs: [], error: messageOf(error) });
    if (!(error instanceof Interrupted)) return exitCodeOf(error, screen);
    screen.line('Interrupted. Everything that was started has ended.');
    return INTERRUPTED;
  }
}

/** Runs the start, and ends all its processes. */
async function withRecord(options: StartOptions, screen: Screen, interrupt: AbortController): Promise<number> {
  const record = await openRunRecord(CACHE);
  try {
    return await start(options, { screen, record, interrupt });
  } catch (error) {
    // Other errors follow from the reason of the interrupt.
    const reason: unknown = interrupt.signal.aborted ? interrupt.signal.reason : error;
    // Closing the record removes the log.
    if (reason instanceof EnvironmentError && reason.logFile) await showLog(screen, reason.logFile);
    throw reason;
  } finally {
    await record.close();
  }
}

async function start(options: StartOptions, deps: SessionDeps): Promise<number> {
  // Other modules load later, so that a mistyped option is reported at once.
  enableCompileCache(COMPILE_CACHE);
  const { screen, interrupt } = deps;
  const { openSession } = await import('./session.ts');
  const session = await openSession(options, deps);
  try {
    const { endpointLines, night, secondNight } = await import('./nights.ts');
    const first = await night(session, options);
    const second = options.secondNight ? await secondNight(session, options) : { ok: true, runs: [] };
    const ok = first.ok && second.ok;
    const { cloud, crm } = session;
    const endpoints = options.keep && { endpoints: { aws: cloud.endpoint, crm: crm.url, auth: crm.authUrl } };
    if (options.json)
      printJson({ ok, runs: [...first.runs, ...second.runs].map(({ report }) => report), ...endpoints });
    if (options.keep) {
      for (const line of endpointLines(session)) screen.line(line);
      await interrupted(interrupt.signal);
    }
    return ok ? 0 : 1;
  } finally {
    await session.close();
  }
}

/** Calls back once the npm that runs this program has ended, which alone does not end what npm started. */
function whenNpmEnds(ended: () => void): void {
  // The script of package.json replaces its shell, so npm is the parent.
  const npm = process.ppid;
  const endAfterNpm = () => process.ppid !== npm && ended();
  if (process.env.npm_lifecycle_event !== undefined) setInterval(endAfterNpm, WATCH_MS).unref();
}

/** Keeps the process alive until a person interrupts it. @throws the reason of any other interrupt */
async function interrupted(signal: AbortSignal): Promise<void> {
  try {
    await sleep(LONGEST_TIMER_MS, undefined, { signal });
  } catch (error) {
    if (!(signal.reason instanceof Interrupted)) throw error;
  }
}

function exitCodeOf(error: unknown, screen: Screen): number {
  if (error instanceof CommanderError) return USAGE;
  screen.line(messageOf(error));
  if (error instanceof RunError) return codeOf(error);
  if (error instanceof ConfigurationError) return USAGE;
  return error instanceof Error && 'exitCode' in error ? Number(error.exitCode) : ENVIRONMENT;
}

function messageOf(error: unknown): string {
  if (error instanceof RunError) return `${error.name}: ${error.failure.cause}`;
  return error instanceof Error ? error.message : String(error);
}

/** Shows the end of a log and keeps a copy of it. */
async function showLog(screen: Screen, file: string): Promise<void> {
  const kept = join(CACHE, basename(file));
  await copyFile(file, kept).catch(() => undefined);
  screen.line(`\nThe last lines of ${kept}:`);
  for (const line of await lastLines(file, 15)) screen.line(`  ${line}`);
  screen.line('');
}

process.exitCode = await main();
