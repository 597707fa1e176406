import { UPDATE_SCOPE } from '../config/scopes.ts';
import { entriesIn } from '../json.ts';
import type { CrmAnswer, Meaning } from './answers.ts';
import type { CrmCall } from './call.ts';
import type { CrmExchange } from './crm-client.ts';

/**
 * The answer to one `PATCH /customers/{id}` (`docs/interface/reference.md`), without customer data. A change that ended
 * in a `contradiction` is not sent again, because the CRM may have made it. After a `refused` 401 or 403, the error is
 * transient if the call could not be repeated with another token.
 */
export interface UpdateAnswer extends Meaning {
  /** `null` if the CRM did not answer. */
  status: number | null;
  /** If the CRM refused values: the sent fields that its answer names. */
  fields?: string[];
  /** The answer is 403, and the token lacks the scope for updates. */
  scopeMissing?: boolean;
}

/**
 * Sends one change. Updates are idempotent, so an update without an answer may be sent again.
 * @throws RunError if no request was sent: see `CrmExchange.exchange`
 */
export async function updateCustomer(
  crm: CrmExchange,
  id: string,
  fields: object,
  how: Pick<CrmCall, 'secondsLeft' | 'confirmation'> = {},
): Promise<UpdateAnswer> {
  const call: CrmCall = { operation: 'update', entity: 'customers', id, json: fields, ...how };
  const { answer, outcome, error, token } = await crm.exchange(call);
  if (!answer) return { status: null, outcome, error };
  const { status, ok } = answer;
  return {
    status,
    outcome,
    error,
    // After a 422, an empty list means that the answer names no field.
    ...((status === 422 || (ok && outcome === 'refused')) && { fields: namedIn(answer, fields) }),
    ...(status === 403 && outcome === 'refused' && { scopeMissing: isScopeMissing(token.scope) }),
  };
}

/** If the token endpoint did not list the scopes of a token, no scope counts as missing. */
function isScopeMissing(scope: string): boolean {
  const scopes = scope.split(/\s+/).filter(Boolean);
  return scopes.length > 0 && !scopes.includes(UPDATE_SCOPE);
}

/** The sent fields that the answer names as a key, a text or the last part of a path. Nothing else is kept. */
function namedIn({ body }: CrmAnswer, fields: object): string[] {
  const texts = entriesIn(body)
    .flat()
    .filter((text) => typeof text === 'string');
  const words = new Set(texts.map((text) => text.split(/[./]/).at(-1)));
  return Object.keys(fields).filter((name) => words.has(name));
}
