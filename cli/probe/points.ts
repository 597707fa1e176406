import { EXPORT_SCOPE } from '../../core/config/scopes.ts';
import type { RunError } from '../../core/errors.ts';
import type { Seen } from './meeting.ts';
import type { SeenFile } from './seen-file.ts';

/** The points that the interface document leaves open and that a probe can observe (docs/interface/open-points.md). */

interface Observation {
  verdict: 'as assumed' | 'otherwise' | 'not seen';
  /** A sentence without a value of a record, a token or the address of a file. */
  what: string;
  /** A run would fail by it. */
  fails?: boolean;
  /** In place of the setting of the point; `null` = no setting helps. */
  setting?: string | null;
}

interface Point {
  /** The row of docs/interface/open-points.md. */
  point: string;
  /** The setting to change where a run would fail. */
  setting?: string;
  /** `undefined` = not seen. */
  observe: (seen: Seen) => Observation | undefined;
}

export interface PointSeen extends Observation {
  id: string;
  point: string;
  /** `null` where a run would not fail, or no setting helps. */
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
      const { format, compression, empty } = facts;
      if (empty) return undefined;
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

/** Five minutes are what a run is designed for; a little less is the time of the answer itself. */
const DESIGNED_SECONDS = 295;

/** Every point in this order, and what was seen of it. */
export function pointsOf(seen: Seen): PointSeen[] {
  return Object.entries(POINTS).map(([id, { point, setting, observe }]) => {
    const named = setting?.replace('ENTITY', seen.entity ?? 'ENTITY') ?? null;
    const observed = observe(seen) ?? notSeen('The probe did not get that far.');
    return { id, point, setting: observed.fails ? named : null, ...observed };
  });
}

/** `meetings (403)` for each entity whose fields are refused. */
function refusedOf(lists: Seen['lists']): string[] {
  // Silence, a refused token and a busy CRM say nothing of the fields. A 403 for all entities is one of the scope.
  const others = [undefined, 429, 503, ...(lists.some(({ error }) => !error) ? [] : [403])];
  const refused = lists.filter((list) => !others.includes(list.error?.status) && !isOnlyOneMissing(list, lists));
  return refused.map(({ entity, error }) => `${entity} (${error?.status})`);
}

/** Agent numbers may have another address. */
function isOnlyOneMissing({ entity, error }: Seen['lists'][number], lists: Seen['lists']): boolean {
  return entity === 'agent-numbers' && error?.status === 404 && lists.some((other) => !other.error);
}

/** What allows an address that was rejected with these words. */
function settingFor(rejected: string): string | null {
  if (/which is not in crm\.fileHosts/.test(rejected)) return 'crm.fileHosts';
  return /not public: (?:private|carrierGradeNat|uniqueLocal)/.test(rejected) ? 'crm.privateHosts' : null;
}

/** An observer of the file, where one was fetched. */
function ofFile(observe: (file: SeenFile) => Observation | undefined): Point['observe'] {
  return ({ file }) => file && observe(file);
}

function place(at: string | undefined, usual: string): Observation | undefined {
  if (at === undefined) return undefined;
  return at === usual ? assumed(`It is in ${at}.`) : tolerated(`It is in ${at}.`);
}

/** The last call, if it ends so, had an answer that a run cannot read. */
function unread({ calls, failed }: Seen, end: string): Observation | undefined {
  const isUnread = failed?.name === 'CrmContractError' && calls.at(-1)?.call.endsWith(end);
  return isUnread ? { ...failing(failed.message), setting: null } : undefined;
}

/** The file may be the export: only its first record is not known. */
function isOfHeader(refused: string): boolean {
  return /text whose first record has one field|no header of listed columns/.test(refused);
}

/** The status is none of the four words. */
function isWord(error: RunError | undefined): boolean {
  return error?.message.startsWith('The status of export') ?? false;
}
