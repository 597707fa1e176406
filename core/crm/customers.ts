import { UPDATE_SCOPE } from '../config/scopes.ts';
import { entriesIn } from '../json.ts';
import type { CrmAnswer, Meaning } from './answers.ts';
import type { CrmCall } from './call.ts';
import type { CrmExchange } from './crm-client.ts';

/**
 * The answer to one `PATCH /customers/{id}` (`docs/interface/reference.md`), without customer data. After a
 * `contradiction`, the CRM may have made the change, so it is not sent again. After a `refused` 401 or 403 the error is
 * transient if the call could not be repeated with another token.
 */
export interface UpdateAnswer extends Meaning {
  /** `null` if the request was sent but not answered. */
  status: number | null;
  /** The sent fields that the CRM names when it refuses their values. */
  fields?: string[];
  /** The answer is a 403, and the token lacks the scope. */
  scopeMissing?: boolean;
}

/**
 * Sends one change. Updates are idempotent, so one without an answer may be sent again.
 * @throws RunError if no request was sent, see `CrmExchange.exchange`
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
    // After a 422 an empty list means that the CRM named no field.
    ...((status === 422 || (ok && outcome === 'refused')) && { fields: namedIn(answer, fields) }),
    ...(status === 403 && outcome === 'refused' && { scopeMissing: isScopeMissing(token.scope) }),
  };
}

/** Services need not list the scopes of a token: without a list, no scope counts as missing. */
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
