import { copyFile } from 'node:fs/promises';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { USAGE } from '../cli/support/exit.ts';
import { printJson } from '../cli/support/print.ts';
import { endWith, untilInterrupted } from '../cli/support/until-interrupted.ts';
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

async function main(): Promise<number> {
  const json = process.argv.includes('--json');
  const screen = createScreen(json ? process.stderr : process.stdout);
  endWithNpm();
  // With NODE_USE_ENV_PROXY, Node.js would call the services on this machine through the proxy. `*` counts only alone.
  const { NO_PROXY = '', no_proxy: direct = NO_PROXY } = process.env;
  if (direct !== '*') process.env.no_proxy = `${direct},127.0.0.1,localhost`;
  // The program that reads the output may have ended. That must not end this process before the cleanup.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const options = parseOptions(process.argv.slice(2), process.env);
    const words = 'Interrupted. Everything that was started has ended.';
    return await untilInterrupted(words, (signal) => withRecord(options, screen, signal));
  } catch (error) {
    // Commander has already printed its own errors and the help.
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return 0;
    const usage = isUsage && { sentence: error.message.replace(/^error: /, ''), code: USAGE };
    const { sentence, code } = usage || (await import('../cli/support/aws-error.ts')).describeError(error);
    if (json) printJson({ ok: false, runs: [], error: sentence });
    if (!isUsage) screen.line(sentence);
    return code;
  }
}

/** Runs the start, and ends all its processes. */
async function withRecord(options: StartOptions, screen: Screen, signal: AbortSignal): Promise<number> {
  const interrupt = new AbortController();
  signal.addEventListener('abort', () => interrupt.abort(signal.reason));
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
  const { endpointLines, night, secondNight } = await import('./nights.ts');
  const first = await night(session, options);
  const second = options.secondNight ? await secondNight(session, options) : { ok: true, runs: [] };
  const ok = first.ok && second.ok;
  const { cloud, crm } = session;
  const endpoints = options.keep && { endpoints: { aws: cloud.endpoint, crm: crm.baseUrl, auth: crm.authUrl } };
  if (options.json) printJson({ ok, runs: [...first.runs, ...second.runs].map(({ report }) => report), ...endpoints });
  if (options.keep) {
    for (const line of endpointLines(session)) screen.line(line);
    await sleep(LONGEST_TIMER_MS, undefined, { signal: interrupt.signal }).catch(() => undefined);
    // A person interrupted the start, or the local cloud ended.
    if (interrupt.signal.reason instanceof EnvironmentError) throw interrupt.signal.reason;
  }
  return ok ? 0 : 1;
}

/** Interrupts `npm start` once npm has ended, because the end of npm does not end the processes that npm started. */
function endWithNpm(): void {
  // The script of package.json replaces its shell, so npm is the parent.
  const npm = process.ppid;
  const endAfterNpm = () => process.ppid !== npm && process.emit('SIGHUP', 'SIGHUP');
  if (process.env.npm_lifecycle_event !== undefined) setInterval(endAfterNpm, WATCH_MS).unref();
}

/** Shows the end of a log and keeps a copy of it. */
async function showLog(screen: Screen, file: string): Promise<void> {
  const kept = join(CACHE, basename(file));
  await copyFile(file, kept).catch(() => undefined);
  screen.line(`\nThe last lines of ${kept}:`);
  for (const line of await lastLines(file, 15)) screen.line(`  ${line}`);
  screen.line('');
}

endWith(await main());
