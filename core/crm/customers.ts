import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import { UPDATE_SCOPE } from '../config/scopes.ts';
import type { RunError, RunErrorName } from '../errors.ts';
import { neverSent } from '../http/network-errors.ts';
import type { WholeAnswer } from '../http/whole-answer.ts';
import { jsonOrUndefined } from '../json.ts';
import type { CrmCall } from './call.ts';
import type { CrmExchange } from './client.ts';
import { maybeProcessed, refusal } from './refusals.ts';

/** The answer to one `PATCH /customers/{id}` (`docs/interface/`, section 4.1). It holds no value of a customer. */
export interface UpdateAnswer {
  /** `null` when the request was sent and never answered. */
  status: number | null;
  /** `made`: a 200 with a JSON object. `refused`: a 4xx but 408 and 425. `unclear`: anything else. */
  change: 'made' | 'refused' | 'unclear';
  error: { name: RunErrorName; message: string } | null;
  retryAfterSeconds?: number | undefined;
  /** Those of the sent fields that the CRM names in a 422. */
  fields?: string[];
  /** Why the call could not be repeated with another token; the next invocation may. */
  trouble?: RunError;
  /** A 403 that says that the grant lacks the scope. */
  scopeMissing?: boolean;
}

/**
 * Sends one change. An update is idempotent: one without an answer may be sent again.
 * @throws RunError when nothing was sent: `CrmUnavailable`, or what `CrmExchange.exchange` throws
 */
export async function updateCustomer(
  crm: CrmExchange,
  id: string,
  fields: object,
  now: () => Date,
  inTime: () => boolean = () => true,
): Promise<UpdateAnswer> {
  const call: CrmCall = { method: 'patch', path: `customers/${id}`, template: '/customers/{id}', json: fields };
  const exchange = await crm.exchange(call, inTime);
  if (!exchange.response) {
    if (neverSent(exchange.unanswered)) throw exchange.unanswered;
    return { status: null, change: 'unclear', error: plain(exchange.unanswered) };
  }
  const { response, token, trouble } = exchange;
  const { status } = response;
  if (response.ok) return confirmation(response, call);
  const change = status >= 400 && status < 500 && !maybeProcessed(status) ? 'refused' : 'unclear';
  if (trouble) {
    const later = trouble.transient ? { trouble } : {};
    return { status, change, error: plain(trouble), retryAfterSeconds: trouble.retryAfterSeconds, ...later };
  }
  // The status counts, whatever became of the body.
  const text = status === 422 ? await response.text().catch(() => '') : '';
  const named = status === 422 ? { fields: fieldsNamedIn(text, Object.keys(fields)) } : {};
  const error = plain(refusal(response, call, token, now()));
  const scopes = status === 403 ? { scopeMissing: isScopeMissing(token.scope) } : {};
  return {
    status,
    change,
    error,
    retryAfterSeconds: retryAfterSeconds(response.headers.get('retry-after'), now()),
    ...named,
    ...scopes,
  };
}

/** A proxy may answer 200 as well. */
async function confirmation(response: WholeAnswer, call: CrmCall): Promise<UpdateAnswer> {
  const { status } = response;
  const text = await response.text().catch(() => undefined);
  if (status === 200 && text !== undefined && isJsonObject(text)) return { status, change: 'made', error: null };
  const what = text === undefined ? 'a body that broke off or is too long' : `${text.length} characters`;
  const message = `PATCH ${call.template} was answered ${status} with ${what}, not 200 with a JSON object: nothing confirms the change.`;
  return { status, change: 'unclear', error: { name: 'CrmContractError', message } };
}

function isJsonObject(text: string): boolean {
  const value = jsonOrUndefined(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Services need not say what scopes a token has. */
function isScopeMissing(scope: string): boolean {
  const scopes = scope.split(/\s+/).filter(Boolean);
  return scopes.length > 0 && !scopes.includes(UPDATE_SCOPE);
}

function plain({ name, message, status }: RunError): { name: RunErrorName; message: string } {
  // The client's name for a 404 speaks of exports.
  if (name !== 'ExportNotFound') return { name, message };
  return { name: 'CrmRejectedRequest', message: status === 404 ? `${message} There is no such customer.` : message };
}

/** Sent fields that the answer names: as a key, a text or the last part of a path. Nothing else is kept. */
function fieldsNamedIn(text: string, sent: string[]): string[] {
  const seen = new Set<string>();
  const note = (word: string) => seen.add(word.split(/[./]/).at(-1) ?? '');
  try {
    JSON.parse(text, (key, value) => {
      note(key);
      if (typeof value === 'string') note(value);
      return value;
    });
  } catch {
    return [];
  }
  return sent.filter((name) => seen.has(name));
}
