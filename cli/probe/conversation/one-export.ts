import { randomUUID } from 'node:crypto';
import { isHeaderless, labelsOf } from '../../../core/config/chosen-columns.ts';
import type { Deployment } from '../../../core/config/deployment.ts';
import type { Entity } from '../../../core/config/entities.ts';
import type { Field } from '../../../core/crm/fields.ts';
import type { Expected } from '../../../core/files/judge-file.ts';
import { RetryableError, TransferError } from '../../../transfer/base/errors.ts';
import type { LIMITS } from '../../../transfer/base/limits.ts';
import { HOST_PATTERN, isAllowedHost } from '../../../transfer/source/guard.ts';
import { lookAtFile } from '../../../transfer/source/look.ts';
import type { Answer, Caller } from './caller.ts';
import type { Purpose, SeenExport, SeenFile } from './exchange.ts';
import { lookForId, lookForLink, lookForStatus } from './export-answers.ts';
import { judgedFile, unseenFile } from './file.ts';

/** What one export of a probe is made of. */
export interface ExportContext {
  caller: Caller;
  deployment: Deployment;
  entity: Entity;
  column: string;
  fields: readonly Field[];
  deadlineSeconds: number;
  elapsed: () => number;
  sleep: (ms: number) => Promise<void>;
  signal: AbortSignal;
  /** Asks a person whether files may be fetched from a host that the configuration does not name. */
  confirmHost: (host: string) => Promise<boolean>;
  limits?: Partial<typeof LIMITS>;
}

/** Most of a file that is fetched. */
const MOST_BYTES = 16 * 1024 * 1024;
const RANGE_BYTES = 16;
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 15_000;

/** One export, in the order of a run; each stage only where the one before came to something. */
export class OneExport {
  readonly seen: SeenExport;
  readonly #context: ExportContext;
  #id = '';
  #began = 0;

  constructor(context: ExportContext, purpose: Purpose) {
    this.#context = context;
    const nothing = { id: null, idAgain: false, statuses: [], link: null, early: null, file: null };
    this.seen = { purpose, entity: context.entity, ...nothing };
  }

  /** Stage 1. @param ids of the exports before, to which this one is added @returns whether there is an id */
  async create(request: object, ids: Set<string>): Promise<Answer> {
    const answer = await this.#ask('create', { method: 'POST', path: 'exports', template: 'exports', json: request });
    this.#began = this.#context.elapsed();
    if (!answer.ok) return answer;
    const { id, seen } = lookForId(answer.body, answer.location);
    this.seen.id = seen;
    this.seen.idAgain = id !== null && ids.has(id);
    if (id !== null) ids.add(id);
    this.#id = id ?? '';
    return answer;
  }

