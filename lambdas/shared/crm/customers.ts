import type { RunError, RunErrorName } from '../errors.ts';
import { neverSent } from '../network-errors.ts';
import { retryAfterSeconds } from '../retry-after.ts';
import type { Call } from './call.ts';
import type { CrmExchange } from './client.ts';
import { refusal } from './refusals.ts';

/** No refusal that names fields is longer; beyond this it is not read. */
const LONGEST_REFUSAL = 64 * 1024;

/** What became of one `PATCH /customers/{id}` (`docs/interface/`, section 4.1). No value of a customer is in it. */
export interface UpdateAnswer {
  /** HTTP status; `null` when the request was sent and never answered. */
  status: number | null;
  /** `null` where the change was confirmed. */
  error: { name: RunErrorName; message: string } | null;
  /** The wait that the service asks for before the next attempt. */
  retryAfterSeconds?: number | undefined;
  /** Of a 422: those of the sent fields that the service names. */
  fields?: string[];
}

/**
 * Sends one change. An update is idempotent: one without an answer may be sent again.
 *
 * @throws RunError when nothing was sent: no connection (`CrmUnavailable`), or no token (whatever `GetAccessToken` throws).
 */
export async function updateCustomer(
  crm: CrmExchange,
  id: string,
  fields: object,
  now: () => Date,
): Promise<UpdateAnswer> {
  const call: Call = { method: 'patch', path: `customers/${id}`, template: '/customers/{id}', json: fields };
  const exchange = await crm.exchange(call);
  if (!exchange.response) {
    if (neverSent(exchange.unanswered)) throw exchange.unanswered;
    return { status: null, error: plain(exchange.unanswered) };
  }
  const { response, token, trouble } = exchange;
  const { status } = response;
  if (response.ok) {
    await drain(response);
    return { status, error: null };
  }
  if (trouble) return { status, error: plain(trouble), retryAfterSeconds: trouble.retryAfterSeconds };
  const named = status === 422 ? { fields: fieldsNamedIn(await textOf(response), Object.keys(fields)) } : {};
  if (status !== 422) await drain(response);
  const error = plain(await refusal(response, call, token, now()));
  return { status, error, retryAfterSeconds: retryAfterSeconds(response.headers, now()), ...named };
}

function plain({ name, message }: RunError): { name: RunErrorName; message: string } {
  // The client's name for a 404 speaks of exports.
  return { name: name === 'ExportNotFound' ? 'CrmRejectedRequest' : name, message };
}

/** Reads what nobody needs, so that the connection can be used again. The status counts, whatever becomes of the body. */
async function drain(response: Response): Promise<void> {
  await textOf(response);
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > LONGEST_REFUSAL) break;
    }
  } catch {
    // What has come counts.
  }
  return text;
}

/** Names that stand in the answer by themselves, as a key, a text or the last part of a path; nothing else is kept. */
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
