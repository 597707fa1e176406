import { z } from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import { type Effect, type Fault, type FaultInput, faultSchema } from './fault-schema.ts';

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
