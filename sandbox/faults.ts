import { z } from 'zod';
import type { Entity } from '../core/config/entities.ts';
import { entitySchema } from '../core/config/entity-schema.ts';

const FAULT_PATHS = ['fields', 'create', 'status', 'download', 'file', 'update', 'token', 'authorize'] as const;

const callNumber = z.int().positive();

type Rewrite = (content: Uint8Array, entity: Entity) => Uint8Array;

const effectSchema = z
  .object({
    /** Sends this answer instead of the real one. The request is not carried out, unless `done` is set. */
    answer: z.strictObject({
      status: z.int().min(200).max(599),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.json().optional(),
      /** The body as bytes, such as a compressed text or one in another character set. */
      base64: z.base64().optional(),
    }),
    /** Carries the request out although `answer` is sent, as a gateway that timed out does. */
    done: z.literal(true),
    /** Resets the connection before the request is carried out, or between that and the answer. */
    reset: z.enum(['before', 'after']),
    /** Waits that long before the request is carried out, or until the fault is removed. */
    delaySeconds: z.number().nonnegative(),
    /** Declares the full length, then cuts the connection after that many bytes. */
    hangUp: z.int().nonnegative(),
    /** Sends that many bytes, then stays silent on the open connection. */
    stallAfter: z.int().nonnegative(),
    /** At `status`: the status word in the answer, documented or not. */
    status: z.string(),
    /** This effect and the three below are for `file`. The body is a content, or a function that makes it. */
    body: z.union([z.string(), z.instanceof(Uint8Array), z.custom<Rewrite>((value) => typeof value === 'function')]),
    contentType: z.string(),
    /** The ETag of the file, which otherwise depends on its content. */
    etag: z.string(),
    bytesPerSecond: z.int().positive(),
  })
  .partial();

/** The effects of all faults that hit one call, combined. */
export type Effect = z.infer<typeof effectSchema>;

export const faultSchema = z.strictObject({
  entity: z.optional(entitySchema),
  path: z.enum(FAULT_PATHS),
  /** Numbers of the calls to hit, from 1, counted per entity since the fault was added. */
  calls: z.union([z.array(callNumber), z.strictObject({ from: callNumber })]).default({ from: 1 }),
  /** Updates only: hits the calls for these ids, and counts them for each id separately. */
  customers: z.array(z.guid()).nonempty().optional(),
  ...effectSchema.shape,
});

/** A fault as tests and `POST /_sandbox/faults` write it. */
export type FaultInput = z.input<typeof faultSchema>;
export type CallKind = FaultInput['path'] | 'other';
type Fault = z.infer<typeof faultSchema>;

interface Armed {
  id: number;
  fault: Fault;
  /** Calls since the fault was added, by entity, or by customer if the fault names customers. */
  counts: Map<string, number>;
  removal: AbortController;
}

/** The merged effects on a call and the ids of the faults. */
export interface Hit {
  ids: number[];
  effect: Effect;
  /** Aborted when one of the faults is removed. */
  removed: AbortSignal;
}

const hits = (calls: Fault['calls'], n: number) => ('from' in calls ? n >= calls.from : calls.includes(n));

/** The armed faults, as data. Several may hit the same call: effects add up, and the latest wins. */
export class Faults {
  #armed: Armed[] = [];
  #lastId = 0;

  /** Arms a fault. @returns its id in the ledger. @throws Error that names every invalid part of the fault. */
  add(input: FaultInput): number {
    const parsed = faultSchema.safeParse(input);
    if (!parsed.success) throw new Error(`Not a fault: ${z.prettifyError(parsed.error)}`);
    this.#lastId += 1;
    this.#armed.push({ id: this.#lastId, fault: parsed.data, counts: new Map(), removal: new AbortController() });
    return this.#lastId;
  }

  /** Disarms a fault, and ends the delays of the calls that it holds. */
  remove(id: number): void {
    for (const { removal } of this.#armed.filter((armed) => armed.id === id)) removal.abort();
    this.#armed = this.#armed.filter((armed) => armed.id !== id);
  }

  clear(): void {
    for (const { id } of this.#armed) this.remove(id);
  }

  /** Counts a call of a path, per entity (or per customer if the fault names customers), and returns its faults. */
  hit(path: string, entity: Entity | undefined, customer = ''): Hit {
    const effects: Effect = {};
    const found: Armed[] = [];
    for (const armed of this.#armed) {
      const { fault, counts } = armed;
      const { entity: faultEntity, path: faultPath, calls, customers, ...effect } = fault;
      if (faultPath !== path || (faultEntity !== undefined && faultEntity !== entity)) continue;
      if (customers && !customers.includes(customer)) continue;
      const counted = customers ? customer : (entity ?? '');
      const n = (counts.get(counted) ?? 0) + 1;
      counts.set(counted, n);
      if (!hits(calls, n)) continue;
      Object.assign(effects, effect);
      found.push(armed);
    }
    const removed = AbortSignal.any(found.map(({ removal }) => removal.signal));
    return { ids: found.map(({ id }) => id), effect: effects, removed };
  }
}
