import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import * as z from 'zod/mini';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { EXPORT_SCOPE } from '../../core/config/scopes.ts';
import type { RunError } from '../../core/errors.ts';
import { isEmptyFile } from '../../core/gate/facts.ts';
import { type AccessToken, accessTokenDeps, createGetAccessToken } from '../../core/oauth/access-token.ts';
import { isUntried, newestOf, tokenFreshness } from '../../core/oauth/grant.ts';
import { packageVersion } from '../../core/package-version.ts';
import { RetryableError, TransferError } from '../../transfer/base/transfer-errors.ts';
import { watchClock } from '../access/aws-clock.ts';
import { ended as endOf } from '../support/aws-error.ts';
import { commandFor, entityArgument, pathArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, INTERRUPTED, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { colorsFor, plainLine } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { type Configured, configured } from './doctor-configuration.ts';
import { type Call, type Meeting, meet, type Seen, type SeenFile } from './probe-meeting.ts';

/** `probe`: compares the answers of the CRM with the assumptions, with the grant of a deployment (docs/adr/0027). */

interface ProbeOptions extends TargetOptions {
  configuration?: string;
  entity?: Entity;
  json?: boolean;
}

const pointSchema = z.strictObject({
  id: z.string(),
  point: z.string().check(z.describe('The row of docs/interface/open-points.md.')),
  verdict: z.enum(['as assumed', 'otherwise', 'not seen']),
  what: z.string(),
  fails: z.boolean().check(z.describe('A run fails by what is otherwise.')),
  setting: z.nullable(z.string()).check(z.describe('What to change where a run fails; null: nothing.')),
});

const callSchema = z.strictObject({
  call: z.string().check(z.describe('As the interface document writes it.')),
  status: z.nullable(z.int()).check(z.describe('null: there was no answer.')),
  milliseconds: z.int(),
  mediaType: z.string(),
  shape: z.string().check(z.describe('Keys and types of the body.')),
  code: z.nullable(z.string()).check(z.describe('The code of an error.')),
});

/** The document of `--json`: shapes only. */
export const probeReportSchema = z.strictObject({
  ok: z.boolean().check(z.describe('Whether the command ends with exit code 0.')),
  at: z.iso.datetime(),
  release: z.string().check(z.describe('Of the checkout that asked.')),
  host: z.string().check(z.describe('Of crm.baseUrl.')),
  entity: z.nullable(z.string()).check(z.describe('The one that was exported.')),
  ended: z.nullable(z.string()).check(z.describe('Why it went no further.')),
  points: z.array(pointSchema),
  calls: z.array(callSchema),
});

export function addProbe(command: Command): void {
  command
    .option('--configuration <file>', 'has the extra keys of requests; default: config/NAME.json', pathArgument)
    .option('--entity <name>', 'the one to export; default: the first that lists its fields', entityArgument)
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(probe);
  withExamples(command, {
    'probe --deployment prod': 'read the fields of all entities, and export one column of one of them',
    'probe --deployment prod --entity meetings': 'export a column of meetings',
  });
}

async function probe(options: ProbeOptions): Promise<void> {
  const target = await connect(options);
  const configuration = configured(options, await deployedConfiguration(target));
  const { deployment } = configuration;
  const seen: Seen = { scope: '', calls: [], lists: [], statuses: [] };
  const { host } = new URL(deployment.crm.baseUrl);
  const tell = options.json ? printErr : printOut;
  const ended = await untilInterrupted('Interrupted before the first call of the probe.', async (signal) => {
    // A refresh spends the stored refresh token, so Ctrl-C waits until the new token is stored.
    const token = await storedToken(target, deployment.crm, options);
    signal.throwIfAborted();
    seen.scope = token.scope;
    tell(`The CRM at ${host}: each call once, one export of one column.`);
    const missing = missingOf(configuration);
    if (missing !== undefined) tell(missing);
    const meeting = { deployment, token, entity: options.entity, elapsed: () => performance.now() };
    const pause = (ms: number) => sleep(ms, undefined, { signal });
    return endOfMeeting({ ...meeting, signal, sleep: pause, onCall: (call) => tell(lineOf(call)) }, seen);
  });
  const points = pointsOf(seen);
  const code = ended?.code ?? (points.some(({ fails }) => fails) ? RUN_FAILED : 0);
  if (options.json) printJson(documentOf(seen, points, { host, ok: code === 0, ended: ended?.sentence ?? null }));
  else for (const line of linesOf(points)) printOut(line);
  if (ended) throw new CommandError(ended.sentence, ended.code, { documented: options.json === true });
  process.exitCode = code;
}

/** The unknown parts of the deployed configuration: its template holds only digests of filters and extra keys. */
function missingOf({ unknown, finding }: Configured): string | undefined {
  if (unknown.length === 0) return undefined;
  const what = `The deployed filters or extra keys of ${unknown.join(', ')} are not known here, and are not sent`;
  return plainLine(`${what}. ${[finding.found, finding.advice].filter(Boolean).join(' ')}`);
}

/** Runs the meeting without throwing, so that observations are printed. @returns why it ended early, if it did */
async function endOfMeeting(meeting: Meeting, seen: Seen) {
  try {
    await meet(meeting, seen);
    return undefined;
  } catch (error) {
    if (meeting.signal.aborted) return { sentence: 'Interrupted: nothing more was asked.', code: INTERRUPTED };
    if (error instanceof TransferError || error instanceof RetryableError)
      return { sentence: error.message, code: RUN_FAILED };
    return endOf(error);
  }
}

/**
 * The stored access token. Refreshes and stores a due token as a run does; throws if a function must refresh it first.
 * @throws RunError of the grant, such as `ReauthorizationRequired`; CommandError
 */
async function storedToken(target: Target, crm: Deployment['crm'], place: TargetOptions): Promise<AccessToken> {
  const { now } = watchClock(target.secrets);
  const places = {
    clientSecretId: target.ClientSecretId,
    tokensSecretId: target.TokensSecretId,
    ledgerTable: target.LedgerTableName,
  };
  const deps = accessTokenDeps(places, {
    ...{ crm, now, sleep: (ms: number) => sleep(ms), random: Math.random },
    ...{ secrets: target.secrets, dynamo: target.dynamo, count: () => undefined },
    secondsLeft: () => Number.POSITIVE_INFINITY,
    authorizeCommand: commandFor('authorize', place),
  });
  const { tokens } = (await newestOf(deps.store)).newest;
  if (!isUntried(tokens)) return createGetAccessToken(deps)();
  if (tokenFreshness(tokens, undefined, now()) !== 'stale') return tokens;
  const what = `The access token has ended (${tokens.expiresAt}), and no function has refreshed the grant yet`;
  const advice = `Start a run, which refreshes it: ${commandFor('start leads --wait', place)}`;
  throw new CommandError(`${what}. Nothing was asked of the CRM. ${advice}`, RUN_FAILED);
}

function documentOf(
  { calls, entity }: Seen,
  points: PointSeen[],
  end: { host: string; ok: boolean; ended: string | null },
): z.infer<typeof probeReportSchema> {
  const at = new Date().toISOString();
  const told = points.map((point) => ({ ...point, fails: point.fails ?? false }));
  return { ...end, at, release: packageVersion(), entity: entity ?? null, points: told, calls };
}

function lineOf({ call, status, milliseconds, mediaType, shape, code }: Call): string {
  const answered = [status, mediaType, code].filter(Boolean).join(' ');
  return `  ${plainLine(`${call} -> ${answered} ${shape} (${milliseconds} ms)`)}`;
}

/** One line per point, with the setting to change if a run fails. */
function linesOf(points: PointSeen[]): string[] {
  const { red, yellow, green, dim } = colorsFor(process.stdout);
  const signs = { 'as assumed': green('✓'), otherwise: yellow('!'), 'not seen': dim('-') };
  const widest = Math.max(...points.map(({ id }) => id.length));
  return points.map(({ id, verdict, what, setting, fails }) => {
    const advice = setting === null ? '' : ` Setting: ${setting}.`;
    return `${fails ? red('✗') : signs[verdict]} ${id.padEnd(widest)}  ${verdict}: ${plainLine(what)}${advice}`;
  });
}

/** The points that the interface document leaves open and that a probe can observe (docs/interface/open-points.md). */

interface Observation {
  verdict: 'as assumed' | 'otherwise' | 'not seen';
  /** A sentence without a value of a record, a token or a file address. */
  what: string;
  /** A run would fail because of this. */
  fails?: boolean;
  /** Replaces the setting of the point; `null` = no setting helps. */
  setting?: string | null;
}

interface Point {
  /** The row of docs/interface/open-points.md. */
  point: string;
  /** The setting to change if a run would fail. */
  setting?: string;
  /** `undefined` = not seen. */
  observe: (seen: Seen) => Observation | undefined;
}

interface PointSeen extends Observation {
  id: string;
  point: string;
  /** `null` if a run would not fail or no setting helps. */
  setting: string | null;
}

const assumed = (what: string): Observation => ({ verdict: 'as assumed', what });
const tolerated = (what: string): Observation => ({ verdict: 'otherwise', what: `${what} Runs accept it.` });
const notSeen = (what: string): Observation => ({ verdict: 'not seen', what });
const failing = (what: string): Observation => ({ verdict: 'otherwise', what, fails: true });

const POINTS: Record<string, Point> = {
  'fields-shape': {
    point: '`GET /{entity}/fields` shape',
    observe: ({ lists }) => {
      const unread = lists.find(({ error }) => error?.name === 'CrmContractError')?.error;
      if (unread) return failing(unread.message);
      const refused = refusedOf(lists);
      if (refused.length > 0) return failing(`The CRM refuses the fields of ${refused.join(', ')}.`);
      const read = lists.filter(({ at }) => at !== null);
      const other = read.find(({ at }) => at !== 'list');
      if (other) return tolerated(`The list is in ${other.at}.`);
      return read.length > 0 ? assumed(`${read.length} entities answer an array with fieldName.`) : undefined;
    },
  },
  'agent-numbers-address': {
    point: 'Address of agent numbers',
    observe: ({ lists }) => {
      const own = lists.find(({ entity }) => entity === 'agent-numbers');
      if (own && !own.error) return assumed('Their fields are answered at agent-numbers.');
      return own && isOnlyOneMissing(own, lists)
        ? failing('Their fields are answered 404, those of other entities are not.')
        : undefined;
    },
  },
  'token-presentation': {
    point: 'How the access token is presented',
    observe: ({ lists, scheme }) => {
      if (lists.some(({ error }) => !error)) return assumed('Authorization: Bearer is accepted.');
      const isOther = scheme !== undefined && !/^(bearer)?$/i.test(scheme);
      return isOther ? failing(`The CRM asks for the scheme ${scheme}.`) : undefined;
    },
  },
  'export-scope': {
    point: 'Scope of the export operations',
    setting: 'crm.scopes',
    observe: ({ scope, idAt, failed }) => {
      const held = scope.split(/\s+/).filter(Boolean);
      const isHeld = held.includes(EXPORT_SCOPE);
      if (failed?.status === 403 && isHeld) return failing(failed.message);
      if (idAt === undefined || held.length === 0) return undefined;
      if (isHeld) return assumed(`An export is accepted with ${EXPORT_SCOPE}.`);
      return tolerated(`An export is accepted without ${EXPORT_SCOPE}.`);
    },
  },
  'export-id-field': {
    point: 'Field with the UUID in the stage 1 answer',
    observe: (seen) => place(seen.idAt, 'id') ?? unread(seen, '/exports'),
  },
  'status-record': {
    point: 'Record of stage 2',
    observe: (seen) =>
      isWord(seen.failed) ? undefined : (unread(seen, '{id}') ?? place(seen.statuses[0]?.at, 'status')),
  },
  'status-words': {
    point: 'Status words',
    observe: ({ statuses, failed }) => {
      if (isWord(failed)) return failing(failed?.message ?? '');
      const first = statuses.filter(({ word }, index) => word !== statuses[index - 1]?.word);
      const words = first.map(({ word, seconds }) => `${word} after ${seconds} s`);
      return words.length > 0 ? assumed(`${words.join(', ')}.`) : undefined;
    },
  },
  'file-host': {
    point: 'Host of the file URL',
    setting: 'crm.fileHosts',
    observe: (seen) => {
      if (!seen.link) return unread(seen, '/download');
      const { host, isListed, rejected } = seen.link;
      if (rejected !== undefined) return { ...failing(rejected), setting: settingFor(rejected) };
      return isListed ? assumed(`Files come from ${host}.`) : failing(`Files come from ${host}, which is not listed.`);
    },
  },
  'link-lifetime': {
    point: 'Lifetime of the download URL',
    observe: ({ link }) => {
      if (!link) return undefined;
      if (link.lifeSeconds === null) return notSeen('The address does not say how long it is valid.');
      const life = `The address says that it is valid for ${link.lifeSeconds} s.`;
      return link.lifeSeconds >= DESIGNED_SECONDS ? assumed(life) : tolerated(life);
    },
  },
  'file-format': {
    point: 'Export file format',
    setting: 'entities.ENTITY.opaque',
    observe: ofFile(({ facts, refused }) => {
      if (!facts)
        return refused === null ? undefined : isOfHeader(refused) ? notSeen('See header-texts.') : failing(refused);
      const { format, compression } = facts;
      if (isEmptyFile(facts)) return undefined;
      return compression ? tolerated(`It is ${format} in ${compression}.`) : assumed(`It is ${format}.`);
    }),
  },
  'csv-dialect': {
    point: 'CSV dialect',
    observe: ofFile(({ facts }) => {
      if (!facts) return undefined;
      if (!facts.dialect) return notSeen('The file is not a CSV file.');
      const { encoding, byteOrderMark, separatorLine, lineBreak } = facts.dialect;
      const others = [
        encoding === 'utf-8' ? '' : (encoding ?? 'an encoding that is not known'),
        byteOrderMark ? 'a byte order mark' : '',
        separatorLine ? 'a line sep=' : '',
        lineBreak === 'cr' || lineBreak === 'mixed' ? `line breaks ${lineBreak}` : '',
      ].filter(Boolean);
      if (others.length > 0) return tolerated(`It has ${others.join(', ')}.`);
      return assumed(`${encoding}, line breaks ${lineBreak}. One column shows no separator.`);
    }),
  },
  'header-texts': {
    point: "Texts of a file's header",
    setting: 'entities.ENTITY.columns',
    observe: ofFile(({ facts, refused }) => {
      if (refused !== null && isOfHeader(refused)) return failing(refused);
      if (facts?.header) return assumed('The header has a name or label that the CRM lists.');
      return facts?.content?.headed === false ? assumed('It has no header, as columns.header says.') : undefined;
    }),
  },
};

/** A run is designed for answers within five minutes; the difference is for the answer itself. */
const DESIGNED_SECONDS = 295;

/** All points in order, each with its observation. */
export function pointsOf(seen: Seen): PointSeen[] {
  return Object.entries(POINTS).map(([id, { point, setting, observe }]) => {
    const named = setting?.replace('ENTITY', seen.entity ?? 'ENTITY') ?? null;
    const observed = observe(seen) ?? notSeen('The probe did not get that far.');
    return { id, point, setting: observed.fails ? named : null, ...observed };
  });
}

/** `meetings (403)` for each entity whose fields are refused. */
function refusedOf(lists: Seen['lists']): string[] {
  // Without an answer, at a 401, 429 or 503, the fields are not known. A 403 for all entities concerns the scope.
  const others = [undefined, 429, 503, ...(lists.some(({ error }) => !error) ? [] : [403])];
  const refused = lists.filter((list) => !others.includes(list.error?.status) && !isOnlyOneMissing(list, lists));
  return refused.map(({ entity, error }) => `${entity} (${error?.status})`);
}

/** Whether only agent numbers are missing (404): their fields may have another address. */
function isOnlyOneMissing({ entity, error }: Seen['lists'][number], lists: Seen['lists']): boolean {
  return entity === 'agent-numbers' && error?.status === 404 && lists.some((other) => !other.error);
}

/** The setting that allows an address which was rejected with this message. */
function settingFor(rejected: string): string | null {
  if (/which is not in crm\.fileHosts/.test(rejected)) return 'crm.fileHosts';
  return /not public: (?:private|carrierGradeNat|uniqueLocal)/.test(rejected) ? 'crm.privateHosts' : null;
}

/** An observer that runs only if a file was fetched. */
function ofFile(observe: (file: SeenFile) => Observation | undefined): Point['observe'] {
  return ({ file }) => file && observe(file);
}

function place(at: string | undefined, usual: string): Observation | undefined {
  if (at === undefined) return undefined;
  return at === usual ? assumed(`It is in ${at}.`) : tolerated(`It is in ${at}.`);
}

/** An observation for a last call with this end whose answer a run cannot read. */
function unread({ calls, failed }: Seen, end: string): Observation | undefined {
  const isUnread = failed?.name === 'CrmContractError' && calls.at(-1)?.call.endsWith(end);
  return isUnread ? { ...failing(failed.message), setting: null } : undefined;
}

/** Whether only the header was refused: the file may still be the export. */
function isOfHeader(refused: string): boolean {
  return /text whose first record has one field|no header of listed columns/.test(refused);
}

/** Whether the status is not one of the four known words. */
function isWord(error: RunError | undefined): boolean {
  return error?.message.startsWith('The status of export') ?? false;
}
