import { type Definition, type Retrier, type State, stateOf } from './definition.ts';

/** A clock that moves only when the machine waits. */
export interface Clock {
  now(): Date;
}

/** Returns the answer of an invocation, or throws as the platform or a bug would. */
export type Invoke = (step: string, payload: unknown, clock: Clock) => Promise<unknown>;

export interface Execution {
  status: 'SUCCEEDED' | 'FAILED';
  error?: string;
  cause?: string;
  output?: unknown;
  /** Ids of the states in the order in which they were entered. */
  trail: string[];
  /** The number of history entries that AWS would write. */
  events: number;
  seconds: number;
}

export interface Options {
  name?: string;
  input?: unknown;
  start?: string;
  /** The random number in [0, 1] for the delay of a retrier with full jitter. */
  drawn?: number;
  /** The time in milliseconds since the epoch. By default it advances only during the machine's waits. */
  clock?: { time: number };
  /** The items of a Map's reader for these parameters. */
  items?: (parameters: Record<string, unknown>) => Promise<unknown[]>;
}

/** AWS ends an execution with more history entries. */
export const MOST_EVENTS = 25_000;

/**
 * History entries of an execution, as recorded on AWS:
 * - ExecutionStarted, and ExecutionSucceeded or ExecutionFailed;
 * - StateEntered and StateExited for each Pass, Task, Choice, Wait and Succeed; StateEntered alone for a Fail;
 * - TaskScheduled, TaskStarted, and TaskSucceeded or TaskFailed for each attempt of a lambda:invoke. A retry has no
 * entry of its own, and a caught task is exited like any other.
 */
export const EVENTS = { execution: 2, enteredAndExited: 2, failEntered: 1, attempt: 3 };

/** The history entries of one state without retries. */
export function eventsOf(state: State): number {
  if (state.Type === 'Fail') return EVENTS.failEntered;
  return EVENTS.enteredAndExited + (state.Type === 'Task' ? EVENTS.attempt : 0);
}

/** The platform's error for a call that our code never answered. It does not pass through the wrapper. */
export class PlatformError extends Error {
  constructor(name: string) {
    super('made by the platform');
    this.name = name;
  }
}

/** An error that ends an execution at once: no Catch applies to a wrong path. */
class RuntimeFailure extends Error {}

/** Runs a machine of the portable subset (Pass, Task, Choice, Wait, Map, Succeed, Fail; JSONPath). */
export async function execute(definition: Definition, invoke: Invoke, options: Options = {}): Promise<Execution> {
  const run = new Run(invoke, options);
  try {
    return await run.execute(definition);
  } catch (error) {
    if (error instanceof RuntimeFailure) return run.failed('States.Runtime', error.message);
    throw error;
  }
}

class Run {
  private readonly trail: string[] = [];
  private events = EVENTS.execution;
  private readonly startedAt: string;
  private readonly clock: { time: number };
  private readonly invoke: Invoke;
  private readonly options: Options;

  constructor(invoke: Invoke, options: Options) {
    this.invoke = invoke;
    this.options = options;
    this.startedAt = options.start ?? '2026-01-01T22:30:00.000Z';
    this.clock = options.clock ?? { time: Date.parse(this.startedAt) };
  }

  async execute(definition: Definition, input: unknown = this.options.input ?? {}): Promise<Execution> {
    let data = input;
    for (let id: string | undefined = definition.StartAt; id !== undefined; ) {
      const state = stateOf(definition, id);
      this.trail.push(id);
      this.events += state.Type === 'Task' ? EVENTS.enteredAndExited : eventsOf(state);
      if (this.events > MOST_EVENTS) throw new RuntimeFailure(`the history has more than ${MOST_EVENTS} entries`);
      if (state.Type === 'Fail') return this.fail(state, data);
      if (state.Type === 'Succeed') return { ...this.figures(), status: 'SUCCEEDED', output: data };
      [id, data] = await this.next(id, state, data);
    }
    throw new Error('the machine stopped without an end');
  }

  failed(error: string, cause: string): Execution {
    return { ...this.figures(), status: 'FAILED', error, cause };
  }

  private figures() {
    const seconds = (this.clock.time - Date.parse(this.startedAt)) / 1000;
    return { trail: this.trail, events: this.events, seconds };
  }

  private async next(id: string, state: State, data: unknown): Promise<[next: string | undefined, data: unknown]> {
    switch (state.Type) {
      case 'Pass':
        return [state.Next, this.passed(state, data)];
      case 'Wait':
        this.wait(data, state.SecondsPath ?? '');
        return [state.Next, data];
      case 'Choice':
        return [this.choose(state, data), data];
      case 'Task':
        return this.task(id, state, data);
      case 'Map':
        return this.map(state, data);
      default:
        throw new Error(`no state of type ${state.Type} is followed by another`);
    }
  }

  private passed({ Parameters, Result, ResultPath }: State, data: unknown): unknown {
    if (Result === undefined) return this.filled(Parameters ?? {}, data);
    return { ...(data as object), [String(ResultPath).replace(/^\$\./, '')]: Result };
  }

  private wait(data: unknown, path: string): void {
    const seconds = read(data, path);
    if (!Number.isInteger(seconds) || Number(seconds) < 0) throw new RuntimeFailure(`${path} is no number of seconds`);
    this.clock.time += Number(seconds) * 1000;
  }