  /** Stage 2, until the export has ended. @returns whether it is PROCESSED; a read that failed is not repeated */
  async wait(): Promise<boolean> {
    const { sleep, deadlineSeconds } = this.#context;
    for (let wait = FIRST_WAIT_MS; this.#id !== ''; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
      const word = await this.readStatus();
      if (word === null || word === 'PROCESSED' || word === 'FAILED') return word === 'PROCESSED';
      if (this.#seconds() + wait / 1000 > deadlineSeconds) return false;
      await sleep(wait);
    }
    return false;
  }

  /** @returns the word, '' for none; `null` where the read failed */
  async readStatus(): Promise<string | null> {
    const path = `exports/${encodeURIComponent(this.#id)}`;
    const answer = await this.#ask('status', { method: 'GET', path, template: 'exports/{id}' });
    if (!answer.ok) return null;
    const status = lookForStatus(answer.body, this.#id);
    this.seen.statuses.push({ seconds: this.#seconds(), ...status });
    return status.word ?? '';
  }

  /** A request for the file before the export is PROCESSED; a look behind it tells whether it was. */
  async askEarly(): Promise<void> {
    if (this.#id === '') return;
    const answer = await this.#askLink();
    const word = await this.readStatus();
    const before = word === null || word === '' ? null : word !== 'PROCESSED';
    const hasLink = answer.ok && this.#linkIn(answer).address !== null;
    if (answer.exchange.status !== null) this.seen.early = { status: answer.exchange.status, hasLink, before };
  }

  /** Stage 3 and the file; a second GET, of a range, only once the first is complete. */
  async fetch(withRange: boolean): Promise<void> {
    const answer = await this.#askLink();
    const { address, seen } = this.#linkIn(answer);
    if (!answer.ok) return;
    this.seen.link = seen;
    if (address === null) return;
    const { host, problem } = await this.#hostFor(address);
    if (problem !== null) this.seen.link = { ...seen, refused: problem };
    else await this.#get(address, host, withRange);
  }

  /** A host that the configuration does not name is confirmed by a person, unless the rules of a transfer refuse it anyway. */
  async #hostFor(address: string): Promise<{ host: string[]; problem: string | null }> {
    const { confirmHost } = this.#context;
    const { hostname } = new URL(address);
    if (isAllowedHost(hostname, this.#policy([])) || !HOST_PATTERN.test(hostname)) return { host: [], problem: null };
    const shown = this.seen.link?.host ?? '';
    if (shown !== hostname)
      return { host: [], problem: 'its host has a name that is not shown, so nobody can confirm it' };
    if (await confirmHost(hostname)) return { host: [hostname], problem: null };
    return { host: [], problem: 'nobody confirmed its host, so no file was fetched' };
  }

  async #get(address: string, host: string[], withRange: boolean): Promise<void> {
    const { column, signal, limits } = this.#context;
    const options = { policy: this.#policy(host), signal, ...(limits && { limits }) };
    const look = async (more: { mostBytes: number; range?: { from: number; to: number } }) => {
      this.#context.caller.bounds.take('file');
      return lookAtFile(address, { ...options, ...more });
    };
    try {
      const looked = await look({ mostBytes: MOST_BYTES });
      this.seen.file = await judgedFile(looked, this.#expected(), column);
      if (!withRange || !looked.whole || looked.bytes.length === 0) return;
      const to = Math.min(RANGE_BYTES, looked.bytes.length);
      this.seen.file.range = await look({ mostBytes: RANGE_BYTES, range: { from: 0, to } }).then(
        ({ ranged }) => (ranged ? 'ranged' : 'whole'),
        (error: unknown) => rangeTrouble(error),
      );
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    const trouble = troubleOf(error);
    const rejected = error instanceof TransferError && error.reason === 'address-rejected';
    if (rejected && this.seen.link) this.seen.link = { ...this.seen.link, refused: trouble };
    else this.seen.file = { ...unseenFile(this.#context.column), trouble } satisfies SeenFile;
  }

  #policy(host: string[]) {
    const { crm, local } = this.#context.deployment;
    return { hosts: [...crm.fileHosts, ...host], privateHosts: crm.privateHosts ?? [], local };
  }

  #expected(): Expected {
    const { deployment, entity, column, fields } = this.#context;
    const plan = deployment.entities[entity];
    const listed = { columns: [column], fields, excepted: [], labels: labelsOf(plan) };
    return { ...listed, formats: deployment.files.formats, opaque: [], headerless: isHeaderless(plan) };
  }

  #linkIn({ body, date }: Answer) {
    const { deployment } = this.#context;
    const isListed = (host: string) => isAllowedHost(host, this.#policy([]));
    return lookForLink(body, { isListed, baseUrl: deployment.crm.baseUrl, now: date });
  }

  #askLink(): Promise<Answer> {
    const path = `exports/${encodeURIComponent(this.#id)}/download`;
    return this.#ask('link', { method: 'POST', path, template: 'exports/{id}/download' });
  }

  #ask(
    step: 'create' | 'status' | 'link',
    call: { method: 'GET' | 'POST'; path: string; template: string; json?: object },
  ) {
    const { caller, entity } = this.#context;
    const { path, template } = call;
    const named = { step, entity, purpose: this.seen.purpose };
    return caller.ask({ ...named, ...call, path: `${entity}/${path}`, template: `/{entity}/${template}` });
  }

  #seconds(): number {
    return Math.round((this.#context.elapsed() - this.#began) / 100) / 10;
  }
}

/** Another range than the one that was asked for, or no answer to judge by: a link may be good once. */
function rangeTrouble(error: unknown): 'wrong' | 'refused' {
  troubleOf(error);
  return error instanceof RetryableError && error.reason === 'incomplete' ? 'wrong' : 'refused';
}

/** In the words of a transfer, which hold no address. */
function troubleOf(error: unknown): string {
  if (error instanceof TransferError || error instanceof RetryableError) return error.message;
  throw error;
}

/** One harmless read of an export that cannot exist, for the shape of a refusal. */
export function readAbsent({ caller, entity }: Pick<ExportContext, 'caller' | 'entity'>): Promise<Answer> {
  const path = `${entity}/exports/${randomUUID()}`;
  return caller.ask({ step: 'absent', entity, method: 'GET', path, template: '/{entity}/exports/{id}' });
}
