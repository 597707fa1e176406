import { z } from 'zod';
import { type Entity, entitySchema } from '../core/config/entities.ts';

const FAULT_PATHS = ['fields', 'create', 'status', 'download', 'file', 'update', 'token', 'authorize'] as const;

const bytes = z.int().nonnegative();
const callNumber = z.int().positive();
const headers = z.record(z.string(), z.string());

const anywhere = {
  /** Sends this answer instead of the real one. The request is not carried out, unless `done` is set. */
  answer: z.strictObject({ status: z.int().min(200).max(599), headers: headers.optional(), body: z.json().optional() }),
  /** Carries the request out although `answer` is sent, as a gateway that timed out does. */
  done: z.literal(true),
  /** Sends 302 to this address; the request is not carried out. */
  redirect: z.string(),
  /** Resets the connection before the request is carried out, or after that but before the answer. */
  reset: z.enum(['before', 'after']),
  /** Waits that long before the request is carried out. */
  delaySeconds: z.number().nonnegative(),
  /** Declares the full length, then cuts the connection after that many bytes. */
  hangUp: bytes,
  /** Sends that many bytes, then stays silent on the open connection. */
  stallAfter: bytes,
};

type Rewrite = (content: Uint8Array, entity: Entity) => Uint8Array;

const onlyAt = {
  status: {
    /** The status word in the answer, documented or not. */
    status: z.string(),
  },
  create: {
    /** The id in the answer for the new export. */
    id: z.string(),
  },
  file: {
    contentType: z.string(),
    bytesPerSecond: z.int().positive(),
    /** The number of the call, counted since the fault was added, from which on the ETag differs. */
    etagChangesAt: callNumber,
    /** This content instead of the export, or a function of the export that makes it. */
    body: z.union([z.string(), z.instanceof(Uint8Array), z.custom<Rewrite>((value) => typeof value === 'function')]),
  },
};

const effectSchema = z.object({ ...anywhere, ...onlyAt.status, ...onlyAt.create, ...onlyAt.file }).partial();

/** The effects of all faults that hit one call, combined. */
export type Effect = z.infer<typeof effectSchema>;

function misplaced(fault: { path: string }): string[] {
  return Object.entries(onlyAt)
    .filter(([path]) => path !== fault.path)
    .flatMap(([, effects]) => Object.keys(effects))
    .filter((name) => name in fault);
}

export const faultSchema = z
  .strictObject({
    entity: z.optional(entitySchema),
    path: z.enum(FAULT_PATHS),
    /** Numbers of the calls to hit, from 1, counted per entity since the fault was added. */
    calls: z
      .union([z.literal('all'), z.array(callNumber), z.strictObject({ from: callNumber, to: callNumber.optional() })])
      .default('all'),
    /** Updates only: hits the calls for these ids, and counts them for each id separately. */
    customers: z.array(z.guid()).nonempty().optional(),
    ...effectSchema.shape,
  })
  .superRefine((fault, context) => {
    for (const name of misplaced(fault)) {
      context.addIssue({ code: 'custom', path: [name], message: `has no effect at ${fault.path}` });
    }
    if (fault.path === 'file' && fault.reset === 'after') {
      context.addIssue({ code: 'custom', path: ['reset'], message: 'has no "after" at file: use hangUp' });
    }
    if (fault.path !== 'update' && fault.customers) {
      context.addIssue({ code: 'custom', path: ['customers'], message: `has no effect at ${fault.path}` });
    }
  });

/** A fault as tests and `POST /_sandbox/faults` write it. */
export type FaultInput = z.input<typeof faultSchema>;
export type CallKind = FaultInput['path'] | 'other';
type Fault = z.infer<typeof faultSchema>;

interface Armed {
  id: number;
  fault: Fault;
  /** Calls seen since the fault was added, for each entity, or for each of the customers. */
  seen: Map<string, number>;
}

/** The merged effects on a call and the ids of the faults. */
export interface Hit {
  ids: number[];
  effect: Effect;
  /** The largest call number among the faults that hit, for `etagChangesAt`. */
  callNumber: number;
}

function isHit(calls: Fault['calls'], n: number): boolean {
  if (calls === 'all') return true;
  if (Array.isArray(calls)) return calls.includes(n);
  return n >= calls.from && n <= (calls.to ?? Number.POSITIVE_INFINITY);
}

/** The armed faults, as data. Several may hit the same call: effects add up, and the latest wins. */
export class Faults {
  #armed: Armed[] = [];
  #lastId = 0;

  /** Arms a fault. @returns its id in the ledger. @throws Error that names every invalid part of the fault. */
  add(input: FaultInput): number {
    const parsed = faultSchema.safeParse(input);
    if (!parsed.success) throw new Error(`Not a fault: ${z.prettifyError(parsed.error)}`);
    this.#lastId += 1;
    this.#armed.push({ id: this.#lastId, fault: parsed.data, seen: new Map() });
    return this.#lastId;
  }

  remove(id: number): void {
    this.#armed = this.#armed.filter((armed) => armed.id !== id);
  }

  clear(): void {
    this.#armed = [];
  }

  /** Counts a call of a path, per entity (or per customer if the fault names customers), and returns its faults. */
  hit(path: string, entity: Entity | undefined, customer = ''): Hit {
    const hit: Hit = { ids: [], effect: {}, callNumber: 0 };
    for (const { id, fault, seen } of this.#armed) {
      const { entity: faultEntity, path: faultPath, calls, customers, ...effect } = fault;
      if (faultPath !== path || (faultEntity !== undefined && faultEntity !== entity)) continue;
      if (customers && !customers.includes(customer)) continue;
      const counted = customers ? customer : (entity ?? '');
      const n = (seen.get(counted) ?? 0) + 1;
      seen.set(counted, n);
      if (!isHit(calls, n)) continue;
      Object.assign(hit.effect, effect);
      hit.ids.push(id);
      hit.callNumber = Math.max(hit.callNumber, n);
    }
    return hit;
  }
}
