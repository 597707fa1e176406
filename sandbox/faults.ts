import { z } from 'zod';
import { type Entity, entitySchema } from '../core/config/entities.ts';

const FAULT_PATHS = ['fields', 'create', 'status', 'download', 'file', 'update', 'token', 'authorize'] as const;

const bytes = z.int().nonnegative();
const callNumber = z.int().positive();
const headers = z.record(z.string(), z.string());

const anywhere = {
  /** This answer instead of the real one; the request is not carried out, unless `done` is set. */
  answer: z.strictObject({ status: z.int().min(200).max(599), headers: headers.optional(), body: z.json().optional() }),
  /** The request is carried out although `answer` is sent, as behind a gateway that timed out. */
  done: z.literal(true),
  /** 302 to this address; nothing is done. */
  redirect: z.string(),
  /** The connection is reset before anything is done, or after it was done but before it is answered. */
  reset: z.enum(['before', 'after']),
  /** The request waits that long before anything is done. */
  delaySeconds: z.number().nonnegative(),
  /** Declares the full length, cuts the connection after that many bytes. */
  hangUp: bytes,
  /** Sends that many bytes, then nothing more over an open connection. */
  stallAfter: bytes,
};

const onlyAt = {
  status: {
    /** The status word that is answered, of the document or not. */
    status: z.string(),
  },
  create: {
    /** The id that is answered for the new export. */
    id: z.string(),
  },
  file: {
    contentType: z.string(),
    bytesPerSecond: z.int().positive(),
    /** The ETag is another one from that call on, counted since the fault was added. */
    etagChangesAt: callNumber,
    /** This content instead of the export. */
    body: z.union([z.string(), z.instanceof(Uint8Array)]),
    /** The records of the export in another format: the document does not define one. */
    written: z.strictObject({
      format: z.enum(['csv', 'xlsx', 'json-lines']).default('csv'),
      /** `capitals`: names in other letters; `numbers`: texts that the interface lists nowhere. */
      header: z.enum(['names', 'labels', 'capitals', 'numbers', 'none']).default('names'),
      separator: z.enum([',', ';', '\t']).default(','),
      lineBreak: z.enum(['\r\n', '\n', '\r']).default('\r\n'),
      encoding: z.enum(['utf-8', 'utf-16le', 'windows-1255']).default('utf-8'),
      byteOrderMark: z.boolean().default(false),
      /** A first line `sep=;`, as Excel reads it. */
      separatorLine: z.boolean().default(false),
      /** A file of gzip or zip, as such: not as an encoding of its transfer. */
      packed: z.enum(['no', 'gzip', 'zip']).default('no'),
    }),
  },
};

const effectSchema = z.object({ ...anywhere, ...onlyAt.status, ...onlyAt.create, ...onlyAt.file }).partial();

/** What happens to one call: the effects of all faults that hit it, together. */
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
    /** 1-based numbers of the calls that are hit, counted per entity since the fault was added. */
    calls: z
      .union([z.literal('all'), z.array(callNumber), z.strictObject({ from: callNumber, to: callNumber.optional() })])
      .default('all'),
    /** Update: only the calls for these ids are hit, and numbered for each id apart. */
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

/** What a call runs into: the merged effects and the ids of the faults. */
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

/** The faults that are armed, as data. Several may hit the same call: their effects add up, the latest wins. */
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

  /** Counts a call at that path, per entity (per customer where the fault names customers), and returns its faults. */
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