  private choose(state: State, data: unknown): string | undefined {
    const chosen = state.Choices?.find(({ Variable, StringEquals, IsPresent }) =>
      IsPresent === undefined ? read(data, Variable) === StringEquals : isPresent(data, Variable) === IsPresent,
    );
    return chosen?.Next ?? state.Default;
  }

  private async task(step: string, state: State, data: unknown): Promise<[string | undefined, unknown]> {
    const payload = this.filled(state.Parameters ?? {}, data).Payload;
    try {
      const answer = await this.attempts(step, payload, state.Retry ?? []);
      if (state.ResultPath === null) return [state.Next, data];
      return [state.Next, read({ Payload: answer }, state.OutputPath ?? '$')];
    } catch (error) {
      const [name, cause] = error instanceof Error ? [error.name, error.message] : ['Error', ''];
      const caught = state.Catch?.find(
        ({ ErrorEquals }) => ErrorEquals.includes(name) || ErrorEquals[0] === 'States.ALL',
      );
      if (!caught) throw new RuntimeFailure(name);
      if (caught.ResultPath === null) return [caught.Next, data];
      const key = caught.ResultPath.replace(/^\$\./, '');
      return [caught.Next, { ...(data as object), [key]: { Error: name, Cause: cause } }];
    }
  }

  /** Runs the children one after the other. Their answers are discarded, and their failures do not count. */
  private async map(state: State, data: unknown): Promise<[string | undefined, unknown]> {
    const { ItemProcessor, ItemReader, ItemSelector = {} } = state;
    if (!ItemProcessor || !ItemReader) throw new Error('a map without reader or processor is not known here');
    const items = (await this.options.items?.(this.filled(ItemReader.Parameters, data))) ?? [];
    for (const item of items) {
      const input = this.filled(ItemSelector, data, item);
      await new Run(this.invoke, { ...this.options, clock: this.clock }).execute(ItemProcessor, input);
    }
    return [state.Next, data];
  }

  /** Runs a step with its retriers. Each counts its own attempts and always draws the same jitter. */
  private async attempts(step: string, payload: unknown, retriers: Retrier[]): Promise<unknown> {
    const used = new Map<Retrier, number>();
    for (;;) {
      this.events += EVENTS.attempt;
      try {
        return copy(await this.invoke(step, copy(payload), { now: () => new Date(this.clock.time) }));
      } catch (error) {
        const retrier = retriers.find(({ ErrorEquals }) => error instanceof Error && ErrorEquals.includes(error.name));
        const times = retrier ? (used.get(retrier) ?? 0) : 0;
        if (!retrier || times >= retrier.MaxAttempts) throw error;
        used.set(retrier, times + 1);
        const drawn = retrier.JitterStrategy === 'NONE' ? 1 : (this.options.drawn ?? 0);
        this.clock.time += largestDelay(retrier, times) * drawn * 1000;
      }
    }
  }

  private filled(template: Record<string, unknown>, data: unknown, item?: unknown): Record<string, unknown> {
    const context = {
      Map: { Item: { Value: item } },
      Execution: { Input: this.options.input ?? {}, Name: this.options.name ?? 'run-1', StartTime: this.startedAt },
    };
    return Object.fromEntries(
      Object.entries(template).map(([key, value]) => {
        if (!key.endsWith('.$')) return [key, value];
        const path = String(value);
        return [key.slice(0, -2), path.startsWith('$$') ? read(context, path.slice(1)) : read(data, path)];
      }),
    );
  }

  private fail(state: State, data: unknown): Execution {
    return this.failed(
      state.ErrorPath ? String(read(data, state.ErrorPath)) : String(state.Error),
      state.CausePath ? textOf(data, state.CausePath) : String(state.Cause),
    );
  }
}

/** The longest delay before an attempt. Full jitter draws between zero and this delay. */
function largestDelay(retrier: Retrier, times: number): number {
  return Math.min(retrier.IntervalSeconds * retrier.BackoffRate ** times, retrier.MaxDelaySeconds);
}

/** The longest delays before the attempts of a retrier. */
export function delaysOf(retrier: Retrier): number[] {
  return Array.from({ length: retrier.MaxAttempts }, (_, times) => largestDelay(retrier, times));
}

/** The text of a path, or of States.Format with a sentence and paths. */
function textOf(data: unknown, path: string): string {
  const format = /^States\.Format\('([^']*)', (.*)\)$/.exec(path);
  if (!format) return String(read(data, path));
  const values = (format[2] ?? '').split(', ').map((argument) => String(read(data, argument)));
  return (format[1] ?? '').replaceAll('{}', () => values.shift() ?? '');
}

function read(data: unknown, path: string): unknown {
  if (path === '$') return data;
  let value = data;
  for (const key of path.replace(/^\$\./, '').split('.')) {
    if (typeof value !== 'object' || value === null || !(key in value)) throw new RuntimeFailure(`${path} is absent`);
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function isPresent(data: unknown, path: string): boolean {
  try {
    read(data, path);
    return true;
  } catch {
    return false;
  }
}

/** Copies through JSON: states pass on JSON, not objects. */
function copy(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
