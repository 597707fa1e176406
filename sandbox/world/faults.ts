import { z } from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import { type Effect, type Fault, type FaultInput, faultSchema } from './fault-schema.ts';

interface Armed {
  id: number;
  fault: Fault;
  customers: Set<string> | undefined;
  /** Calls seen since the fault was added, for each entity, or for each of the customers. */
  seen: Map<string, number>;
}

/** What a call runs into: the merged effects, its number for `etagChangesAt`, and the ids of the faults. */
export interface Hit {
  ids: number[];
  effect: Effect;
  /** The largest call number among the faults that hit. */
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

  /**
   * Arms a fault and returns its id, under which the ledger names it.
   * @throws Error that names every part of the fault which does not hold.
   */
  add(input: FaultInput): number {
    const parsed = faultSchema.safeParse(input);
    if (!parsed.success) throw new Error(`Not a fault: ${z.prettifyError(parsed.error)}`);
    this.#lastId += 1;
    const { customers } = parsed.data;
    this.#armed.push({
      id: this.#lastId,
      fault: parsed.data,
      customers: customers && new Set(customers),
      seen: new Map(),
    });
    return this.#lastId;
  }

  clear(): void {
    this.#armed = [];
  }

  /**
   * Counts a call at that path and returns what it runs into. An entity is counted apart from the others; so is a customer
   * (the id in an update) where the fault names customers.
   */
  hit(path: string, entity: Entity | undefined, customer = ''): Hit {
    const hit: Hit = { ids: [], effect: {}, callNumber: 0 };
    for (const { id, fault, customers, seen } of this.#armed) {
      if (fault.path !== path || (fault.entity !== undefined && fault.entity !== entity)) continue;
      if (customers && !customers.has(customer)) continue;
      const counted = customers ? customer : (entity ?? '');
      const n = (seen.get(counted) ?? 0) + 1;
      seen.set(counted, n);
      if (!isHit(fault.calls, n)) continue;
      const { entity: _entity, path: _path, calls: _calls, customers: _customers, ...effect } = fault;
      Object.assign(hit.effect, effect);
      hit.ids.push(id);
      hit.callNumber = Math.max(hit.callNumber, n);
    }
    return hit;
  }
}
