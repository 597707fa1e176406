import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import timers from 'node:timers/promises';
import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { vi } from 'vitest';

/** Turns of the event loop without traffic after which everybody is taken to wait for a timer. */
const QUIET_TURNS = 40;
/** Real time of silence after which a test is wrong. */
const LONGEST_SILENCE_MS = 20_000;

const realNow = performance.now.bind(performance);
const FAKED = ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/** What is seen of the traffic: time stands still while a request is under way. */
export interface Traffic {
  /** Grows with everything that passes. */
  passed: number;
  /** Requests and queries that somebody is working on. */
  busy: number;
}

/**
 * Time that passes only when nobody does anything, from one timer to the next: time limits of requests, waits between
 * retries and the clocks of all sides are in step, and an hour takes no time. It is that of the whole process until `end`.
 */
export function startVirtualTime(start: string, traffic: Traffic) {
  vi.useFakeTimers({ toFake: [...FAKED], now: new Date(start) });
  const sleeps = vi.spyOn(timers, 'setTimeout').mockImplementation(sleep as typeof timers.setTimeout);
  syncBuiltinESMExports();
  const sockets = vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(socketTimeout);
  const limits = vi.spyOn(AbortSignal, 'timeout').mockImplementation(signalAfter);
  const endOfQueries = countQueries(traffic);
  return {
    get time() {
      return Date.now();
    },
    set time(value: number) {
      vi.setSystemTime(value);
    },
    /** Lets time pass until the promise is settled. */
    run: async <T>(promise: Promise<T>): Promise<T> => {
      let settled = false;
      const done = () => {
        settled = true;
      };
      promise.then(done, done);
      for (let since = realNow(); ; ) {
        await quiet(traffic, () => settled);
        if (settled) return promise;
        if (vi.getTimerCount() > 0) {
          vi.advanceTimersToNextTimer();
          since = realNow();
        } else if (realNow() - since > LONGEST_SILENCE_MS) throw new Error('Nothing will ever happen again.');
      }
    },
    /** What was left waiting by a process that died is never heard of again. */
    forget: async () => {
      vi.clearAllTimers();
      await quiet(traffic, () => false);
      vi.clearAllTimers();
    },
    end: () => {
      endOfQueries();
      limits.mockRestore();
      sockets.mockRestore();
      sleeps.mockRestore();
      vi.useRealTimers();
      syncBuiltinESMExports();
    },
  };
}

async function quiet(traffic: Traffic, over: () => boolean): Promise<void> {
  let { passed } = traffic;
  for (let turns = 0; turns < QUIET_TURNS && !over(); turns += 1) {
    await new Promise((turn) => setImmediate(turn));
    if (traffic.busy > 0 || traffic.passed !== passed || (turns === QUIET_TURNS - 1 && readsFiles())) turns = 0;
    ({ passed } = traffic);
  }
}

function sleep(ms = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(value), ms);
    const end = () => {
      clearTimeout(timer);
      reject(new DOMException('The operation was aborted', 'AbortError'));
    };
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** In a thread: the SDK reads its settings when a process makes its first client, WriteChanges its copies of tables, which it closes too. */
function readsFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name));
}

/** DuckDB works in threads of its own, which no list of resources names: a query is counted as a request is. */
function countQueries(traffic: Traffic): () => void {
  const counted = <T>(work: () => Promise<T>): Promise<T> => {
    traffic.busy += 1;
    return work().finally(() => {
      traffic.busy -= 1;
    });
  };
  const { create } = DuckDBInstance;
  const { connect } = DuckDBInstance.prototype;
  const { run, runAndReadAll } = DuckDBConnection.prototype;
  const spies = [
    vi.spyOn(DuckDBInstance, 'create').mockImplementation((...of) => counted(() => create.apply(DuckDBInstance, of))),
    vi.spyOn(DuckDBInstance.prototype, 'connect').mockImplementation(function (this: DuckDBInstance) {
      return counted(() => connect.call(this));
    }),
    vi.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(function (this: DuckDBConnection, ...of) {
      return counted(() => run.apply(this, of));
    }),
    vi.spyOn(DuckDBConnection.prototype, 'runAndReadAll').mockImplementation(function (this: DuckDBConnection, ...of) {
      return counted(() => runAndReadAll.apply(this, of));
    }),
  ];
  return () => {
    for (const spy of spies) spy.mockRestore();
  };
}

const timeouts = new WeakMap<Socket, NodeJS.Timeout>();

/** Sockets count their silence by timers of their own. */
function socketTimeout(this: Socket, ms: number, callback?: () => void): Socket {
  clearTimeout(timeouts.get(this));
  if (callback) this[ms === 0 ? 'off' : 'once']('timeout', callback);
  if (ms > 0)
    timeouts.set(
      this,
      setTimeout(() => this.emit('timeout'), ms),
    );
  return this;
}

function signalAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('timed out', 'TimeoutError')), ms);
  return controller.signal;
}
