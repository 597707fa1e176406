import { Socket } from 'node:net';
import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { vi } from 'vitest';

/** Turns of the event loop without traffic, after which all code counts as waiting for a timer. */
const QUIET_TURNS = 40;
/** The real time of silence after which a test fails. */
const LONGEST_SILENCE_MS = 20_000;

const realNow = performance.now.bind(performance);
const FAKED = ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/** The observed traffic. Virtual time stands still during a request. */
export interface Traffic {
  /** Grows with every piece of data that passes. */
  passed: number;
  /** The number of requests and queries in progress. */
  busy: number;
}

/**
 * Virtual time that advances, from timer to timer, only when all code waits. Time limits, waits between retries and all
 * clocks stay in step, and an hour takes no real time. It applies to the whole process until `end`.
 */
export function startVirtualTime(start: string, traffic: Traffic) {
  vi.useFakeTimers({ toFake: [...FAKED], now: new Date(start), fakeNodeBuiltins: true });
  vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(socketTimeout);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(signalAfter);
  countQueries(traffic);
  return {
    get time() {
      return Date.now();
    },
    set time(value: number) {
      vi.setSystemTime(value);
    },
    /** Advances time until the promise is settled. */
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
    /** Discards the timers of a process that died. */
    forget: async () => {
      vi.clearAllTimers();
      await quiet(traffic, () => false);
      vi.clearAllTimers();
    },
    end: () => {
      vi.restoreAllMocks();
      vi.useRealTimers();
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

/** Whether the process reads files in a thread: the SDK reads its settings, WriteChanges its copies of tables. */
function readsFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name));
}

/** The calls to DuckDB that wait for its threads. */
const QUERIES: [of: object, name: string][] = [
  [DuckDBInstance, 'create'],
  [DuckDBInstance.prototype, 'connect'],
  [DuckDBConnection.prototype, 'run'],
  [DuckDBConnection.prototype, 'runAndReadAll'],
];

/** Counts DuckDB's queries as traffic: its threads appear in no list of resources. */
function countQueries(traffic: Traffic): void {
  for (const [of, name] of QUERIES) {
    const methods = of as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const query = methods[name];
    vi.spyOn(methods, name).mockImplementation(async function (this: unknown, ...args) {
      traffic.busy += 1;
      return query?.apply(this, args).finally(() => {
        traffic.busy -= 1;
      });
    });
  }
}

const timeouts = new WeakMap<Socket, NodeJS.Timeout>();

/** Sockets measure silence with their own timers. */
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
