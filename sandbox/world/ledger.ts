import type { Entity } from '../../core/config/entities.ts';
import type { Clock } from './clock.ts';
import type { FaultInput } from './fault-schema.ts';

export type CallKind = FaultInput['path'] | 'other';

/** One call as the sandbox saw it. Holds no token, secret or signature. */
export interface LedgerCall {
  seq: number;
  /** ISO 8601, by the sandbox's clock. */
  at: string;
  method: string;
  /** The path without the query. */
  path: string;
  kind: CallKind;
  entity?: Entity;
  exportId?: string;
  /** The HTTP status answered; null while the call is in flight and where the connection was dropped without one. */
  status: number | null;
  /** Ids of the faults that hit this call. */
  faults: number[];
  /** Something that a correct client never does. */
  violation?: string;
  /** Create: the request body, and those of its keys that the interface document does not have. */
  request?: unknown;
  unknownKeys?: string[];
  /** First 8 hex digits of the SHA-256 of the access token, refresh token or code that was presented. */
  tokenFingerprint?: string;
  /** Token: the grant type, and whether something single-use was presented a second time. */
  grantType?: string;
  reuse?: boolean;
  /** Update: which customer, which fields, and whether the record was changed. */
  customerId?: string;
  fieldNames?: string[];
  applied?: boolean;
  /** File: the requested Range, the body bytes handed to the socket, and whether the body was sent to its end. */
  range?: string;
  bytes?: number;
  complete?: boolean;
}

type CallFilter = { kind?: CallKind | undefined; entity?: Entity | undefined };

/** Everything that the sandbox saw, in the order of arrival. */
export class Ledger {
  #calls: LedgerCall[] = [];
  #seq = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Enters a call that has just arrived; the caller completes the entry while it answers. */
  open(call: Pick<LedgerCall, 'method' | 'path' | 'kind'> & Partial<LedgerCall>): LedgerCall {
    this.#seq += 1;
    const entry = { seq: this.#seq, at: new Date(this.#clock.now()).toISOString(), status: null, faults: [], ...call };
    this.#calls.push(entry);
    return entry;
  }

  /** The calls of that kind and entity, oldest first; all of them without a filter. */
  calls({ kind, entity }: CallFilter = {}): LedgerCall[] {
    return this.#calls.filter(
      (call) => (kind === undefined || call.kind === kind) && (entity === undefined || call.entity === entity),
    );
  }

  count(filter: CallFilter = {}): number {
    return this.calls(filter).length;
  }

  /** The calls that a correct client would not have made: reuse of tokens, credentials sent to the file server. */
  violations(): LedgerCall[] {
    return this.#calls.filter((call) => call.violation !== undefined);
  }

  clear(): void {
    this.#calls = [];
  }
}
