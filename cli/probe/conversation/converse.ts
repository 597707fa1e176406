import { exceptedOf } from '../../../core/config/chosen-columns.ts';
import type { Deployment } from '../../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { Field } from '../../../core/crm/fields.ts';
import { meantBy } from '../../../core/export/left-out.ts';
import { buildRequest } from '../../../core/export/request.ts';
import { CommandError, ENVIRONMENT, INTERRUPTED, RUN_FAILED } from '../../support/exit.ts';
import { type Answer, Caller, type CallerDeps } from './caller.ts';
import type { Conversation, Exchange, SeenExport, SeenGrant, Step } from './exchange.ts';
import { lookForFields } from './fields.ts';
import { type ExportContext, OneExport, readAbsent } from './one-export.ts';

/** What a probe is told to do, and with what. */
export interface ProbeDeps
  extends Pick<
    ExportContext,
    'deployment' | 'deadlineSeconds' | 'elapsed' | 'sleep' | 'signal' | 'confirmHost' | 'limits'
  > {
  accessToken: string;
  grant: SeenGrant;
  /** Default: the first that answers its fields. */
  entity?: Entity | undefined;
  /** Asks once for a file before it is there. */
  early?: boolean | undefined;
  /** Filters of a second export. */
  filters?: Record<string, unknown>[] | undefined;
  /** One change of a customer. */
  change?: { customer: string; fields: Record<string, unknown> } | undefined;
  timeoutMs?: number | undefined;
  onCall?: CallerDeps['onCall'];
}

const TIMEOUT_MS = 30_000;

/** Why a meeting went no further. */
export interface Ended {
  sentence: string;
  code: number;
}

/** Meets the CRM within the bounds of a probe; what was seen until something failed is kept. */
export async function converse(deps: ProbeDeps): Promise<{ conversation: Conversation; ended: Ended | null }> {
  const { deployment, grant, accessToken, elapsed, sleep, signal, onCall } = deps;
  const { baseUrl, createTimeoutSeconds, scopes } = deployment.crm;
  const timeoutMs = deps.timeoutMs ?? Math.max(TIMEOUT_MS, createTimeoutSeconds * 1000);
  const caller = new Caller({ baseUrl, accessToken, timeoutMs, elapsed, sleep, signal, onCall });
  const conversation: Conversation = {
    grant,
    scopes,
    exchanges: caller.exchanges,
    fields: [],
    exports: [],
    update: null,
  };
  try {
    await meet(deps, caller, conversation);
    return { conversation, ended: null };
  } catch (error) {
    if (signal.aborted)
      return { conversation, ended: { sentence: 'Interrupted: nothing more was asked.', code: INTERRUPTED } };
    if (!(error instanceof CommandError)) throw error;
    return { conversation, ended: { sentence: error.message, code: error.exitCode } };
  }
}

async function meet(deps: ProbeDeps, caller: Caller, conversation: Conversation): Promise<void> {
  const lists = await askFields(deps, caller, conversation);
  const { entity, fields } = chosen(deps, caller, lists);
  const column = columnOf(deps.deployment, entity, fields);
  const context: ExportContext = { ...deps, caller, entity, column, fields };
  const ids = new Set<string>();
  const request = (filters?: Record<string, unknown>[]) => requestOf(deps.deployment, entity, column, filters);
  const begin = async (purpose: 'main' | 'early' | 'filter', filters?: Record<string, unknown>[]) => {
    const one = new OneExport(context, purpose);
    conversation.exports.push(one.seen);
    const answer = await one.create(request(filters), ids);
    return { one, answer };
  };
  const main = await begin('main');
  if (main.answer.ok && (await main.one.wait())) await main.one.fetch(true);
  if (deps.early && main.one.seen.id) await (await begin('early')).one.askEarly();
  if (deps.filters && main.one.seen.file?.trouble === null) {
    conversation.otherFilter = deps.filters.some((filter) => FILTER_KEYS.some((key) => !(key in filter)));
    const { one, answer } = await begin('filter', deps.filters);
    if (answer.ok && (await one.wait())) await one.fetch(false);
  }
  await readAbsent(context);
  if (deps.change) await update(deps.change, caller, conversation);
  refuseHalf(conversation);
}

const FILTER_KEYS = ['field', 'operator', 'value'];

type Lists = Map<Entity, Field[]>;

/** The fields of all entities. @throws CommandError where the CRM cannot be reached, or refuses the token */
async function askFields(
  { entity: first, deployment }: ProbeDeps,
  caller: Caller,
  { fields: kept }: Conversation,
): Promise<Lists> {
  const lists: Lists = new Map();
  const order = [...new Set(first ? [first, ...ENTITIES] : ENTITIES)];
  const answers: Answer[] = [];
  for (const entity of order) {
    const answer = await caller.ask({
      step: 'fields',
      entity,
      method: 'GET',
      path: `${entity}/fields`,
      template: '/{entity}/fields',
    });
    answers.push(answer);
    if (answer.ok) {
      const { seen, fields } = lookForFields(entity, answer.body);
      kept.push(seen);
      lists.set(entity, fields);
    }
    refuseSilent(deployment.crm.baseUrl, answers);
    if (entity === first && !answer.ok) throw new CommandError(entityText(entity, answer), RUN_FAILED);
  }
  return lists;
}

function refuseSilent(baseUrl: string, answers: Answer[]): void {
  const [{ exchange, unreached } = {}] = answers;
  const { host } = new URL(baseUrl);
  if (exchange?.status === 401) {
    throw new CommandError('The CRM refuses the access token (401): nothing more was asked.', RUN_FAILED);
  }
  if (unreached || (answers.length > 1 && answers.every(({ exchange: { status } }) => status === null))) {
    const what = `The CRM at ${host} does not answer (${exchange?.trouble}): check crm.baseUrl and the network.`;
    throw new CommandError(`${what} Nothing was exported.`, ENVIRONMENT);
  }
}

function entityText(entity: Entity, { exchange: { status, call, trouble } }: Answer): string {
  const answered = status === null ? `got no answer (${trouble})` : `was answered ${status}`;
  const why: Record<number, string> = {
    403: 'the grant may not export, or lacks a scope',
    404: `the CRM has no ${entity}`,
  };
  return `${call} ${answered}: ${why[status ?? 0] ?? 'its fields are not known'}. Nothing was exported.`;
}

/** @throws CommandError where no entity can be exported */
function chosen({ entity }: ProbeDeps, { exchanges }: Caller, lists: Lists): { entity: Entity; fields: Field[] } {
  const usable = [...lists].filter(([, fields]) => fields.length > 0);
  const [found] = entity ? usable.filter(([name]) => name === entity) : usable;
  if (found) return { entity: found[0], fields: found[1] };
  const statuses = [...new Set(exchanges.map(({ status }) => status ?? 'not answered'))].join(', ');
  const rights = exchanges.every(({ status }) => status === 403) ? ': the grant may not export, or lacks a scope' : '';
  const what = entity ? `a field of ${entity}` : 'the fields of any entity';
  throw new CommandError(`The CRM did not list ${what} (${statuses})${rights}. Nothing was exported.`, RUN_FAILED);
}

/** The column that says least of a person; never one that the configuration leaves out. @throws CommandError */
function columnOf(deployment: Deployment, entity: Entity, fields: Field[]): string {
  const left = new Set(meantBy(exceptedOf(deployment.entities[entity]), fields).leftOut.map(({ name }) => name));
  const allowed = fields.filter(({ name }) => !left.has(name));
  const best =
    allowed.find(({ name }) => name === 'id') ??
    allowed.find(({ type }) => /uuid|bool|int/i.test(type ?? '')) ??
    allowed[0];
  if (best) return best.name;
  throw new CommandError(
    `columns.except of ${entity} leaves out all columns that the CRM lists. Nothing was exported.`,
    RUN_FAILED,
  );
}

/** As a run requests it, of one column and without what the configuration selects or sends by mail. */
function requestOf(deployment: Deployment, entity: Entity, column: string, filters?: Record<string, unknown>[]) {
  const { sorts: _, filters: __, filtersOperator, ...plan } = deployment.entities[entity];
  const selection = filters && { filters, ...(filtersOperator && { filtersOperator }) };
  return buildRequest({ entity, sendEmail: false, ...selection }, plan, deployment.crm, [column]);
}

async function update(
  { customer, fields }: NonNullable<ProbeDeps['change']>,
  caller: Caller,
  conversation: Conversation,
): Promise<void> {
  const path = `customers/${encodeURIComponent(customer)}`;
  const call = { step: 'update', entity: 'customers', method: 'PATCH', path, template: '/customers/{id}' } as const;
  const { exchange, body } = await caller.ask({ ...call, json: fields });
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  conversation.update = { status: exchange.status, shape: exchange.shape, isObject };
}

/** @throws CommandError that says where the meeting stopped short of a file */
function refuseHalf({ exports, exchanges }: Conversation): void {
  const [main] = exports;
  const last = exchanges.findLast(({ purpose, step }) => purpose === 'main' && EXPORTING.includes(step));
  const short = main && last && shortOf(main, last);
  if (short) throw new CommandError(`${short} No file was seen, and nothing that failed is repeated.`, RUN_FAILED);
}

const EXPORTING: Step[] = ['create', 'status', 'link'];

/** Why there is no file; what the sightings say of a link is not said again. */
function shortOf({ id, statuses, link, file }: SeenExport, { call, status, trouble }: Exchange): string | undefined {
  if (status === null) return `${call} got no answer (${trouble}).`;
  if (status >= 300) return `${call} was answered ${status}.`;
  if (id === null) return `The answer to ${call} holds no id.`;
  if (statuses.at(-1)?.word === 'FAILED') return 'The CRM reports the export as FAILED.';
  if (link === null) return 'The export was not PROCESSED within the time of the probe (--deadline).';
  return file?.trouble ?? undefined;
}
